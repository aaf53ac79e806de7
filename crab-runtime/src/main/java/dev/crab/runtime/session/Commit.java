package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.inspector.Effect;

/**
 * The record by which a turn became the recovery point: chat position, processes and files in one.
 *
 * @param turn the turn's number, from 1
 * @param generation the manifest that describes the sandbox; several commits share one when turns left nothing behind
 * @param processGeneration the generation whose dump holds the processes; 0 if only pid 1 runs, which needs none
 * @param fileGeneration the generation whose snapshot holds the files
 * @param effect what the turn did
 * @param position where the layer above stood
 */
public record Commit(
        long turn, long generation, long processGeneration, long fileGeneration, Effect effect, ObjectNode position) {}

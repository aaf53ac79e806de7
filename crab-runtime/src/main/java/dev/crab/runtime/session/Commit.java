package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.store.Manifest;
import dev.crab.runtime.store.ManifestStore;
import dev.crab.runtime.store.ProcessImage;

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
        long turn, long generation, long processGeneration, long fileGeneration, Effect effect, ObjectNode position) {
    /**
     * The manifest of this commit, read and compared with what the commit says of it: a manifest whose processes are of one generation and
     * whose files of another than was committed would bring back a sandbox that never existed.
     *
     * @throws dev.crab.runtime.error.CrabException MANIFEST_CORRUPT, GENERATION_UNKNOWN, FORMAT_UNKNOWN, IO_FAILED
     */
    Manifest manifest(ManifestStore manifests) {
        Manifest manifest = manifests.read(generation);
        ProcessImage processes = manifest.checkpoint().processes();
        long processesOf = processes == null ? 0 : processes.generation();
        long filesOf = manifest.checkpoint().files().generation();
        if (processesOf != processGeneration || filesOf != fileGeneration) {
            throw manifests.contradicted(
                    generation,
                    "it has the processes of generation " + processesOf + " and the files of " + filesOf + ", and turn "
                            + turn + " committed those of " + processGeneration + " and " + fileGeneration);
        }
        return manifest;
    }
}

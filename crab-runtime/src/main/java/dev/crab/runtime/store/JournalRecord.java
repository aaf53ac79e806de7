package dev.crab.runtime.store;

import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * One record of a session's journal.
 *
 * @param sequence position in the journal, from 0, without gaps
 * @param kind what it is: {@code [a-z][a-z0-9-]{0,31}}; {@code commit} is the runtime's own, layers above choose theirs
 * @param body its content
 */
public record JournalRecord(long sequence, String kind, ObjectNode body) {}

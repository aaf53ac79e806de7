package dev.crab.overlap;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** What the journal knows of a tool call. */
public sealed interface ToolAnswer {
    /** Identifies the call in the journal; 64 hexadecimal digits; the same on every replay, so fit as an idempotency key. */
    String toolKey();

    /** Its result is recorded and still true: serve it. */
    record Recorded(String toolKey, ObjectNode result) implements ToolAnswer {}

    /** It has to run. */
    record Run(String toolKey) implements ToolAnswer {}

    /** It has an external effect and was started before a crash; whether the effect took place is unknown. */
    record Unknown(String toolKey) implements ToolAnswer {}
}

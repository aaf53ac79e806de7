package dev.crab.samples.replay;

import dev.crab.overlap.TurnReport;

/**
 * What protecting one turn cost, whatever the policy. Durations in nanoseconds.
 *
 * @param turn from 1
 * @param effect what it did to the sandbox, where the policy asks; else empty
 * @param saved NOTHING, FILES or PROCESSES_AND_FILES
 * @param bytes written to the store for it
 * @param plain what would have been written had CRIU's images been kept as they are; where none were made, as {@code bytes}
 * @param window how long the LLM call was in flight that began at its end
 * @param capture from its end until the sandbox ran freely again
 * @param freeze the part of it in which the sandbox was held still
 * @param persist from then until it was durable
 * @param exposed what of it the agent had to wait for
 */
record TurnRow(
        int turn,
        String effect,
        String saved,
        long bytes,
        long plain,
        long window,
        long capture,
        long freeze,
        long persist,
        long exposed) {
    /** A turn of a session whose first turn was its set-up. */
    static TurnRow of(TurnReport report) {
        return new TurnRow(
                (int) report.turn() - 1,
                report.effect().name(),
                report.saved().name(),
                report.bytes(),
                report.bytes(),
                report.windowNanos(),
                report.captureNanos(),
                report.freezeNanos(),
                report.persistNanos(),
                report.exposedNanos());
    }

    /** A turn for which nothing was done. */
    static TurnRow unsaved(int turn, long window) {
        return new TurnRow(turn, "", "NOTHING", 0, 0, window, 0, 0, 0, 0);
    }

    TurnRow within(long llmCall, long waitedFor) {
        return new TurnRow(turn, effect, saved, bytes, plain, llmCall, capture, freeze, persist, waitedFor);
    }
}

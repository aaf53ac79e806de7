package dev.crab.samples.quickstart;

import dev.crab.overlap.TurnReport;
import java.util.Collection;
import java.util.function.ToLongFunction;

/** Sums over a run's turns. Times in nanoseconds. */
record Total(
        int turns,
        long bytes,
        long windowNanos,
        long captureNanos,
        long freezeNanos,
        long persistNanos,
        long exposedNanos) {
    static Total of(Collection<TurnReport> turns) {
        return new Total(
                turns.size(),
                sum(turns, TurnReport::bytes),
                sum(turns, TurnReport::windowNanos),
                sum(turns, TurnReport::captureNanos),
                sum(turns, TurnReport::freezeNanos),
                sum(turns, TurnReport::persistNanos),
                sum(turns, TurnReport::exposedNanos));
    }

    private static long sum(Collection<TurnReport> turns, ToLongFunction<TurnReport> value) {
        return turns.stream().mapToLong(value).sum();
    }
}

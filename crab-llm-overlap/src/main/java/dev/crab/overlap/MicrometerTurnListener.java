package dev.crab.overlap;

import dev.crab.runtime.session.TurnOutcome;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.concurrent.TimeUnit;

/**
 * Tells a Micrometer registry what turns did and what protecting them cost. Thread-safe; one for all sessions. Micrometer is an optional
 * dependency: whoever uses this class has it on the class path.
 *
 * <table>
 * <caption>Meters</caption>
 * <tr><th>meter</th><th>kind</th><th>of which turns</th></tr>
 * <tr><td>{@code crab.turns}</td><td>counter; tags {@code effect}, {@code saved}, {@code committed}</td><td>all</td></tr>
 * <tr><td>{@code crab.turn.window}</td><td>timer</td><td>those that an LLM call followed</td></tr>
 * <tr><td>{@code crab.turn.exposed}</td><td>timer</td><td>all</td></tr>
 * <tr><td>{@code crab.turn.capture}, {@code crab.turn.capture.wait}, {@code crab.turn.freeze}, {@code crab.turn.persist.wait}</td>
 * <td>timers; tag {@code saved}</td><td>those of which something was saved</td></tr>
 * <tr><td>{@code crab.turn.persist}</td><td>timer; tag {@code saved}</td><td>committed ones</td></tr>
 * <tr><td>{@code crab.turn.bytes}</td><td>summary of bytes; tag {@code saved}</td><td>committed ones</td></tr>
 * <tr><td>{@code crab.gate}</td><td>timer</td><td>each tool's wait at the gate</td></tr>
 * </table>
 *
 * <p>What each time means, {@link TurnReport} says. No meter has a tag with the session: there may be any number of them.
 */
public final class MicrometerTurnListener implements TurnListener {
    private final MeterRegistry registry;

    /** Tells that registry, which stays the caller's. */
    public MicrometerTurnListener(MeterRegistry registry) {
        this.registry = registry;
    }

    @Override
    public void turnReported(String sessionId, TurnReport report) {
        String saved = report.saved().name();
        registry.counter(
                        "crab.turns",
                        "effect",
                        report.effect().name(),
                        "saved",
                        saved,
                        "committed",
                        Boolean.toString(report.committed()))
                .increment();
        time(registry.timer("crab.turn.exposed"), report.exposedNanos());
        if (!report.committed()) {
            return;
        }
        if (report.windowNanos() > 0) {
            time(registry.timer("crab.turn.window"), report.windowNanos());
        }
        time(registry.timer("crab.turn.persist", "saved", saved), report.persistNanos());
        DistributionSummary.builder("crab.turn.bytes")
                .baseUnit("bytes")
                .tag("saved", saved)
                .register(registry)
                .record((double) report.bytes());
        if (report.saved() != TurnOutcome.Saved.NOTHING) {
            time(registry.timer("crab.turn.capture", "saved", saved), report.captureNanos());
            time(registry.timer("crab.turn.capture.wait", "saved", saved), report.captureWaitNanos());
            time(registry.timer("crab.turn.freeze", "saved", saved), report.freezeNanos());
            time(registry.timer("crab.turn.persist.wait", "saved", saved), report.persistWaitNanos());
        }
    }

    @Override
    public void gateWaited(String sessionId, long nanos) {
        time(registry.timer("crab.gate"), nanos);
    }

    private static void time(Timer timer, long nanos) {
        timer.record(nanos, TimeUnit.NANOSECONDS);
    }
}

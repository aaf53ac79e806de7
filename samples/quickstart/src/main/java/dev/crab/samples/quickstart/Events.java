package dev.crab.samples.quickstart;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.PrintStream;
import java.util.function.Consumer;

/**
 * What the agent's JVM tells the driver: lines {@code crab-event KIND JSON} on standard output, among whatever else is written there.
 *
 * <p>Kinds: {@code started} (session, recovered turn), {@code turn} (a {@link dev.crab.overlap.TurnReport}), {@code turns} (all of the session),
 * {@code point} (a fault point was passed), {@code filled} (the disk was, at a point),
 * {@code finished} (an {@link AgentState}), {@code failed} (a message).
 */
final class Events {
    private static final String PREFIX = "crab-event ";

    /** An event. */
    record Event(String kind, JsonNode body) {}

    private final PrintStream out;

    Events(PrintStream out) {
        this.out = out;
    }

    /** Writes an event; thread-safe. */
    void emit(String kind, Object body) {
        synchronized (out) {
            out.println(PREFIX + kind + " " + Json.write(body));
            out.flush();
        }
    }

    /** Hands the event in a line to the consumer; false if the line is none. */
    static boolean parse(String line, Consumer<Event> consumer) {
        if (!line.startsWith(PREFIX)) {
            return false;
        }
        String[] parts = line.substring(PREFIX.length()).split(" ", 2);
        consumer.accept(new Event(parts[0], Json.read(parts[1])));
        return true;
    }
}

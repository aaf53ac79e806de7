package dev.crab.samples.common;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.PrintStream;
import java.util.function.Consumer;

/**
 * What the agent's JVM tells the driver: lines {@code crab-event KIND JSON} on standard output, among whatever else is written there.
 *
 * <p>Kinds and bodies are the sample's own.
 */
public final class Events {
    private static final String PREFIX = "crab-event ";

    /** An event. */
    public record Event(String kind, JsonNode body) {}

    private final PrintStream out;

    public Events(PrintStream out) {
        this.out = out;
    }

    /** Writes an event; thread-safe. */
    public void emit(String kind, Object body) {
        synchronized (out) {
            out.println(PREFIX + kind + " " + Json.write(body));
            out.flush();
        }
    }

    /** Hands the event in a line to the consumer; false if the line is none. */
    public static boolean parse(String line, Consumer<Event> consumer) {
        if (!line.startsWith(PREFIX)) {
            return false;
        }
        String[] parts = line.substring(PREFIX.length()).split(" ", 2);
        consumer.accept(new Event(parts[0], Json.read(parts[1])));
        return true;
    }
}

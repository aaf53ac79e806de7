package dev.crab.overlap.table;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.function.Function;

/**
 * Which event leads from which state to which. Filled by {@link #row} before it is shared; thread-safe from then on.
 *
 * @param <S> the states
 * @param <E> the events
 */
public final class TransitionTable<S extends Enum<S>, E extends Enum<E>> {
    private final Class<S> states;
    private final Class<E> events;
    private final Map<S, Map<E, S>> table;

    /** An empty table. */
    public TransitionTable(Class<S> states, Class<E> events) {
        this.states = states;
        this.events = events;
        this.table = new EnumMap<>(states);
    }

    /** One state's row, to be filled. */
    public static final class Row<S extends Enum<S>, E extends Enum<E>> {
        private final Map<E, S> row;

        private Row(Map<E, S> row) {
            this.row = row;
        }

        /** The event leads to that state. */
        public Row<S, E> on(E event, S next) {
            row.put(event, next);
            return this;
        }
    }

    /** The row of a state. */
    public Row<S, E> row(S state) {
        return new Row<>(table.computeIfAbsent(state, s -> new EnumMap<>(events)));
    }

    /** The state after the event; empty if it must not happen in that state. */
    public Optional<S> next(S state, E event) {
        return Optional.ofNullable(table.getOrDefault(state, Map.of()).get(event));
    }

    /**
     * The table as a mermaid state diagram.
     *
     * @param first where it begins
     * @param last where it ends
     * @param label what a state means
     */
    public String diagram(S first, S last, Function<S, String> label) {
        StringBuilder text =
                new StringBuilder("stateDiagram-v2\n    [*] --> ").append(first).append('\n');
        for (S state : states.getEnumConstants()) {
            line(text, state + " : " + label.apply(state));
        }
        table.forEach((state, row) -> {
            Map<S, StringJoiner> arrows = new LinkedHashMap<>();
            row.forEach((event, next) ->
                    arrows.computeIfAbsent(next, n -> new StringJoiner(", ")).add(event.name()));
            arrows.forEach((next, names) -> line(text, state + " --> " + next + " : " + names));
        });
        return text.append("    ").append(last).append(" --> [*]\n").toString();
    }

    private static void line(StringBuilder text, String content) {
        text.append("    ").append(content).append('\n');
    }
}

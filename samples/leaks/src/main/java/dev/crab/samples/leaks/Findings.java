package dev.crab.samples.leaks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What came out: a table of counts, and what should not have been there. Not thread-safe. */
final class Findings {
    /** A moment at which things are counted. */
    enum Column {
        BEFORE("before"),
        RUNNING("running"),
        GROWTH("growth per 100 turns"),
        KILLED("left by a kill"),
        SWEPT("left after the next start"),
        CLOSED("left after closing"),
        DELETED("left at the end");

        private final String label;

        Column(String label) {
            this.label = label;
        }

        String label() {
            return label;
        }
    }

    private final Map<Row, Map<Column, Long>> table = new EnumMap<>(Row.class);
    private final Map<Row, List<String>> leaks = new EnumMap<>(Row.class);
    private final List<String> disturbed = new ArrayList<>();

    Findings() {
        for (Row row : Row.values()) {
            table.put(row, new EnumMap<>(Column.class));
            leaks.put(row, new ArrayList<>());
        }
    }

    /** The highest of these numbers counts. */
    void count(Row row, Column column, long number) {
        columns(row).merge(column, number, Math::max);
    }

    /** These should not be there. */
    void leaked(Row row, Column column, Collection<String> items) {
        count(row, column, items.size());
        items.forEach(item -> leaks(row).add(column.label() + ": " + item));
    }

    /** This was somebody else's, and is gone. */
    void disturbed(Collection<String> items) {
        disturbed.addAll(items);
    }

    boolean clean() {
        return disturbed.isEmpty() && leaks.values().stream().allMatch(List::isEmpty);
    }

    Map<Row, Map<Column, Long>> table() {
        return table;
    }

    List<String> leaks(Row row) {
        return known(leaks.get(row));
    }

    private Map<Column, Long> columns(Row row) {
        return known(table.get(row));
    }

    private static <T> T known(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("no such row");
        }
        return value;
    }

    List<String> disturbed() {
        return disturbed;
    }

    /** For people. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        StringBuilder head = new StringBuilder(String.format("%-26s", ""));
        for (Column column : Column.values()) {
            head.append(String.format("%27s", column.label()));
        }
        lines.add(head.toString());
        for (Row row : Row.values()) {
            StringBuilder line = new StringBuilder(String.format("%-26s", row.label()));
            for (Column column : Column.values()) {
                Long number = columns(row).get(column);
                line.append(String.format("%27s", number == null ? "-" : number.toString()));
            }
            lines.add(line + (leaks(row).isEmpty() ? "  none left" : "  LEFT BEHIND"));
        }
        leaks.forEach((row, items) ->
                items.stream().limit(10).forEach(item -> lines.add("  LEFT BEHIND, " + row.label() + ", " + item)));
        disturbed.forEach(item -> lines.add("  DISTURBED: " + item));
        return lines;
    }
}

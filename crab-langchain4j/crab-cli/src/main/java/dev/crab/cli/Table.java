package dev.crab.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A table for people: columns as wide as their widest cell, two spaces between them. */
final class Table {
    private final List<List<String>> rows = new ArrayList<>();

    Table(String... head) {
        rows.add(List.of(head));
    }

    Table row(Object... cells) {
        List<String> row = new ArrayList<>();
        for (Object cell : cells) {
            row.add(printable(String.valueOf(cell)));
        }
        rows.add(row);
        return this;
    }

    void print(PrintWriter out) {
        int[] widths = IntStream.range(0, rows.get(0).size())
                .map(column -> rows.stream()
                        .mapToInt(row -> row.get(column).length())
                        .max()
                        .orElse(0))
                .toArray();
        for (List<String> row : rows) {
            out.println(IntStream.range(0, row.size())
                    .mapToObj(column -> row.get(column)
                            + " "
                                    .repeat(
                                            column == row.size() - 1
                                                    ? 0
                                                    : widths[column]
                                                            - row.get(column).length()))
                    .collect(Collectors.joining("  "))
                    .stripTrailing());
        }
    }

    /** Names come out of sandboxes: what would move the cursor of a terminal does not get there. */
    static String printable(String text) {
        return text.replaceAll("\\p{Cntrl}", "?");
    }
}

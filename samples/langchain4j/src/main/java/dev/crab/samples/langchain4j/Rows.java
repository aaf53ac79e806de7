package dev.crab.samples.langchain4j;

import java.util.List;
import java.util.stream.Stream;

/** All rows, in the order in which they are shown. */
final class Rows {
    private Rows() {}

    static List<Row> all() {
        return Stream.of(ServiceRows.all(), ToolRows.all(), AgentRows.all())
                .flatMap(List::stream)
                .toList();
    }
}

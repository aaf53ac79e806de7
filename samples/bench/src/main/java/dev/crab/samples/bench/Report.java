package dev.crab.samples.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What a measurement found: series, ratios of medians, notes. */
final class Report {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String measurement;
    private final String machine;
    private final List<Series> series = new ArrayList<>();
    private final List<Ratio> ratios = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();

    private record Ratio(String name, double value) {}

    Report(String measurement, String machine) {
        this.measurement = measurement;
        this.machine = machine;
    }

    void add(Series... several) {
        series.addAll(List.of(several));
    }

    /** Adds the ratio of two medians. */
    void ratio(String name, Series above, Series below) {
        ratios.add(new Ratio(name, above.median() / below.median()));
    }

    void note(String note) {
        notes.add(note);
    }

    List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add(measurement + ", milliseconds");
        lines.add(machine);
        lines.add("");
        lines.add(String.format(Locale.ROOT, "%-40s %5s %8s %7s %7s %8s", "", "runs", "median", "p25", "min", "max"));
        for (Series one : series) {
            lines.add(String.format(
                    Locale.ROOT,
                    "%-40s %5d %8.2f %7.2f %7.2f %8.2f",
                    one.name(),
                    one.runs(),
                    one.median(),
                    one.quantile(0.25),
                    one.min(),
                    one.max()));
        }
        if (!ratios.isEmpty()) {
            lines.add("");
        }
        for (Ratio ratio : ratios) {
            lines.add(String.format(Locale.ROOT, "%-40s %14.2f", ratio.name(), ratio.value()));
        }
        if (!notes.isEmpty()) {
            lines.add("");
        }
        lines.addAll(notes);
        return lines;
    }

    String json() {
        ObjectNode report = JSON.createObjectNode();
        report.put("measurement", measurement).put("machine", machine).put("unit", "ms");
        ArrayNode list = report.putArray("series");
        for (Series one : series) {
            list.addObject()
                    .put("name", one.name())
                    .put("runs", one.runs())
                    .put("median", one.median())
                    .put("p25", one.quantile(0.25))
                    .put("min", one.min())
                    .put("max", one.max());
        }
        ArrayNode quotients = report.putArray("ratios");
        ratios.forEach(ratio -> quotients.addObject().put("name", ratio.name()).put("value", ratio.value()));
        notes.forEach(report.putArray("notes")::add);
        return report.toPrettyString();
    }
}

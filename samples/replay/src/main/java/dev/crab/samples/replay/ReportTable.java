package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The summaries as tables of text. */
final class ReportTable {
    /** Mistakes that are told in full. */
    private static final int SHOWN = 20;

    private ReportTable() {}

    static List<String> lines(JsonNode json) {
        List<String> lines = new ArrayList<>();
        JsonNode circumstances = json.path("circumstances");
        circumstances
                .fieldNames()
                .forEachRemaining(
                        name -> lines.add(name + ": " + circumstances.path(name).asText()));
        recovery(json, lines);
        cost(json, lines);
        json.path("notes").forEach(note -> lines.add(note.asText()));
        json.path("refusals").forEach(refusal -> lines.add("REFUSED: " + refusal.asText()));
        json.path("failures").forEach(failure -> lines.add("FAILED: " + failure.asText()));
        mistakes(json, lines);
        return lines;
    }

    private static void recovery(JsonNode json, List<String> lines) {
        List<String[]> rows = new ArrayList<>();
        rows.add(new String[] {
            "policy",
            "category",
            "crashes",
            "correct",
            "share",
            "sandbox",
            "chat",
            "probe",
            "restore ms",
            "p95",
            "down ms"
        });
        for (JsonNode summary : json.path("summaries")) {
            JsonNode recovery = summary.path("recovery");
            if (!recovery.isMissingNode()) {
                rows.add(new String[] {
                    summary.path("policy").asText(),
                    summary.path("category").asText(),
                    recovery.path("crashes").asText(),
                    recovery.path("correct").asText(),
                    percent(recovery.path("share"), 1),
                    recovery.path("sandbox").asText(),
                    recovery.path("chat").asText(),
                    recovery.path("probe").asText() + "/"
                            + recovery.path("probed").asText(),
                    number(recovery.path("restoreMillis").path("median"), 0),
                    number(recovery.path("restoreMillis").path("p95"), 0),
                    number(recovery.path("downMillis").path("median"), 0)
                });
            }
        }
        add(lines, "Recovery", rows);
    }

    private static void cost(JsonNode json, List<String> lines) {
        List<String[]> rows = new ArrayList<>();
        rows.add(new String[] {
            "policy",
            "category",
            "turns",
            "skipped",
            "kB/turn",
            "of full",
            "of images",
            "wall/none",
            "min..max",
            "of runs",
            "CPU ms/turn",
            "machine busy",
            "peak MB"
        });
        List<String[]> times = new ArrayList<>();
        times.add(new String[] {
            "policy", "category", "exposed ms p50", "p95", "p99", "of task p95", "capture ms p50", "freeze", "persist"
        });
        for (JsonNode summary : json.path("summaries")) {
            JsonNode cost = summary.path("cost");
            if (!cost.isMissingNode()) {
                rows.add(new String[] {
                    summary.path("policy").asText(),
                    summary.path("category").asText(),
                    cost.path("turns").asText(),
                    percent(cost.path("skippedShare"), 0),
                    format(
                            1,
                            cost.path("bytes").asDouble()
                                    / 1000
                                    / Math.max(1, cost.path("turns").asInt())),
                    percent(cost.path("bytesOverFull"), 1),
                    percent(cost.path("bytesOverImages"), 1),
                    number(cost.path("wallOverNone"), 4),
                    range(cost.path("wallOverNoneEach")),
                    range(cost.path("wallOverNoneRuns")),
                    format(
                            1,
                            cost.path("jvmCpuMillisPerTurn").asDouble()
                                    + cost.path("sandboxCpuMillisPerTurn").asDouble()),
                    percent(cost.path("machineShare").path("mean"), 0),
                    format(
                            0,
                            (cost.path("jvmPeakBytes").asDouble()
                                            + cost.path("sandboxPeakBytes").asDouble())
                                    / 1e6)
                });
                times.add(new String[] {
                    summary.path("policy").asText(),
                    summary.path("category").asText(),
                    number(cost.path("exposedMillis").path("median"), 1),
                    number(cost.path("exposedMillis").path("p95"), 1),
                    number(cost.path("exposedMillis").path("p99"), 1),
                    percent(cost.path("exposedShare").path("p95"), 2),
                    number(cost.path("captureMillis").path("median"), 1),
                    number(cost.path("freezeMillis").path("median"), 1),
                    number(cost.path("persistMillis").path("median"), 1)
                });
            }
        }
        add(lines, "Cost of undisturbed runs", rows);
        add(lines, "What a turn's saving took in them", times);
    }

    private static void mistakes(JsonNode json, List<String> lines) {
        int more = 0;
        int shown = 0;
        for (JsonNode crash : json.path("crashes")) {
            if (crash.path("correct").asBoolean()
                    || !crash.path("policy").asText().equals(Policies.CRAB)) {
                continue;
            }
            if (shown++ < SHOWN) {
                lines.add("NOT AS BEFORE: " + crash.path("trajectory").asText() + ", killed at "
                        + crash.path("kind").asText() + " behind turn "
                        + crash.path("turn").asText() + ", back at "
                        + crash.path("recovered").asText() + " instead of "
                        + crash.path("target").asText());
                for (String part : List.of("failure", "probe")) {
                    if (!crash.path(part).asText().isEmpty()) {
                        lines.add("  " + part + ": " + excerpt(crash.path(part).asText()));
                    }
                }
                for (String part : List.of("state", "chat")) {
                    for (int i = 0; i < Math.min(6, crash.path(part).size()); i++) {
                        lines.add("  " + part + ": "
                                + excerpt(crash.path(part).path(i).asText()));
                    }
                }
            } else {
                more++;
            }
        }
        if (more > 0) {
            lines.add("... and " + more + " more");
        }
    }

    private static String excerpt(String text) {
        return (text.length() > 400 ? text.substring(0, 400) + "..." : text).replace('\n', '|');
    }

    /** Adds a table whose first two columns are words. */
    static void add(List<String> lines, String title, List<String[]> rows) {
        if (rows.size() == 1) {
            return;
        }
        lines.add("");
        lines.add(title);
        int[] widths = new int[rows.get(0).length];
        for (String[] row : rows) {
            for (int i = 0; i < row.length; i++) {
                widths[i] = Math.max(widths[i], row[i].length());
            }
        }
        for (String[] row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < row.length; i++) {
                String pad = " ".repeat(widths[i] - row[i].length());
                line.append(i < 2 ? row[i] + pad : pad + row[i]).append("  ");
            }
            lines.add(line.toString().stripTrailing());
        }
        lines.add("");
    }

    /** The least and the most of a spread. */
    static String range(JsonNode spread) {
        return spread.isMissingNode() ? "" : number(spread.path("min"), 3) + ".." + number(spread.path("max"), 3);
    }

    static String percent(JsonNode value, int digits) {
        return value.isMissingNode() ? "" : format(digits, 100 * value.asDouble()) + " %";
    }

    static String number(JsonNode value, int digits) {
        return value.isMissingNode() ? "" : format(digits, value.asDouble());
    }

    static String format(int digits, double value) {
        return String.format(Locale.ROOT, "%." + digits + "f", value);
    }
}

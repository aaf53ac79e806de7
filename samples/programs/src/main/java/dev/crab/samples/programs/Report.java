package dev.crab.samples.programs;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/** Rows as a table and as JSON. */
final class Report {
    static final String HEAD = String.format(
            Locale.ROOT, "%-22s %7s %9s %9s %10s %9s", "program", "cycles", "dump ms", "frozen ms", "restore ms", "kB");

    private Report() {}

    /** A line of the table, and where not all is well one that says why. */
    static String line(Row row, int cycles) {
        Program program = row.program();
        String line = String.format(
                Locale.ROOT,
                "%-22s %7s %9s %9s %10s %9s  ",
                program.name(),
                row.passedCycles() + "/" + cycles,
                number(row.captureMillis()),
                number(row.freezeMillis()),
                number(row.restoreMillis()),
                number(row.bytes() / 1e3));
        return switch (row.verdict()) {
            case OK -> line + "ok";
            case LIMIT -> {
                Limit limit = Objects.requireNonNull(program.limit());
                yield line + "limit: " + limit.code() + "\n    " + limit.why();
            }
            case LIMIT_GONE ->
                line + "ok, although its description declares a limit on such a host: "
                        + Objects.requireNonNull(program.limit()).why();
            case FAILED -> line + "FAILED\n    " + row.problem();
        };
    }

    static String summary(List<Row> rows) {
        StringBuilder summary = new StringBuilder();
        summary.append(rows.size()).append(" programs: ");
        summary.append(count(rows, Row.Verdict.OK)).append(" ok, ");
        summary.append(count(rows, Row.Verdict.LIMIT)).append(" refused as declared, ");
        if (count(rows, Row.Verdict.LIMIT_GONE) > 0) {
            summary.append(count(rows, Row.Verdict.LIMIT_GONE)).append(" ok although declared a limit, ");
        }
        return summary.append(count(rows, Row.Verdict.FAILED)).append(" failed").toString();
    }

    static String json(List<Row> rows, int cycles) {
        ObjectNode root = new ObjectMapper().createObjectNode();
        root.put("format", 1).put("cycles", cycles);
        root.put("failed", count(rows, Row.Verdict.FAILED));
        ArrayNode programs = root.putArray("programs");
        for (Row row : rows) {
            ObjectNode node = programs.addObject();
            node.put("name", row.program().name()).put("memory", row.program().memory());
            node.put("verdict", row.verdict().name()).put("passed", row.passedCycles());
            if (row.passedCycles() > 0) {
                node.put("captureMillis", row.captureMillis()).put("freezeMillis", row.freezeMillis());
                node.put("restoreMillis", row.restoreMillis()).put("bytes", row.bytes());
            }
            if (row.problem() != null) {
                node.put("problem", row.problem());
            }
            Limit limit = row.program().limit();
            if (limit != null) {
                node.putObject("limit").put("code", limit.code().name()).put("why", limit.why());
            }
        }
        return root.toPrettyString();
    }

    static long count(List<Row> rows, Row.Verdict verdict) {
        return rows.stream().filter(row -> row.verdict() == verdict).count();
    }

    private static String number(double value) {
        return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, value < 100 ? "%.1f" : "%.0f", value);
    }
}

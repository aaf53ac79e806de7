package dev.crab.samples.programs;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/** Results as a table and as JSON. */
final class Report {
    static final String HEAD = String.format(
            Locale.ROOT, "%-22s %7s %9s %9s %10s %9s", "program", "cycles", "dump ms", "frozen ms", "restore ms", "kB");
    static final String BRANCH_HEAD = String.format(
            Locale.ROOT, "%-22s %8s %10s %9s  %-8s", "program", "branches", "back ms", "made ms", "memory");

    private Report() {}

    /** A line of the table, and where not all is well one that says why. */
    static String line(Row row, int cycles) {
        return String.format(
                        Locale.ROOT,
                        "%-22s %7s %9s %9s %10s %9s  ",
                        row.program().name(),
                        row.passedCycles() + "/" + cycles,
                        number(row.captureMillis()),
                        number(row.freezeMillis()),
                        number(row.restoreMillis()),
                        number(row.bytes() / 1e3))
                + verdict(row);
    }

    /** As above. */
    static String line(BranchRow row, int branches) {
        return String.format(
                        Locale.ROOT,
                        "%-22s %8s %10s %9s  %-8s ",
                        row.program().name(),
                        row.passedBranches() + "/" + branches,
                        number(row.rollbackMillis()),
                        number(row.branchMillis()),
                        memory(row))
                + verdict(row);
    }

    private static String memory(BranchRow row) {
        return row.program().tellsCyclesApart() ? "diverged" : "alike";
    }

    private static String verdict(Result result) {
        return switch (result.verdict()) {
            case OK -> "ok";
            case LIMIT -> {
                Limit limit = Objects.requireNonNull(result.program().limit());
                yield "limit: " + limit.code() + "\n    " + limit.why();
            }
            case LIMIT_GONE ->
                "ok, although its description declares a limit on such a host: "
                        + Objects.requireNonNull(result.program().limit()).why();
            case FAILED -> "FAILED\n    " + result.problem();
        };
    }

    static String summary(List<? extends Result> results) {
        StringBuilder summary = new StringBuilder();
        summary.append(results.size()).append(" programs: ");
        summary.append(count(results, Result.Verdict.OK)).append(" ok, ");
        summary.append(count(results, Result.Verdict.LIMIT)).append(" refused as declared, ");
        if (count(results, Result.Verdict.LIMIT_GONE) > 0) {
            summary.append(count(results, Result.Verdict.LIMIT_GONE)).append(" ok although declared a limit, ");
        }
        return summary.append(count(results, Result.Verdict.FAILED))
                .append(" failed")
                .toString();
    }

    static String json(List<Row> rows, int cycles) {
        ObjectNode root = root("cycles", cycles, rows);
        ArrayNode programs = root.putArray("programs");
        for (Row row : rows) {
            ObjectNode node = begin(programs, row);
            node.put("passed", row.passedCycles());
            if (row.passedCycles() > 0) {
                node.put("captureMillis", row.captureMillis()).put("freezeMillis", row.freezeMillis());
                node.put("restoreMillis", row.restoreMillis()).put("bytes", row.bytes());
            }
            end(node, row);
        }
        return root.toPrettyString();
    }

    static String branchJson(List<BranchRow> rows, int branches) {
        ObjectNode root = root("branches", branches, rows);
        ArrayNode programs = root.putArray("programs");
        for (BranchRow row : rows) {
            ObjectNode node = begin(programs, row);
            node.put("passed", row.passedBranches())
                    .put("memoryDiverged", row.program().tellsCyclesApart());
            if (row.passedBranches() > 0) {
                node.put("rollbackMillis", row.rollbackMillis()).put("branchMillis", row.branchMillis());
            }
            end(node, row);
        }
        return root.toPrettyString();
    }

    private static ObjectNode root(String what, int number, List<? extends Result> results) {
        ObjectNode root = new ObjectMapper().createObjectNode();
        root.put("format", 1).put(what, number);
        return root.put("failed", count(results, Result.Verdict.FAILED));
    }

    private static ObjectNode begin(ArrayNode programs, Result result) {
        ObjectNode node = programs.addObject();
        node.put("name", result.program().name()).put("memory", result.program().memory());
        return node.put("verdict", result.verdict().name());
    }

    private static void end(ObjectNode node, Result result) {
        if (result.problem() != null) {
            node.put("problem", result.problem());
        }
        Limit limit = result.program().limit();
        if (limit != null) {
            node.putObject("limit").put("code", limit.code().name()).put("why", limit.why());
        }
    }

    static long count(List<? extends Result> results, Result.Verdict verdict) {
        return results.stream().filter(result -> result.verdict() == verdict).count();
    }

    private static String number(double value) {
        return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, value < 100 ? "%.1f" : "%.0f", value);
    }
}

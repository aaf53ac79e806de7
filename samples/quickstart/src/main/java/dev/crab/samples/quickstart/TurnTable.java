package dev.crab.samples.quickstart;

import dev.crab.overlap.TurnReport;
import dev.crab.runtime.inspector.EffectReason;
import dev.crab.runtime.session.TurnOutcome;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;

/** The table of committed turns, 80 columns wide. */
final class TurnTable {
    private static final int WIDTH = 80;
    private static final String FORMAT = "%4s %-9s %-5s %7s %7s %7s %7s  ";

    private TurnTable() {}

    static List<String> lines(Collection<TurnReport> turns) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(
                Locale.ROOT,
                FORMAT + "%s",
                "turn",
                "effect",
                "saved",
                "written",
                "window",
                "frozen",
                "exposed",
                "why"));
        for (TurnReport turn : turns) {
            String figures = String.format(
                    Locale.ROOT,
                    FORMAT,
                    turn.turn(),
                    turn.effect(),
                    saved(turn.saved()),
                    bytes(turn.bytes()),
                    duration(turn.windowNanos()),
                    duration(turn.freezeNanos()),
                    duration(turn.exposedNanos()));
            lines.add(fit(figures + why(turn)));
        }
        Total total = Total.of(turns);
        lines.add(String.format(
                        Locale.ROOT,
                        FORMAT,
                        "all",
                        total.turns() + " turns",
                        "",
                        bytes(total.bytes()),
                        duration(total.windowNanos()),
                        duration(total.freezeNanos()),
                        duration(total.exposedNanos()))
                .stripTrailing());
        return lines;
    }

    private static String why(TurnReport turn) {
        if (turn.reasons().isEmpty()) {
            return "-";
        }
        // Some rules are said by their evidence, others need no evidence to be understood. There is room for one.
        EffectReason first = turn.reasons().get(0);
        return switch (first.rule()) {
            case "files-changed", "process-set-differs" ->
                first.evidence().isEmpty() ? first.rule() : first.evidence().get(0);
            default -> first.rule();
        };
    }

    /** A duration for people, two digits or more. */
    static String duration(long nanos) {
        double millis = nanos / 1e6;
        if (millis >= 1000) {
            return String.format(Locale.ROOT, millis >= 10_000 ? "%.0f s" : "%.1f s", millis / 1000);
        }
        return String.format(Locale.ROOT, millis >= 10 || nanos == 0 ? "%.0f ms" : "%.1f ms", millis);
    }

    static String bytes(long bytes) {
        return bytes >= 10_000_000 ? bytes / 1_000_000 + " MB" : bytes >= 10_000 ? bytes / 1000 + " kB" : bytes + " B";
    }

    private static String saved(TurnOutcome.Saved saved) {
        return switch (saved) {
            case NOTHING -> "-";
            case FILES -> "files";
            case PROCESSES_AND_FILES -> "both";
        };
    }

    static String fit(String line) {
        return line.length() <= WIDTH ? line : line.substring(0, WIDTH - 1) + "…";
    }
}

package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.overlap.TurnHistory;
import dev.crab.overlap.TurnHistory.PastTurn;
import dev.crab.overlap.TurnReport;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.inspector.EffectReason;
import dev.crab.runtime.session.SessionArchive;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "timeline",
        description = {
            "Shows when the turns of a session were, running or not: the LLM call that began at a turn's end, what of it was used to save the"
                    + " turn, what the agent had to wait for, and why the turn was saved.",
            "",
            "A window that is still open has no length yet. Turns whose program was killed before it could report have none either.",
            ""
        },
        mixinStandardHelpOptions = true)
final class TimelineCommand extends Report {
    @Parameters(paramLabel = "SESSION", description = "The session's name.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String session;

    @Option(names = "--html", paramLabel = "FILE", description = "Write a page with the turns on a time axis, too.")
    private @Nullable Path html;

    @Override
    public Integer call() {
        List<PastTurn> turns;
        try (CrabRuntime runtime = runtime()) {
            SessionArchive archive = runtime.archive(session);
            turns = TurnHistory.of(archive);
        }
        ObjectNode document = document(turns);
        Path page = html;
        if (page != null) {
            try {
                Files.writeString(
                        page, ChartPage.of(ChartPage.resource(TimelineCommand.class, "timeline.html"), document));
            } catch (IOException e) {
                throw CrabException.io("the page " + page + " cannot be written", e);
            }
        }
        if (json()) {
            out().println(Json.text(document));
        } else {
            print(turns);
        }
        return CrabCli.DONE;
    }

    private ObjectNode document(List<PastTurn> turns) {
        ObjectNode document = Json.object().put("session", session);
        ArrayNode list = document.putArray("turns");
        for (PastTurn turn : turns) {
            ObjectNode entry = turn.report().toJson();
            if (turn.committedAtMillis() > 0) {
                entry.put("boundaryMillis", boundary(turn)).put("committedMillis", turn.committedAtMillis());
            }
            list.add(entry.put("void", turn.isVoid()));
        }
        return document;
    }

    /** When the turn's tools had ended: the commit is written when capture and persist are over. */
    private static double boundary(PastTurn turn) {
        TurnReport report = turn.report();
        return turn.committedAtMillis() - (report.captureNanos() + report.persistNanos()) / 1e6;
    }

    private void print(List<PastTurn> turns) {
        double begin = turns.stream()
                .filter(turn -> turn.committedAtMillis() > 0)
                .mapToDouble(TimelineCommand::boundary)
                .min()
                .orElse(0);
        Table table = new Table(
                "TURN",
                "AT s",
                "TOOLS",
                "EFFECT",
                "SAVED",
                "kB",
                "WINDOW ms",
                "CAPTURE ms",
                "FREEZE ms",
                "PERSIST ms",
                "EXPOSED ms",
                "WHY");
        long window = 0;
        long exposed = 0;
        long bytes = 0;
        for (PastTurn turn : turns) {
            TurnReport report = turn.report();
            window += report.windowNanos();
            exposed += report.exposedNanos();
            bytes += report.bytes();
            table.row(
                    report.turn(),
                    turn.committedAtMillis() > 0 ? decimal((boundary(turn) - begin) / 1e3) : "-",
                    String.join(", ", report.tools()),
                    report.effect(),
                    (report.committed() ? report.saved().toString() : "NOT COMMITTED")
                            + (turn.isVoid() ? ", VOID" : ""),
                    decimal(report.bytes() / 1e3),
                    millis(report.windowNanos()),
                    millis(report.captureNanos()),
                    millis(report.freezeNanos()),
                    millis(report.persistNanos()),
                    millis(report.exposedNanos()),
                    why(report));
        }
        table.print(out());
        out().println();
        out().printf(
                        Locale.ROOT,
                        "%d turns, %.1f kB written, LLM calls %.1f s, exposed delay %.1f ms%n",
                        turns.size(),
                        bytes / 1e3,
                        window / 1e9,
                        exposed / 1e6);
    }

    private static String why(TurnReport report) {
        if (report.failure() != null) {
            return report.failure();
        }
        return report.reasons().stream()
                .map(EffectReason::rule)
                .distinct()
                .limit(3)
                .reduce((a, b) -> a + ", " + b)
                .orElse("");
    }

    private static String millis(long nanos) {
        return decimal(nanos / 1e6);
    }

    private static String decimal(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}

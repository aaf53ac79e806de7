package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.session.SessionArchive;
import dev.crab.runtime.session.SessionArchive.CommittedTurn;
import dev.crab.runtime.session.TurnInfo;
import dev.crab.runtime.store.Manifest;
import dev.crab.runtime.store.ProcessEntry;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
        name = "show",
        description =
                "Shows a session: its turns, which of them it can go back to (KEPT), in which generations what each has of processes and"
                        + " files is stored, and the processes of its newest checkpoint (STATE: L living, Z ended and not yet waited for).",
        mixinStandardHelpOptions = true)
final class ShowCommand extends Report {
    @Parameters(paramLabel = "SESSION", description = "The session's name.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String session;

    private Map<Long, TurnInfo> turns = Map.of();

    @Override
    public Integer call() {
        try (CrabRuntime runtime = runtime()) {
            SessionArchive archive = runtime.archive(session);
            turns = SessionArchive.turns(runtime.data(), session).stream()
                    .collect(Collectors.toMap(TurnInfo::number, turn -> turn));
            Manifest manifest = archive.newestManifest(runtime.data());
            if (json()) {
                out().println(Json.text(document(archive, manifest)));
            } else {
                print(archive, manifest);
            }
        }
        return CrabCli.DONE;
    }

    /** Whether the session can go back to it. */
    private boolean isKept(CommittedTurn turn) {
        TurnInfo info = turns.get(turn.commit().turn());
        return info != null && info.kept();
    }

    private @Nullable String label(CommittedTurn turn) {
        TurnInfo info = turns.get(turn.commit().turn());
        return info == null ? null : info.label();
    }

    private ObjectNode document(SessionArchive archive, @Nullable Manifest manifest) {
        ObjectNode document = Json.object().put("session", archive.session());
        document.set("spec", archive.spec());
        archive.origin()
                .ifPresent(origin -> document.putObject("branch")
                        .put("session", origin.session())
                        .put("turn", origin.turn()));
        ArrayNode turns = document.putArray("turns");
        for (CommittedTurn turn : archive.turns()) {
            ObjectNode entry = turns.addObject()
                    .put("turn", turn.commit().turn())
                    .put("effect", turn.commit().effect().name())
                    .put("saved", turn.saved().name())
                    .put("generation", turn.commit().generation())
                    .put("processGeneration", turn.commit().processGeneration())
                    .put("fileGeneration", turn.commit().fileGeneration())
                    .put("bytes", turn.bytes())
                    .put("captureNanos", turn.captureNanos())
                    .put("freezeNanos", turn.freezeNanos())
                    .put("atMillis", turn.atMillis())
                    .put("kept", isKept(turn));
            String label = label(turn);
            if (label != null) {
                entry.put("label", label);
            }
            turn.lost().forEach(entry.putArray("lost")::add);
            entry.set("position", turn.commit().position());
        }
        if (manifest != null) {
            ArrayNode reasons = document.putArray("reasons");
            for (Manifest.Reason reason : manifest.reasons()) {
                ObjectNode entry =
                        reasons.addObject().put("rule", reason.rule()).put("effect", reason.effect());
                reason.evidence().forEach(entry.putArray("evidence")::add);
            }
            document.put("files", manifest.checkpoint().files().entries());
        }
        ArrayNode processes = document.putArray("processes");
        for (ProcessEntry process : processes(manifest)) {
            ObjectNode entry = processes
                    .addObject()
                    .put("pid", process.pid())
                    .put("ppid", process.ppid())
                    .put("comm", process.comm())
                    .put("state", process.state());
            process.listening().forEach(entry.putArray("listening")::add);
        }
        return document;
    }

    private void print(SessionArchive archive, @Nullable Manifest manifest) {
        Table rows = new Table(
                "TURN",
                "EFFECT",
                "SAVED",
                "GENERATION",
                "PROCESSES",
                "FILES",
                "KB",
                "CAPTURE ms",
                "FREEZE ms",
                "KEPT",
                "LABEL");
        for (CommittedTurn turn : archive.turns()) {
            rows.row(
                    turn.commit().turn(),
                    turn.commit().effect(),
                    turn.lost().isEmpty() ? turn.saved() : turn.saved() + ", UNPROTECTED",
                    turn.commit().generation(),
                    generation(turn.commit().processGeneration()),
                    generation(turn.commit().fileGeneration()),
                    turn.bytes() / 1000,
                    millis(turn.captureNanos()),
                    millis(turn.freezeNanos()),
                    isKept(turn) ? "yes" : "",
                    Objects.requireNonNullElse(label(turn), ""));
        }
        rows.print(out());
        archive.origin()
                .ifPresent(origin -> out().println("begun at turn " + origin.turn() + " of " + origin.session()));
        if (manifest == null) {
            return;
        }
        out().println();
        out().printf(
                        Locale.ROOT,
                        "generation %d: %d files%n",
                        manifest.generation(),
                        manifest.checkpoint().files().entries());
        for (Manifest.Reason reason : manifest.reasons()) {
            out().println("  " + reason.effect() + " because of " + reason.rule() + ": "
                    + Table.printable(String.join(", ", reason.evidence())));
        }
        for (String lost : manifest.lost()) {
            out().println("  NOT CAPTURED: " + Table.printable(lost));
        }
        if (!processes(manifest).isEmpty()) {
            out().println();
            Table table = new Table("PID", "PPID", "STATE", "COMMAND", "LISTENING");
            for (ProcessEntry process : processes(manifest)) {
                table.row(
                        process.pid(),
                        process.ppid(),
                        process.state(),
                        process.comm(),
                        String.join(", ", process.listening()));
            }
            table.print(out());
        }
    }

    private static List<ProcessEntry> processes(@Nullable Manifest manifest) {
        return manifest == null || manifest.checkpoint().processes() == null
                ? List.of()
                : manifest.checkpoint().processes().processes();
    }

    private static String generation(long number) {
        return number == 0 ? "-" : Long.toString(number);
    }

    private static String millis(long nanos) {
        return String.format(Locale.ROOT, "%.1f", nanos / 1e6);
    }
}

package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.session.SessionArchive;
import dev.crab.runtime.session.TurnDiff;
import dev.crab.runtime.session.TurnDiff.FileChange;
import dev.crab.runtime.store.ProcessEntry;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
        name = "diff",
        description =
                "Tells what differs between two turns of a session: files, and processes that were born and ended.",
        mixinStandardHelpOptions = true)
final class DiffCommand extends Report {
    @Parameters(index = "0", paramLabel = "SESSION", description = "The session's name.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String session;

    @Parameters(index = "1", paramLabel = "FROM", description = "Number or label of a turn; 0: the image as it came.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String from;

    @Parameters(index = "2", paramLabel = "TO", description = "Number or label of another one.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String to;

    @Override
    public Integer call() {
        try (CrabRuntime runtime = runtime()) {
            TurnDiff diff = SessionArchive.diff(
                    runtime.data(),
                    session,
                    TurnName.number(runtime, session, from),
                    TurnName.number(runtime, session, to));
            if (json()) {
                out().println(Json.text(document(diff)));
            } else {
                print(diff);
            }
        }
        return CrabCli.DONE;
    }

    private ObjectNode document(TurnDiff diff) {
        ObjectNode document =
                Json.object().put("session", session).put("from", diff.from()).put("to", diff.to());
        ArrayNode files = document.putArray("files");
        for (FileChange change : diff.files()) {
            files.addObject()
                    .put("path", change.path())
                    .put("change", change.kind().name())
                    .put("type", change.type())
                    .put("size", change.size());
        }
        processes(document.putArray("born"), diff.born());
        processes(document.putArray("gone"), diff.gone());
        return document;
    }

    private static void processes(ArrayNode array, List<ProcessEntry> processes) {
        processes.forEach(process -> array.addObject()
                .put("pid", process.pid())
                .put("ppid", process.ppid())
                .put("comm", process.comm()));
    }

    private void print(TurnDiff diff) {
        for (FileChange change : diff.files()) {
            out().printf(Locale.ROOT, "%-8s %s%n", change.kind().name().toLowerCase(Locale.ROOT), change.path());
        }
        diff.born().forEach(process -> print("born", process));
        diff.gone().forEach(process -> print("gone", process));
        out().println(diff.files().size() + " files, " + diff.born().size() + " processes born, "
                + diff.gone().size() + " gone");
    }

    private void print(String what, ProcessEntry process) {
        out().printf(Locale.ROOT, "%-8s process %d (%s)%n", what, process.pid(), Table.printable(process.comm()));
    }
}

package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.overlap.OutsideEffect;
import dev.crab.overlap.TurnHistory;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.session.Rollback;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "rollback",
        description =
                "Goes back to a turn of a session that no program has open: opened again, sandbox and chat are as they "
                        + "were then. The turns after it are void for good; branch first to keep them. Lists what their tools did outside the sandbox, "
                        + "which stays done.",
        mixinStandardHelpOptions = true)
final class RollbackCommand extends Report {
    @Parameters(index = "0", paramLabel = "SESSION", description = "The session's name.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String session;

    @Parameters(index = "1", paramLabel = "TURN", description = "Number or label of a turn; 0: the image as it came.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String turn;

    @Option(names = "--note", paramLabel = "TEXT", description = "Why, for the journal and for the model.")
    private String note = "";

    @Override
    public Integer call() {
        try (CrabRuntime runtime = runtime()) {
            long to = TurnName.number(runtime, session, turn);
            List<OutsideEffect> outside = to > runtime.archive(session).turns().size()
                    ? List.of() // refused below
                    : TurnHistory.outsideAfter(runtime.archive(session), to);
            Rollback back = runtime.rollback(session, to, note);
            if (json()) {
                ObjectNode document = Json.object()
                        .put("session", session)
                        .put("turn", back.turn())
                        .put("voidTurns", back.voidTurns());
                ArrayNode effects = document.putArray("outside");
                for (OutsideEffect effect : outside) {
                    effects.addObject().put("tool", effect.tool()).set("result", effect.result());
                }
                out().println(Json.text(document));
            } else {
                out().println(session + " is back at turn " + back.turn() + "; " + back.voidTurns()
                        + " turns are void");
                outside.forEach(
                        effect -> out().println("  not undone, outside the sandbox: " + Table.printable(effect.tool())
                                + (effect.result() == null ? " (unknown whether it ran to its end)" : "")));
            }
        }
        return CrabCli.DONE;
    }
}

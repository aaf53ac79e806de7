package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.session.SessionArchive;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "branch",
        description =
                "Makes sessions that begin where one that no program has open was at a turn, sandbox and chat alike. They "
                        + "share what is stored, and go their own ways from there.",
        mixinStandardHelpOptions = true)
final class BranchCommand extends Report {
    @Parameters(index = "0", paramLabel = "SESSION", description = "The session's name.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String session;

    @Parameters(index = "1", paramLabel = "TURN", description = "Number or label of a turn; 0: the image as it came.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String turn;

    @Parameters(
            index = "2..*",
            arity = "0..*",
            paramLabel = "NAME",
            description = "Names of the new sessions (default: SESSION-b1 and so on).")
    private List<String> names = List.of();

    @Option(
            names = "--count",
            paramLabel = "N",
            defaultValue = "1",
            description = "How many, if no names are given. Default: ${DEFAULT-VALUE}.")
    private int count;

    @Override
    public Integer call() {
        try (CrabRuntime runtime = runtime()) {
            long from = TurnName.number(runtime, session, turn);
            List<String> branches = names.isEmpty() ? SessionArchive.freeNames(runtime.data(), session, count) : names;
            runtime.branch(session, from, branches);
            if (json()) {
                ObjectNode document = Json.object().put("session", session).put("turn", from);
                branches.forEach(document.putArray("branches")::add);
                out().println(Json.text(document));
            } else {
                branches.forEach(name -> out().println(name + " begins at turn " + from + " of " + session));
            }
        }
        return CrabCli.DONE;
    }
}

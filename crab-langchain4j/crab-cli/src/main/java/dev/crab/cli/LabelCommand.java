package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabRuntime;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "label",
        description =
                "Gives a turn of a session that no program has open a name, by which rollback, branch and diff find it, and which "
                        + "keeps it: its checkpoint is not deleted when newer ones come. A name that another turn has goes over to this one.",
        mixinStandardHelpOptions = true)
final class LabelCommand extends Report {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Parameters(index = "0", paramLabel = "SESSION", description = "The session's name.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String session;

    @Parameters(index = "1", paramLabel = "TURN", description = "Number or label of a turn.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String turn;

    @Parameters(
            index = "2",
            arity = "0..1",
            paramLabel = "NAME",
            description = "1 to 64 printable characters, not only digits.")
    private @Nullable String name;

    @Option(names = "--remove", description = "Take the turn's label away.")
    private boolean remove;

    @Override
    public Integer call() {
        if (remove == (name != null)) {
            throw new ParameterException(spec.commandLine(), "give a name or --remove");
        }
        try (CrabRuntime runtime = runtime()) {
            long number = TurnName.number(runtime, session, turn);
            runtime.label(session, number, name);
            if (json()) {
                ObjectNode document = Json.object().put("session", session).put("turn", number);
                out().println(Json.text(document.put("label", name)));
            } else {
                out().println("turn " + number + " of " + session
                        + (name == null ? " has no label" : " is \"" + Table.printable(name) + "\""));
            }
        }
        return CrabCli.DONE;
    }
}

package dev.crab.cli;

import dev.crab.runtime.CrabRuntime;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
        name = "delete",
        description =
                "Deletes sessions for good: what still runs of them, and everything that was committed. A session whose "
                        + "owner lives is refused.",
        mixinStandardHelpOptions = true)
final class DeleteCommand extends Report {
    @Parameters(arity = "1..*", paramLabel = "SESSION", description = "Sessions to delete.")
    private List<String> sessions = List.of();

    @Override
    public Integer call() {
        try (CrabRuntime runtime = runtime()) {
            return toEach(sessions, "deleted", runtime::delete);
        }
    }
}

package dev.crab.cli;

import dev.crab.runtime.CrabRuntime;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
        name = "stop",
        description =
                "Ends the sandboxes that killed programs left running. Their sessions stay: opened again, they go on from "
                        + "the last committed turn. A session whose owner lives is refused.",
        mixinStandardHelpOptions = true)
final class StopCommand extends Report {
    @Parameters(arity = "1..*", paramLabel = "SESSION", description = "Sessions whose sandbox to end.")
    private List<String> sessions = List.of();

    @Override
    public Integer call() {
        try (CrabRuntime runtime = runtime()) {
            return toEach(sessions, "stopped", runtime::stop);
        }
    }
}

package dev.crab.samples.programs;

import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import java.time.Duration;
import java.util.List;

/** Commands in a sandbox, as descriptions have them. */
final class Commands {
    private static final Duration TIMEOUT = Duration.ofMinutes(1);
    private static final int OUTPUT = 16 << 20;

    private Commands() {}

    static ExecResult exec(Sandbox sandbox, String command, int cycle) {
        return sandbox.exec(ExecRequest.of("/bin/bash", "-e", "-c", command)
                .withWorkingDirectory("/srv")
                .withEnvironment("n", Integer.toString(cycle))
                .withTimeout(TIMEOUT)
                .withOutputLimit(OUTPUT));
    }

    /**
     * Runs it; gives its standard output.
     *
     * @throws TrialFailure if it fails
     */
    static String run(Sandbox sandbox, String command, int cycle) {
        ExecResult result = exec(sandbox, command, cycle);
        if (!result.isSuccess() || result.truncated()) {
            throw new TrialFailure("in the sandbox failed: " + command + ": " + result.text());
        }
        return result.out();
    }

    static String run(Sandbox sandbox, List<String> lines, int cycle) {
        return lines.isEmpty() ? "" : run(sandbox, String.join("\n", lines), cycle);
    }
}

package dev.crab.samples.common;

import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Makes a sandbox what it was when a recorded session began. */
public final class RecordedSetup {
    private static final Duration TIMEOUT = Duration.ofMinutes(5);

    private RecordedSetup() {}

    /**
     * Copies files into the sandbox, then runs the recording's set-up in it.
     *
     * @param copies directories of the sandbox, and those of the host whose files are put there
     * @throws IOException if a line of the set-up fails, with what it printed
     */
    public static void run(Sandbox sandbox, Recording recording, Map<String, Path> copies) throws IOException {
        for (Map.Entry<String, Path> copy : copies.entrySet()) {
            copy(sandbox, copy.getValue(), copy.getKey());
        }
        for (String line : recording.setup()) {
            run(sandbox, recording, "/bin/bash", "-c", line);
        }
        run(sandbox, recording, "/bin/mkdir", "-p", recording.directory());
    }

    private static void run(Sandbox sandbox, Recording recording, String... command) throws IOException {
        ExecResult result =
                sandbox.exec(ExecRequest.of(command).withWorkingDirectory("/").withTimeout(TIMEOUT));
        if (!result.isSuccess()) {
            throw new IOException("the set-up of " + recording.id() + " failed: " + result.text());
        }
    }

    private static void copy(Sandbox sandbox, Path from, String to) throws IOException {
        List<Path> files;
        try (Stream<Path> walk = Files.walk(from)) {
            files = walk.filter(Files::isRegularFile).toList();
        }
        for (Path file : files) {
            sandbox.writeFile(to + "/" + from.relativize(file), Files.readAllBytes(file));
        }
    }
}

package dev.crab.runtime.sandbox;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** The hostile program of the tests, built once and put into sandboxes. */
public final class Hostile {
    private static final Path PROGRAM = build();

    private final Sandbox sandbox;

    private Hostile(Sandbox sandbox) {
        this.sandbox = sandbox;
    }

    public static Hostile in(Sandbox sandbox) {
        try {
            sandbox.writeFile("/usr/local/bin/hostile", Files.readAllBytes(PROGRAM));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        assertThat(sandbox.exec("chmod 755 /usr/local/bin/hostile").status()).isZero();
        return new Hostile(sandbox);
    }

    /** What became of each attempt: "done" or an errno's name. */
    public Map<String, String> attempt(String... attempts) {
        Map<String, String> results = new LinkedHashMap<>();
        for (String attempt : attempts) {
            results.put(attempt, sandbox.exec("hostile " + attempt).text().strip());
        }
        return results;
    }

    private static Path build() {
        try {
            Path program = Files.createTempFile("crab-hostile", "");
            program.toFile().deleteOnExit();
            Process compiler = new ProcessBuilder(
                            "gcc",
                            "-std=gnu11",
                            "-O1",
                            "-static",
                            "-o",
                            program.toString(),
                            Path.of("src", "test", "native", "hostile.c").toString())
                    .inheritIO()
                    .start();
            assertThat(compiler.waitFor()).as("gcc's status").isZero();
            return program;
        } catch (IOException e) {
            throw new AssertionError("gcc is needed for the isolation tests", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }
}

package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.BufferedReader;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link KillableAgent} came to in one JVM.
 *
 * @param status exit status; 137 if it was killed
 * @param outcome what it said at its end; null if it did not get there
 * @param recovered where it took up its session: {@code turn} and {@code skipped}; missing if it never said
 * @param errors what it wrote to standard error, in this JVM and those before it
 */
record AgentLife(int status, @Nullable JsonNode outcome, JsonNode recovered, String errors) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Runs the agent to its end, or until it reaches the point, where it is killed. */
    static AgentLife run(Path data, ScriptedModel model, Path directory, String session, @Nullable String point)
            throws Exception {
        return run(KillableAgent.class, data, model, directory, session, point);
    }

    /** As {@link #run(Path, ScriptedModel, Path, String, String)}, of another program with the same arguments. */
    static AgentLife run(
            Class<?> program, Path data, ScriptedModel model, Path directory, String session, @Nullable String point)
            throws Exception {
        Files.createDirectories(directory);
        JsonNode outcome = null;
        JsonNode recovered = MissingNode.getInstance();
        List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElse("java"),
                "-cp",
                System.getProperty("java.class.path"),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"));
        command.add("-Dcrab.data=" + data);
        if (point != null) {
            command.add("-Dcrab.fault=" + point);
        }
        command.addAll(List.of(program.getName(), model.baseUrl(), directory.toString(), session));
        File errors = directory.resolve("errors").toFile();
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.appendTo(errors))
                .start();
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            String line;
            while ((line = lines.readLine()) != null) {
                if (line.startsWith("crab-fault ")) {
                    // Not Process.destroyForcibly, which would close the stream that is being read.
                    process.toHandle().destroyForcibly();
                } else if (line.startsWith("outcome ")) {
                    outcome = JSON.readTree(line.substring("outcome ".length()));
                } else if (line.startsWith("recovered ")) {
                    recovered = JSON.readTree(line.substring("recovered ".length()));
                }
            }
        }
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return new AgentLife(process.exitValue(), outcome, recovered, Files.readString(errors.toPath()));
    }
}

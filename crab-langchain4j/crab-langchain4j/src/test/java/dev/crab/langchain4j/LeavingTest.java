package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.http.client.jdk.JdkHttpClientBuilder;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.service.AiServices;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A JVM that ends in the middle of a response's tools, and closes Crab by a hook of its own as application containers do. */
class LeavingTest {
    private static final String SESSION = "ticket-42";

    @TempDir
    Path work;

    private final ScriptedModel script = new ScriptedModel();

    @AfterEach
    void close() {
        script.close();
    }

    interface Agent {
        String work(String task);
    }

    /** Arguments: base URL of the model, work directory, whether to end in the first tool. */
    public static final class Program {
        private final Path executions;
        private final boolean ends;
        private final Thread closer = new Thread(Crab::close, "program-shutdown");

        Program(Path executions, boolean ends) {
            this.executions = executions;
            this.ends = ends;
        }

        @Tool("appends")
        public String append(String line) {
            KillableAgent.trace(executions, line);
            Crab.sandbox(SESSION).exec("echo " + line + " >> log");
            if (ends && line.equals("A")) {
                Runtime.getRuntime().addShutdownHook(closer);
                new Thread(() -> System.exit(0)).start();
                await().atMost(Duration.ofMinutes(2)).until(this::isLeaving);
            }
            return "ok";
        }

        /** One of the two that close waits for this tool, the other for the first. */
        private boolean isLeaving() {
            return Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread == closer || thread.getName().equals("crab-shutdown"))
                    .map(Thread::getState)
                    .toList()
                    .containsAll(Set.of(Thread.State.TIMED_WAITING, Thread.State.BLOCKED));
        }

        public static void main(String[] arguments) {
            Path work = Path.of(arguments[1]);
            Crab.configure(CrabOptions.builder()
                    .opener((id, spec) -> DirectorySession.open(work.resolve("data"), id))
                    .build());
            Crab.sandbox(SESSION);
            Agent agent = AiServices.builder(Agent.class)
                    .chatModel(OpenAiChatModel.builder()
                            .baseUrl(arguments[0])
                            .apiKey("none")
                            .modelName("scripted")
                            .httpClientBuilder(new JdkHttpClientBuilder())
                            .maxRetries(0)
                            .build())
                    .tools(new Program(work.resolve("executions"), Boolean.parseBoolean(arguments[2])))
                    .build();
            System.out.println("answer " + agent.work("go"));
        }
    }

    private String run(boolean ends) throws Exception {
        Path said = work.resolve("said");
        Process process = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Program.class.getName(),
                        script.baseUrl(),
                        work.toString(),
                        String.valueOf(ends)))
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        try {
            assertThat(process.waitFor(180, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        return Files.readString(said, StandardCharsets.UTF_8);
    }

    @Test
    void jvmEndsBetweenTwoTools_andTheProgramClosesCrabMeanwhile_whatTheFirstDidIsCommitted() throws Exception {
        script.calls(
                        null,
                        new ScriptedModel.Call("c1", "append", "line", "A"),
                        new ScriptedModel.Call("c2", "append", "line", "B"))
                .says("c2", "done");

        assertThat(run(true)).doesNotContain("answer").doesNotContain("could not be committed");
        assertThat(Files.readAllLines(work.resolve("executions"))).containsExactly("A");

        assertThat(run(false)).contains("answer done");
        assertThat(Files.readAllLines(work.resolve("executions")))
                .as("A was not undone")
                .containsExactly("A", "B");
        assertThat(Files.readAllLines(
                        work.resolve("data").resolve(SESSION).resolve("live").resolve("log")))
                .containsExactly("A", "B");
    }
}

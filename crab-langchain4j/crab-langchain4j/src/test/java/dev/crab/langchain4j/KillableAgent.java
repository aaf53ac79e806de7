package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.SandboxSession;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.http.client.jdk.JdkHttpClientBuilder;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.Result;
import dev.langchain4j.service.SystemMessage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * An agent in a process of its own that a test kills and starts again. Arguments: base URL of the model, work directory, session. Prints
 * {@code recovered} and {@code outcome}, each with JSON in the same line.
 */
final class KillableAgent {
    private KillableAgent() {}

    interface Agent {
        @SystemMessage("You append lines. It is {{current_time}}.")
        Result<String> work(String task);
    }

    /** Tools that leave a trace on the host of every time they really ran. */
    static final class Tools {
        private final Sandbox sandbox;
        private final Path executions;

        Tools(Sandbox sandbox, Path executions) {
            this.sandbox = sandbox;
            this.executions = executions;
        }

        @Tool("Appends a line to the log in the sandbox")
        @SandboxEffect
        String append(String line) {
            trace(executions, "append " + line);
            String lines = RealSandbox.run(sandbox, "echo " + line + " >> log; wc -l < log");
            return lines + " lines, count " + RealSandbox.count(sandbox);
        }

        @Tool("Sends a mail")
        @ExternalEffect(onUnknown = OnUnknown.RETRY)
        String mail(String text) {
            trace(executions, "mail " + text + " " + Crab.idempotencyKey().orElseThrow());
            return "sent";
        }
    }

    static void trace(Path file, String line) {
        try {
            Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static void main(String[] arguments) throws IOException {
        String baseUrl = arguments[0];
        Path work = Path.of(arguments[1]);
        String session = arguments[2];
        Crab.configure(CrabOptions.builder().sandbox(RealSandbox.spec()).build());
        Sandbox sandbox = Crab.sandbox(session);
        MessageWindowChatMemory memory = MessageWindowChatMemory.builder()
                .maxMessages(100)
                .chatMemoryStore(new FileChatMemoryStore(work))
                .build();
        Agent agent = AiServices.builder(Agent.class)
                .chatModel(OpenAiChatModel.builder()
                        .baseUrl(baseUrl)
                        .apiKey("none")
                        .modelName("scripted")
                        .httpClientBuilder(new JdkHttpClientBuilder())
                        .maxRetries(0)
                        .build())
                .chatMemory(memory)
                .tools(new Tools(sandbox, work.resolve("executions")))
                .build();
        try (CrabSession run = Crab.run(session)) {
            ObjectNode recovered = new ObjectMapper().createObjectNode();
            if (run.recovery() instanceof SandboxSession.Recovery.Restored restored) {
                recovered.put("turn", restored.commit().turn());
                restored.skipped().forEach(recovered.putArray("skipped")::add);
            }
            System.out.println("recovered " + recovered);
            System.out.flush();
            run.prepare(RealSandbox::startCounter);
            ObjectNode outcome = new ObjectMapper().createObjectNode();
            Result<String> first = agent.work("append A, B, then C, then D");
            Result<String> second = agent.work("again");
            outcome.put("first", first.content()).put("second", second.content());
            outcome.put("tokens", String.valueOf(first.tokenUsage()));
            outcome.put(
                    "tools",
                    first.toolExecutions().stream()
                            .map(execution -> execution.request().arguments() + " -> " + execution.result())
                            .toList()
                            .toString());
            outcome.put("log", RealSandbox.run(sandbox, "cat log"));
            outcome.put("count", RealSandbox.count(sandbox));
            outcome.put("memory", roles(memory.messages()));
            outcome.put(
                    "turns",
                    run.reports().stream().filter(report -> report.committed()).count());
            run.complete();
            System.out.println("outcome " + outcome);
            System.out.flush();
        }
        Crab.close();
    }

    private static String roles(List<dev.langchain4j.data.message.ChatMessage> messages) {
        return messages.stream()
                .map(message -> message instanceof dev.langchain4j.data.message.SystemMessage
                        ? "SYSTEM"
                        : dev.langchain4j.data.message.ChatMessageSerializer.messageToJson(message))
                .toList()
                .toString();
    }
}

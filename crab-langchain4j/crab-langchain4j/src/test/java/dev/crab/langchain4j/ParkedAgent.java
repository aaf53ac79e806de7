package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.data.message.ChatMessageSerializer;
import dev.langchain4j.http.client.jdk.JdkHttpClientBuilder;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.Result;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;

/**
 * An agent that asks a person, in a process of its own. Arguments as {@link KillableAgent}'s. The person answers by the file {@code answer},
 * once the session is parked; where the sandbox's processes were at that moment is noted in {@code while-parked}.
 */
final class ParkedAgent {
    private ParkedAgent() {}

    interface Agent {
        Result<String> work(String task);
    }

    static final class Tools {
        private final KillableAgent.Tools sandboxed;
        private final Path work;

        Tools(Sandbox sandbox, Path work) {
            this.sandboxed = new KillableAgent.Tools(sandbox, work.resolve("executions"));
            this.work = work;
        }

        @Tool("Appends a line to the log in the sandbox")
        String append(String line) {
            return sandboxed.append(line);
        }

        @Tool("Asks a person")
        String approve(String plan) {
            KillableAgent.trace(work.resolve("questions"), Crab.idempotencyKey().orElseThrow());
            return Crab.await(() -> read(work.resolve("answer")));
        }
    }

    static Optional<String> read(Path file) {
        try {
            return Files.exists(file) ? Optional.of(Files.readString(file)) : Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The person, who is in no hurry. */
    private static void answerOnceParked(String session, Path work) {
        SessionEntry entry = Crab.hub().entry(session, null);
        OpenSession open = entry.open();
        Path cgroup = ((RunningSandbox) open.session().sandbox()).processes().cgroup();
        Thread person = new Thread(() -> {
            while (!open.session().isParked() || Files.exists(cgroup)) {
                Thread.onSpinWait();
            }
            KillableAgent.trace(work.resolve("while-parked"), "no sandbox");
            try {
                // Never there without its text: the tool asks all the time.
                Path written = Files.writeString(work.resolve("answer.new"), "go ahead");
                Files.move(written, work.resolve("answer"), StandardCopyOption.ATOMIC_MOVE);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            Crab.resume(session);
        });
        person.setDaemon(true);
        person.start();
    }

    public static void main(String[] arguments) throws IOException {
        Path work = Path.of(arguments[1]);
        String session = arguments[2];
        Crab.configure(CrabOptions.builder()
                .sandbox(RealSandbox.spec())
                .set(CrabConfig.PARK_AFTER, "0")
                .build());
        Sandbox sandbox = Crab.sandbox(session);
        MessageWindowChatMemory memory = MessageWindowChatMemory.builder()
                .maxMessages(100)
                .chatMemoryStore(new FileChatMemoryStore(work))
                .build();
        Agent agent = AiServices.builder(Agent.class)
                .chatModel(OpenAiChatModel.builder()
                        .baseUrl(arguments[0])
                        .apiKey("none")
                        .modelName("scripted")
                        .httpClientBuilder(new JdkHttpClientBuilder())
                        .maxRetries(0)
                        .build())
                .chatMemory(memory)
                .tools(new Tools(sandbox, work))
                .build();
        try (CrabSession run = Crab.run(session)) {
            run.prepare(RealSandbox::startCounter);
            if (!Files.exists(work.resolve("answer"))) {
                answerOnceParked(session, work);
            }
            ObjectNode outcome = new ObjectMapper().createObjectNode();
            Result<String> result = agent.work("append A, ask, append B, append C");
            outcome.put("answer", result.content()).put("tokens", String.valueOf(result.tokenUsage()));
            outcome.put(
                    "tools",
                    result.toolExecutions().stream()
                            .map(execution -> execution.request().arguments() + " -> " + execution.result())
                            .toList()
                            .toString());
            outcome.put("log", RealSandbox.run(sandbox, "cat log"));
            outcome.put("count", RealSandbox.count(sandbox));
            outcome.put("memory", ChatMessageSerializer.messagesToJson(memory.messages()));
            run.complete();
            System.out.println("outcome " + outcome);
            System.out.flush();
        }
        Crab.close();
    }
}

package dev.crab.langchain4j;

import dev.crab.runtime.CrabSupport;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.sandbox.Sandbox;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.service.AiServices;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** An agent without a sandbox, on a host or as a user that can have none. Arguments: model, work directory, what to do. */
final class PlainAgent {
    private PlainAgent() {}

    interface Agent {
        String work(String task);
    }

    /** Tools that leave a trace of every time they ran. */
    static final class Tools {
        private final Path executions;
        private final @Nullable Sandbox sandbox;

        Tools(Path executions, @Nullable Sandbox sandbox) {
            this.executions = executions;
            this.sandbox = sandbox;
        }

        @Tool("Appends a line")
        String append(String line) {
            if (sandbox != null) {
                return sandbox.exec("echo " + line).text();
            }
            KillableAgent.trace(executions, line);
            return "appended " + line;
        }
    }

    public static void main(String[] arguments) {
        Path work = Path.of(arguments[1]);
        CrabException cause = CrabSupport.unavailabilityCause();
        System.out.println("support " + (cause == null ? "all is there" : cause.code() + "; cure: " + cause.cure()));
        Sandbox sandbox = arguments[2].equals("sandbox") ? Crab.sandbox("plain") : null;
        Agent agent = AiServices.builder(Agent.class)
                .chatModel(OpenAiChatModel.builder()
                        .baseUrl(arguments[0])
                        .apiKey("none")
                        .modelName("scripted")
                        .maxRetries(0)
                        .build())
                .chatMemory(MessageWindowChatMemory.builder()
                        .maxMessages(100)
                        .chatMemoryStore(new FileChatMemoryStore(work))
                        .build())
                .tools(new Tools(work.resolve("executions"), sandbox))
                .build();
        if (arguments[2].equals("unchanged")) {
            System.out.println("answer " + agent.work("append A, B, C"));
            return;
        }
        try (CrabSession run = Crab.run("plain")) {
            System.out.println("answer " + agent.work("append A, B, C"));
            run.complete();
        } catch (CrabError e) {
            System.out.println("refused " + e.getMessage());
        }
        Crab.close();
    }
}

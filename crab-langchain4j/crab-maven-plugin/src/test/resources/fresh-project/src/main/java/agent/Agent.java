package agent;

import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.CrabOptions;
import dev.crab.langchain4j.CrabSession;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.service.AiServices;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** An ordinary program: it does not know whether it was started before. */
public final class Agent {
    private static final String COUNTER = """
            import socket
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", 7001))
            listener.listen(5)
            open("/root/listens", "w").close()
            count = 0
            while True:
                peer, _ = listener.accept()
                count += 1
                peer.sendall(b"%d\\n" % count)
                peer.close()
            """;

    interface Writer {
        String write(String task);
    }

    /** A file that grows, and a process that counts in its memory only. */
    public static final class Tools {
        private final Sandbox sandbox;

        Tools(Sandbox sandbox) {
            this.sandbox = sandbox;
        }

        @Tool("Appends a line to the log")
        public String append(String line) throws IOException {
            Files.writeString(Path.of("executions"), line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            return run(sandbox, "sleep 0.2; echo " + line + " >> log; read n < /dev/tcp/127.0.0.1/7001; echo $(wc -l < log) lines, count $n");
        }
    }

    private static String run(Sandbox sandbox, String command) {
        var result = sandbox.exec(command);
        if (!result.isSuccess()) {
            throw new IllegalStateException(result.text());
        }
        return result.out().strip();
    }

    public static void main(String[] arguments) throws IOException {
        Crab.configure(CrabOptions.builder()
                .sandbox(SandboxSpec.defaults().withImage(new SandboxImage.Directory(Path.of(System.getenv("AGENT_IMAGE")))))
                .build());
        Sandbox sandbox = Crab.sandbox("writer");
        Writer writer = AiServices.builder(Writer.class)
                .chatModel(OpenAiChatModel.builder().baseUrl(arguments[0]).apiKey("none").modelName("scripted").maxRetries(0).build())
                .chatMemory(MessageWindowChatMemory.withMaxMessages(100))
                .tools(new Tools(sandbox))
                .build();
        try (CrabSession run = Crab.run("writer")) {
            run.prepare(fresh -> {
                fresh.writeFile("/root/counter.py", COUNTER);
                run(fresh, "setsid python3 /root/counter.py >/dev/null 2>&1 </dev/null & "
                        + "for i in $(seq 400); do test -e /root/listens && exit 0; sleep 0.05; done; exit 1");
            });
            String answer = writer.write("append lines");
            Files.writeString(Path.of("answer"), answer + "; log " + run(sandbox, "cat log").replace('\n', ' '));
            run.complete();
        }
        Crab.close();
    }
}

package dev.crab.samples.quickstart;

import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.CrabOptions;
import dev.crab.langchain4j.CrabSession;
import dev.crab.langchain4j.SandboxTools;
import dev.crab.overlap.TurnListener;
import dev.crab.overlap.TurnReport;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.samples.common.Events;
import dev.crab.samples.common.FileChatMemoryStore;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.observability.api.listener.AiServiceRequestIssuedListener;
import dev.langchain4j.service.AiServices;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The agent's program: what a user of Crab writes, and around it what lets the driver watch.
 *
 * <p>It is started with the same arguments whether it is the first time or after a crash, and does not know which it is.
 */
final class CodingAgent {
    // Kinds of events: started (session, recovered turn), turn (a TurnReport), turns (all of the session), point (a
    // fault point was
    // passed), filled (the disk was, at a point), finished (an AgentState), failed (a message).

    /** Marks in the command log that a request to the model is being made. */
    static final String REQUEST = "request";

    private final Events events = new Events(System.out);
    private final String session = property("session");
    private final Path directory = Path.of(property("directory"));
    private final CommandLog log = new CommandLog(directory.resolve("commands"), Integer.parseInt(property("life")));
    private final Announcements announcements = new Announcements(directory.resolve("announcements"));

    private CodingAgent() {}

    public static void main(String[] arguments) {
        endWithDriver();
        CodingAgent agent = new CodingAgent();
        try {
            agent.run();
        } catch (Exception | Error failure) {
            agent.events.emit("failed", failure.toString());
            failure.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }

    private void run() {
        Crab.configure(CrabOptions.builder().listener(new Reporter()).build());
        if (Boolean.getBoolean("quickstart.points")) {
            FaultPoints.handler((name, times) -> events.emit("point", name + "@" + times));
        }
        fillAt(System.getProperty("quickstart.fill"));
        try (CrabSession run = Crab.run(session)) {
            events.emit("started", started(run));
            Sandbox sandbox = new LoggedSandbox(run.sandbox(), log);
            ChatMemory memory = MessageWindowChatMemory.builder()
                    .id(session)
                    .maxMessages(500)
                    .chatMemoryStore(new FileChatMemoryStore(directory.resolve("chat.json")))
                    .build();
            Coder coder = AiServices.builder(Coder.class)
                    .chatModel(model())
                    .chatMemory(memory)
                    .tools(new SandboxTools(sandbox), new ShopTools(sandbox, announcements))
                    .registerListener((AiServiceRequestIssuedListener) event -> log.append(REQUEST))
                    .build();

            String answer = coder.chat(Script.TASK); // killed? run the same program again: it goes on

            FaultPoints.handler(null); // what follows is the driver's curiosity, not the agent's work
            events.emit("turns", run.reports().stream().map(TurnReport::toJson).toList());
            events.emit("finished", AgentState.probe(run.sandbox(), answer, announcements.texts(), memory.messages()));
            run.complete();
        } finally {
            Crab.close();
        }
    }

    /** Fills a disk when a point is passed, as anybody else on the host might. */
    private void fillAt(@Nullable String pointAndFile) {
        if (pointAndFile == null) {
            return;
        }
        String point = pointAndFile.substring(0, pointAndFile.indexOf(':'));
        Path filler = Path.of(pointAndFile.substring(point.length() + 1));
        FaultPoints.handler((name, times) -> {
            if (point.equals(name + "@" + times)) {
                SmallDisk.fill(filler);
                events.emit("filled", point);
            }
        });
    }

    private static Started started(CrabSession run) {
        return run.recovery() instanceof Recovery.Restored restored
                ? new Started(
                        run.id(), restored.commit().turn(), restored.processesRestored(), restored.restoreMillis())
                : new Started(run.id(), 0, 0, 0);
    }

    private static ChatModel model() {
        OpenAiChatModel.OpenAiChatModelBuilder model =
                OpenAiChatModel.builder().maxRetries(0).timeout(Duration.ofMinutes(5));
        String scripted = System.getProperty("quickstart.model");
        if (scripted != null) {
            return model.baseUrl(scripted).apiKey("none").modelName("scripted").build();
        }
        String name = System.getenv("OPENAI_MODEL");
        return model.baseUrl(System.getenv("OPENAI_BASE_URL"))
                .apiKey(System.getenv("OPENAI_API_KEY"))
                .modelName(name == null || name.isEmpty() ? "gpt-4o-mini" : name)
                .build();
    }

    /** The driver holds the other end of standard input: its end, however it came, ends this JVM, too. */
    private static void endWithDriver() {
        Thread watch = new Thread(
                () -> {
                    try {
                        while (System.in.read() >= 0) {
                            // Nothing is ever sent.
                        }
                    } catch (IOException e) {
                        // The same as its end.
                    }
                    Runtime.getRuntime().halt(3);
                },
                "driver-watch");
        watch.setDaemon(true);
        watch.start();
    }

    private static String property(String name) {
        String value = System.getProperty("quickstart." + name);
        if (value == null) {
            throw new IllegalStateException("the driver did not set quickstart." + name);
        }
        return value;
    }

    /**
     * Where this JVM took up the work.
     *
     * @param turn the turn that the sandbox was restored to; 0 if it is new
     */
    record Started(String session, long turn, int processes, long restoreMillis) {}

    private final class Reporter implements TurnListener {
        @Override
        public void turnReported(String sessionId, TurnReport report) {
            events.emit("turn", report.toJson());
        }
    }
}

package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.github.tomakehurst.wiremock.client.WireMock;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.sandbox.Sandbox;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ChatMessageType;
import dev.langchain4j.http.client.jdk.JdkHttpClientBuilder;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiChatResponseMetadata;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.SystemMessage;
import dev.langchain4j.service.TokenStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * AI services that stream, and tools that run side by side, over HTTP against a scripted model; the sandbox is a directory. Long because
 * all of them share the services and handlers at its end.
 */
@Timeout(60)
class StreamingTest {
    private static final String SESSION = "stream-1";

    @TempDir
    Path data;

    private final ScriptedModel script = new ScriptedModel();
    private final List<String> ran = Collections.synchronizedList(new ArrayList<>());
    private final ChatMemory memory = MessageWindowChatMemory.withMaxMessages(50);
    private final ExecutorService pool = Executors.newCachedThreadPool();
    private final CountDownLatch hold = new CountDownLatch(1);
    private @Nullable DirectorySession session;

    /** Stands for the end of the process. */
    private static final class Killed extends Error {
        private static final long serialVersionUID = 1L;
    }

    interface Agent {
        @SystemMessage("It is {{current_time}}.")
        TokenStream work(String task);
    }

    interface Sync {
        String work(String task);
    }

    final class Tools {
        private final Sandbox sandbox;

        Tools(Sandbox sandbox) {
            this.sandbox = sandbox;
        }

        @Tool("appends")
        String append(String line) {
            ran.add("append " + line);
            return sandbox.exec("echo " + line + " >> log-" + line + "; cat log-" + line)
                    .out();
        }

        @Tool("waits, then appends")
        String slow(String line) throws InterruptedException {
            ran.add("slow " + line);
            hold.await();
            return sandbox.exec("echo " + line + " >> slow; cat slow").out();
        }

        @Tool("fails")
        String fail(String why) {
            throw new IllegalStateException(why);
        }
    }

    /** What a program saw of one stream. */
    private static final class Seen {
        final List<String> pieces = Collections.synchronizedList(new ArrayList<>());
        final List<String> tools = Collections.synchronizedList(new ArrayList<>());
        final List<ChatResponse> intermediate = Collections.synchronizedList(new ArrayList<>());
        final CompletableFuture<ChatResponse> end = new CompletableFuture<>();

        Seen(TokenStream stream) {
            stream.onPartialResponse(pieces::add)
                    .onToolExecuted(one -> tools.add(one.request().arguments() + " -> " + one.result()))
                    .onIntermediateResponse(intermediate::add)
                    .onCompleteResponse(end::complete)
                    .onError(end::completeExceptionally)
                    .start();
        }

        ChatResponse response() {
            return end.join();
        }
    }

    @BeforeEach
    void configure() {
        Crab.configure(CrabOptions.builder()
                .opener((id, spec) -> {
                    DirectorySession opened = DirectorySession.open(data, id);
                    session = opened;
                    return opened;
                })
                .build());
    }

    @AfterEach
    void close() {
        hold.countDown();
        FaultPoints.handler(null);
        Crab.close();
        script.close();
        pool.shutdownNow();
    }

    private void crash(Runnable work) {
        assertThatThrownBy(work::run)
                .satisfies(thrown -> assertThat(root(thrown)).isInstanceOf(Killed.class));
        FaultPoints.handler(null);
        Crab.close();
        configure();
    }

    private static Throwable root(Throwable thrown) {
        Throwable one = thrown;
        while ((one instanceof CompletionException
                        || one instanceof ExecutionException
                        || one instanceof RuntimeException)
                && one.getCause() != null) {
            one = one.getCause();
        }
        return one;
    }

    private static void killAt(String point, int times) {
        FaultPoints.handler((name, reached) -> {
            if (name.equals(point) && reached >= times) {
                throw new Killed();
            }
        });
    }

    private AiServices<Agent> agent() {
        return AiServices.builder(Agent.class)
                .streamingChatModel(OpenAiStreamingChatModel.builder()
                        .baseUrl(script.baseUrl())
                        .apiKey("none")
                        .modelName("scripted")
                        .httpClientBuilder(new JdkHttpClientBuilder())
                        .build())
                .chatMemory(memory)
                .tools(new Tools(Crab.sandbox(SESSION)));
    }

    private AiServices<Sync> sync() {
        return AiServices.builder(Sync.class)
                .chatModel(OpenAiChatModel.builder()
                        .baseUrl(script.baseUrl())
                        .apiKey("none")
                        .modelName("scripted")
                        .httpClientBuilder(new JdkHttpClientBuilder())
                        .maxRetries(0)
                        .build())
                .executeToolsConcurrently(pool)
                .tools(new Tools(Crab.sandbox(SESSION)));
    }

    private static ScriptedModel.Call call(String id, String line) {
        return new ScriptedModel.Call(id, "append", "line", line);
    }

    private List<ChatMessageType> memoryTypes() {
        return memory.messages().stream().map(ChatMessage::type).toList();
    }

    private DirectorySession session() {
        return Objects.requireNonNull(session);
    }

    private void twoTurns() {
        script.calls(null, call("c1", "A"), call("c2", "B"))
                .calls("c2", call("c3", "C"))
                .says("c3", "done");
    }

    @Test
    void stream_isProtectedTurnByTurn() {
        twoTurns();
        Seen seen = new Seen(agent().build().work("go"));
        assertThat(seen.response().aiMessage().text()).isEqualTo("done");
        assertThat(seen.response().tokenUsage().totalTokenCount()).isEqualTo(45);
        assertThat(String.join("", seen.pieces)).isEqualTo("done");
        assertThat(Crab.reports(SESSION))
                .hasSize(2)
                .allSatisfy(report -> assertThat(report.committed()).isTrue());
    }

    @Test
    void crashInATool_resumesTheStream() {
        twoTurns();
        killAt("tool.inside", 3);
        crash(() -> new Seen(agent().build().work("go")).response());

        Seen seen = new Seen(agent().build().work("go"));

        assertThat(seen.response().aiMessage().text()).isEqualTo("done");
        assertThat(seen.response().tokenUsage().totalTokenCount()).isEqualTo(45);
        assertThat(seen.intermediate)
                .extracting(ChatResponse::metadata)
                .hasSize(2)
                .allSatisfy(one -> assertThat(one).isInstanceOf(OpenAiChatResponseMetadata.class));
        assertThat(seen.tools)
                .containsExactly("{\"line\":\"A\"} -> A\n", "{\"line\":\"B\"} -> B\n", "{\"line\":\"C\"} -> C\n");
        assertThat(ran).containsExactly("append A", "append B", "append C", "append C");
        assertThat(script.requests()).hasSize(3);
        assertThat(script.requests().get(2).path("messages").get(0))
                .as("the time in the system message")
                .isEqualTo(script.requests().get(0).path("messages").get(0));
        assertThat(memoryTypes())
                .containsExactly(
                        ChatMessageType.SYSTEM,
                        ChatMessageType.USER,
                        ChatMessageType.AI,
                        ChatMessageType.TOOL_EXECUTION_RESULT,
                        ChatMessageType.TOOL_EXECUTION_RESULT,
                        ChatMessageType.AI,
                        ChatMessageType.TOOL_EXECUTION_RESULT,
                        ChatMessageType.AI);
    }

    @Test
    void replayedStream_showsItsTextInOnePiece_onAnotherThread() throws Exception {
        script.says(null, "done");
        try (CrabSession run = Crab.run(SESSION)) {
            assertThat(new Seen(agent().build().work("go"))
                            .response()
                            .aiMessage()
                            .text())
                    .isEqualTo("done");
            assertThat(run.id()).isEqualTo(SESSION);
        }
        Crab.close();
        configure();
        CompletableFuture<Thread> thread = new CompletableFuture<>();
        List<String> pieces = new ArrayList<>();
        try (CrabSession run = Crab.run(SESSION)) {
            CompletableFuture<ChatResponse> end = new CompletableFuture<>();
            agent().build()
                    .work("go")
                    .onPartialResponse(pieces::add)
                    .onCompleteResponse(response -> {
                        thread.complete(Thread.currentThread());
                        end.complete(response);
                    })
                    .onError(end::completeExceptionally)
                    .start();
            end.get(30, TimeUnit.SECONDS);
            run.complete();
        }
        assertThat(pieces).containsExactly("done");
        assertThat(thread.get()).isNotEqualTo(Thread.currentThread());
        assertThat(script.requests()).hasSize(1);
    }

    @Test
    void toolsSideBySide_startOnlyWhenTheResponseIsDurable() {
        twoTurns();
        killAt("response.recorded", 1);
        crash(() -> new Seen(agent().executeToolsConcurrently(pool).build().work("go")).response());
        assertThat(ran).isEmpty();

        Seen seen = new Seen(agent().executeToolsConcurrently(pool).build().work("go"));

        assertThat(seen.response().aiMessage().text()).isEqualTo("done");
        assertThat(ran).containsExactlyInAnyOrder("append A", "append B", "append C");
        assertThat(script.requests()).as("the first response is paid for").hasSize(3);
    }

    @Test
    void toolsSideBySide_ofACommittedTurn_areNotRunAgain() {
        twoTurns();
        killAt("tool.inside", 3);
        crash(() -> new Seen(agent().executeToolsConcurrently(pool).build().work("go")).response());
        Seen seen = new Seen(agent().executeToolsConcurrently(pool).build().work("go"));
        assertThat(seen.response().tokenUsage().totalTokenCount()).isEqualTo(45);
        assertThat(seen.tools).hasSize(3);
        assertThat(ran).containsExactlyInAnyOrder("append A", "append B", "append C", "append C");
    }

    @Test
    void failedCommit_reachesOnError_asCrabError() {
        twoTurns();
        for (boolean concurrent : new boolean[] {false, true}) {
            Crab.sandbox(SESSION).exec("true");
            session().nextCommitFails.set(CrabException.of(ErrorCode.CAPTURE_FAILED, "what", "why", "cure"));
            AiServices<Agent> builder = concurrent ? agent().executeToolsConcurrently(pool) : agent();
            Seen seen = new Seen(builder.build().work("go " + concurrent));
            assertThatThrownBy(seen::response)
                    .hasCauseInstanceOf(CrabError.class)
                    .hasMessageContaining("CAPTURE_FAILED");
        }
    }

    @Test
    void failedCommit_withToolsSideBySide_isACrabErrorInASyncCallToo() {
        script.calls(null, call("c1", "A"))
                .calls("c1", call("c2", "B"), call("c3", "C"))
                .says("c3", "done");
        Crab.sandbox(SESSION).exec("true");
        session().nextCommitFails.set(CrabException.of(ErrorCode.CAPTURE_FAILED, "what", "why", "cure"));
        Sync service = sync().build();
        assertThatThrownBy(() -> service.work("go"))
                .isInstanceOf(CrabError.class)
                .hasMessageContaining("CAPTURE_FAILED");
        assertThat(service.work("go")).isEqualTo("done");
        assertThat(ran).containsExactlyInAnyOrder("append A", "append B", "append C");
    }

    @Test
    void callMadeAgain_waitsForToolsOfTheFailedOne_andDoesNotRunThemTwice() throws Exception {
        script.calls(
                        null,
                        new ScriptedModel.Call("c1", "fail", "why", "no luck"),
                        new ScriptedModel.Call("c2", "slow", "line", "S"))
                .says("c2", "done");
        Sync stopping = sync().toolExecutionErrorHandler((error, context) -> {
                    // A tool that has not begun by the end of its call is not started any more.
                    Awaitility.await().atMost(Duration.ofMinutes(2)).until(() -> ran.contains("slow S"));
                    throw new IllegalArgumentException("enough");
                })
                .build();
        assertThatThrownBy(() -> stopping.work("go")).isInstanceOf(IllegalArgumentException.class);
        Awaitility.await().atMost(Duration.ofMinutes(2)).until(() -> ran.contains("slow S"));
        Sync service = sync().build();
        CompletableFuture<String> again = CompletableFuture.supplyAsync(() -> service.work("go"), pool);
        Awaitility.await()
                .atMost(Duration.ofMinutes(2))
                .during(Duration.ofMillis(300))
                .until(() -> Collections.frequency(ran, "slow S") == 1 && !again.isDone());
        hold.countDown();
        assertThat(again.get(30, TimeUnit.SECONDS)).isEqualTo("done");
        assertThat(Crab.sandbox(SESSION).exec("cat slow").out()).isEqualTo("S\n");
    }

    @Test
    void ignoredError_leavesTheCallToBeTakenUp() throws Exception {
        script.calls(null, call("c1", "A"));
        CountDownLatch asked = new CountDownLatch(2);
        script.server()
                .stubFor(WireMock.post("/v1/chat/completions")
                        .atPriority(1)
                        .withRequestBody(WireMock.matchingJsonPath("$.messages[?(@.tool_call_id == 'c1')]"))
                        .willReturn(WireMock.serverError()));
        script.server().addMockServiceRequestListener((request, response) -> asked.countDown());
        Agent agent = agent().build();
        agent.work("go").onPartialResponse(piece -> {}).ignoreErrors().start();
        assertThat(asked.await(30, TimeUnit.SECONDS)).isTrue();
        script.server().resetAll();
        script.says("c1", "done");
        Awaitility.await().atMost(Duration.ofMinutes(2)).ignoreExceptions().untilAsserted(() -> {
            Seen seen = new Seen(agent.work("go"));
            assertThat(seen.end.get(10, TimeUnit.SECONDS).aiMessage().text()).isEqualTo("done");
        });
        assertThat(ran).containsExactly("append A");
    }

    @Test
    void cancelledStream_leavesTheCallToBeTakenUp() {
        script.calls(null, call("c1", "A")).says("c1", "done");
        CompletableFuture<Boolean> cancelled = new CompletableFuture<>();
        agent().build()
                .work("go")
                .onPartialResponseWithContext((piece, context) -> {
                    context.streamingHandle().cancel();
                    cancelled.complete(true);
                })
                .onError(cancelled::completeExceptionally)
                .start();
        assertThat(cancelled.join()).isTrue();
        Seen seen = new Seen(agent().build().work("go"));
        assertThat(seen.response().aiMessage().text()).isEqualTo("done");
        assertThat(ran).as("the same call, not another one").containsExactly("append A");
    }
}

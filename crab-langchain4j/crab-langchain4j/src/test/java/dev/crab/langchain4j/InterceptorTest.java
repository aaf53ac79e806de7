package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.sandbox.Sandbox;
import dev.langchain4j.agent.tool.ReturnBehavior;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ChatMessageType;
import dev.langchain4j.http.client.jdk.JdkHttpClientBuilder;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiChatResponseMetadata;
import dev.langchain4j.service.AiServiceContext;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.MemoryId;
import dev.langchain4j.service.Result;
import dev.langchain4j.service.SystemMessage;
import dev.langchain4j.service.UserMessage;
import dev.langchain4j.service.tool.ToolErrorHandlerResult;
import dev.langchain4j.service.tool.ToolExecutor;
import dev.langchain4j.service.tool.ToolProvider;
import dev.langchain4j.service.tool.ToolProviderRequest;
import dev.langchain4j.service.tool.ToolProviderResult;
import dev.langchain4j.service.tool.ToolService;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * AI services over HTTP against a scripted model, with a session whose sandbox is a directory. Long because every path of the loop has a case
 * here, and all of them share the script and the services at its end.
 */
class InterceptorTest {
    private static final String SESSION = "ticket-42";

    @TempDir
    Path data;

    private final ScriptedModel script = new ScriptedModel();
    private final List<String> ran = Collections.synchronizedList(new ArrayList<>());
    private final ChatMemory memory = MessageWindowChatMemory.withMaxMessages(50);
    private @Nullable DirectorySession session;

    /** Stands for the end of the process: nothing catches it. */
    private static final class Killed extends Error {
        private static final long serialVersionUID = 1L;
    }

    interface Agent {
        @SystemMessage("It is {{current_time}}.")
        Result<String> work(String task);
    }

    interface Plain {
        String chat(String text);
    }

    final class Tools {
        private final Sandbox sandbox;

        Tools(Sandbox sandbox) {
            this.sandbox = sandbox;
        }

        @Tool("appends")
        String append(String line) {
            ran.add("append " + line);
            return sandbox.exec("echo " + line + " >> log; cat log").out();
        }

        @Tool("fails")
        String fail(String why) {
            ran.add("fail " + why);
            throw new IllegalStateException(why);
        }

        @Tool("appends, then fails")
        String appendAndFail(String line) {
            sandbox.exec("echo " + line + " >> log");
            throw new IllegalStateException("after it was done");
        }

        @Tool("sends, and works in the sandbox on another thread")
        @ExternalEffect(onUnknown = OnUnknown.RETRY)
        String sendElsewhere(String name) {
            ran.add("send " + name);
            CompletableFuture.runAsync(() -> sandbox.exec("touch " + name)).join();
            return "sent";
        }

        @Tool("sends")
        @ExternalEffect(onUnknown = OnUnknown.FAIL)
        String sendOrStop(String text) {
            ran.add("send " + text);
            return "sent";
        }

        @Tool("sends")
        @ExternalEffect(onUnknown = OnUnknown.RECORDED)
        String sendOrTell(String text) {
            ran.add("send " + text);
            return "sent";
        }

        @Tool("sends")
        @ExternalEffect(onUnknown = OnUnknown.ASK)
        String sendOrAsk(String text) {
            ran.add("send " + text);
            return "sent";
        }

        @Tool(value = "counts", returnBehavior = ReturnBehavior.IMMEDIATE)
        Count count(String text) {
            ran.add("count " + text);
            sandbox.exec("touch counted");
            return new Count(5L, List.of(7L));
        }
    }

    @BeforeEach
    void configure() {
        configure(options -> {});
    }

    private void configure(Consumer<CrabOptions.Builder> more) {
        CrabOptions.Builder options = CrabOptions.builder().opener((id, spec) -> {
            DirectorySession opened = DirectorySession.open(data, id);
            session = opened;
            return opened;
        });
        more.accept(options);
        Crab.configure(options.build());
    }

    @AfterEach
    void close() {
        FaultPoints.handler(null);
        Crab.close();
        script.close();
    }

    private void crash(Runnable work) {
        assertThatThrownBy(work::run).isInstanceOf(Killed.class);
        FaultPoints.handler(null);
        Crab.close();
        configure();
    }

    private DirectorySession session() {
        return Objects.requireNonNull(session);
    }

    private static void killAt(String point, int times) {
        FaultPoints.handler((name, reached) -> {
            if (name.equals(point) && reached == times) {
                throw new Killed();
            }
        });
    }

    private ChatModel model() {
        return OpenAiChatModel.builder()
                .baseUrl(script.baseUrl())
                .apiKey("none")
                .modelName("scripted")
                .httpClientBuilder(new JdkHttpClientBuilder())
                .maxRetries(0)
                .build();
    }

    private AiServices<Agent> agent() {
        return AiServices.builder(Agent.class)
                .chatModel(model())
                .chatMemory(memory)
                .tools(new Tools(Crab.sandbox(SESSION)));
    }

    private static ScriptedModel.Call call(String id, String tool, String argument, String value) {
        return new ScriptedModel.Call(id, tool, argument, value);
    }

    private List<ChatMessageType> memoryTypes() {
        return memory.messages().stream().map(ChatMessage::type).toList();
    }

    private static ErrorCode codeOf(Throwable thrown) {
        assertThat(thrown).isInstanceOf(CrabError.class);
        return ((CrabError) thrown).refusal().code();
    }

    private static Throwable thrownBy(Runnable work) {
        try {
            work.run();
        } catch (Throwable e) {
            return e;
        }
        throw new AssertionError("nothing was thrown");
    }

    @Test
    void crashInATool_resumesWithTheSamePromptMemoryAndMetadata() {
        script.calls(null, call("c1", "append", "line", "A"))
                .calls("c1", call("c2", "append", "line", "B"))
                .says("c2", "done");
        killAt("tool.inside", 2);
        crash(() -> agent().build().work("go"));
        assertThat(memoryTypes()).as("left by the crash").hasSize(5);

        Result<String> result = agent().build().work("go");

        assertThat(result.content()).isEqualTo("done");
        assertThat(result.tokenUsage().totalTokenCount()).isEqualTo(45);
        assertThat(result.toolExecutions()).extracting(one -> one.result()).containsExactly("A\n", "A\nB\n");
        assertThat(result.intermediateResponses().get(0).metadata())
                .isInstanceOfSatisfying(
                        OpenAiChatResponseMetadata.class,
                        metadata -> assertThat(metadata.systemFingerprint()).startsWith("fp-"));
        assertThat(ran).containsExactly("append A", "append B", "append B");
        assertThat(script.requests()).hasSize(3);
        assertThat(script.requests().get(2).path("messages").get(0))
                .as("the time in the system message is that of the first request")
                .isEqualTo(script.requests().get(0).path("messages").get(0));
        assertThat(memoryTypes())
                .containsExactly(
                        ChatMessageType.SYSTEM,
                        ChatMessageType.USER,
                        ChatMessageType.AI,
                        ChatMessageType.TOOL_EXECUTION_RESULT,
                        ChatMessageType.AI,
                        ChatMessageType.TOOL_EXECUTION_RESULT,
                        ChatMessageType.AI);
        assertThat(memory.messages().get(0))
                .isEqualTo(dev.langchain4j.data.message.SystemMessage.from(script.requests()
                        .get(0)
                        .path("messages")
                        .get(0)
                        .path("content")
                        .asText()));
    }

    @Test
    void crashDuringTheFirstLlmCall_leavesNoMessageTwice() {
        script.says(null, "done");
        ChatModel dying = new ChatModel() {
            @Override
            public ChatResponse doChat(ChatRequest request) {
                throw new Killed();
            }
        };
        crash(() -> agent().chatModel(dying).build().work("go"));
        assertThat(memoryTypes()).as("left by the crash").hasSize(2);

        agent().build().work("go");

        assertThat(memoryTypes()).containsExactly(ChatMessageType.SYSTEM, ChatMessageType.USER, ChatMessageType.AI);
        assertThat(script.requests().get(0).path("messages")).hasSize(2);
    }

    @Test
    void promptWithTheTimeOfDay_staysTheSame_withoutAMemoryToo() {
        script.calls(null, call("c1", "append", "line", "A")).says("c1", "done");
        Runnable work = () -> AiServices.builder(Agent.class)
                .chatModel(model())
                .tools(new Tools(Crab.sandbox(SESSION)))
                .build()
                .work("go");
        killAt("tool.inside", 1);
        crash(work);
        work.run();
        assertThat(script.requests()).hasSize(2);
        assertThat(script.requests().get(1).path("messages").get(0))
                .isEqualTo(script.requests().get(0).path("messages").get(0));
    }

    @Test
    void divergedPrompt_isRefusedWhereThatIsWished() {
        script.calls(null, call("c1", "append", "line", "A")).says("c1", "done");
        killAt("tool.inside", 1);
        crash(() -> agent().build().work("go"));
        Crab.close();
        configure(options -> options.onDivergence(OnDivergence.FAIL));
        Throwable thrown = thrownBy(() -> agent().build().work("go"));
        assertThat(codeOf(thrown)).isEqualTo(ErrorCode.REPLAY_DIVERGED);
        assertThat(thrown).hasMessageContaining("message 1 was").hasMessageContaining("It is");
        Crab.close();
        configure(options -> options.onDivergence(OnDivergence.WARN));
        assertThat(agent().build().work("go").content()).isEqualTo("done");
    }

    @Test
    void otherCallAfterACrash_findsOnlyWholeCommittedTurnsInTheMemory() {
        script.calls(null, call("c1", "append", "line", "A"))
                .calls("c1", call("c2", "append", "line", "B"))
                .says("c2", "done");
        killAt("tool.inside", 2);
        crash(() -> agent().build().work("go"));
        script.server().resetAll();
        script.says(null, "hello");

        agent().build().work("something else");

        assertThat(memoryTypes())
                .containsExactly(
                        ChatMessageType.USER,
                        ChatMessageType.AI,
                        ChatMessageType.TOOL_EXECUTION_RESULT,
                        ChatMessageType.SYSTEM,
                        ChatMessageType.USER,
                        ChatMessageType.AI);
        assertThat(Crab.sandbox(SESSION).exec("cat log").out()).isEqualTo("A\n");
    }

    private void modelFailsBehind(String toolCall) {
        script.server()
                .stubFor(com.github.tomakehurst.wiremock.client.WireMock.post("/v1/chat/completions")
                        .atPriority(1)
                        .withRequestBody(com.github.tomakehurst.wiremock.client.WireMock.matchingJsonPath(
                                "$.messages[?(@.tool_call_id == '" + toolCall + "')]"))
                        .willReturn(com.github.tomakehurst.wiremock.client.WireMock.serverError()));
    }

    @Test
    void modelFailure_isTheCallersAndTheSameCallGoesOn() {
        script.calls(null, call("c1", "append", "line", "A"));
        modelFailsBehind("c1");
        Agent agent = agent().build();
        assertThatThrownBy(() -> agent.work("go")).isInstanceOf(RuntimeException.class);
        script.server().resetAll();
        script.says("c1", "done");

        assertThat(agent.work("go").content()).isEqualTo("done");
        assertThat(ran).containsExactly("append A");
    }

    @Test
    void otherCallAfterACrash_thatFailsItself_beginsAgainWithoutADanglingToolCall() {
        script.calls(null, call("c1", "append", "line", "A"))
                .calls("c1", call("c2", "append", "line", "B"))
                .says("c2", "done");
        killAt("tool.inside", 2);
        crash(() -> agent().build().work("go"));
        script.server().resetAll();
        script.server()
                .stubFor(com.github.tomakehurst.wiremock.client.WireMock.post("/v1/chat/completions")
                        .willReturn(com.github.tomakehurst.wiremock.client.WireMock.serverError()));
        assertThatThrownBy(() -> agent().build().work("something else")).isInstanceOf(RuntimeException.class);
        script.server().resetAll();
        script.says(null, "hello");

        assertThat(agent().build().work("something else").content()).isEqualTo("hello");

        assertThat(memoryTypes())
                .containsExactly(
                        ChatMessageType.USER,
                        ChatMessageType.AI,
                        ChatMessageType.TOOL_EXECUTION_RESULT,
                        ChatMessageType.SYSTEM,
                        ChatMessageType.USER,
                        ChatMessageType.AI);
    }

    @Test
    void modelFailureInARun_isTheCallersAndTheSameCallGoesOn() {
        script.calls(null, call("c1", "append", "line", "A"));
        modelFailsBehind("c1");
        Agent agent = agent().build();
        try (CrabSession run = Crab.run(SESSION)) {
            assertThatThrownBy(() -> agent.work("go")).isInstanceOf(RuntimeException.class);
            script.server().resetAll();
            script.says("c1", "done");

            assertThat(agent.work("go").content()).isEqualTo("done");
            run.complete();
        }
        assertThat(ran).containsExactly("append A");
    }

    @Test
    void failedCommit_endsTheRunAsAnError_notAsToolText() {
        script.calls(null, call("c1", "append", "line", "A"))
                .calls("c1", call("c2", "append", "line", "B"))
                .says("c2", "done");
        Agent agent = agent().build();
        Crab.sandbox(SESSION).exec("true");
        session().nextCommitFails.set(CrabException.of(ErrorCode.CAPTURE_FAILED, "what", "why", "cure"));

        assertThat(codeOf(thrownBy(() -> agent.work("go")))).isEqualTo(ErrorCode.CAPTURE_FAILED);
        assertThat(ran).containsExactly("append A");
        assertThat(agent.work("go").content()).as("made again").isEqualTo("done");
        assertThat(ran).containsExactly("append A", "append B");
    }

    @Test
    void failedCommitOfTheLastTurn_keepsTheAnswerBack() {
        script.calls(null, call("c1", "append", "line", "A")).says("c1", "done");
        Agent agent = agent().build();
        Crab.sandbox(SESSION).exec("true");
        session().nextCommitFails.set(CrabException.of(ErrorCode.DISK_FULL, "what", "why", "cure"));
        assertThat(codeOf(thrownBy(() -> agent.work("go")))).isEqualTo(ErrorCode.DISK_FULL);
    }

    @Test
    void toolFailure_isTextForTheModel_andTheUsersHandlerRunsOnce() {
        script.calls(null, call("c1", "fail", "why", "no luck")).says("c1", "done");
        AtomicInteger handled = new AtomicInteger();
        Result<String> result = agent().toolExecutionErrorHandler((error, context) -> {
                    handled.incrementAndGet();
                    return ToolErrorHandlerResult.text("sorry: " + error.getMessage());
                })
                .build()
                .work("go");
        assertThat(handled).hasValue(1);
        assertThat(result.toolExecutions().get(0).result()).isEqualTo("sorry: no luck");
    }

    @Test
    void usersHandlerThatThrows_endsTheCallWithItsOwnException() {
        script.calls(null, call("c1", "fail", "why", "no luck")).says("c1", "done");
        IllegalArgumentException verdict = new IllegalArgumentException("enough");
        Agent agent = agent().toolExecutionErrorHandler((error, context) -> {
                    throw verdict;
                })
                .build();
        assertThatThrownBy(() -> agent.work("go")).isSameAs(verdict);
    }

    @Test
    void toolWithoutARecordedResult_runsAgainInASandboxThatWasPutBack() {
        script.calls(null, call("c1", "appendAndFail", "line", "A")).says("c1", "done");
        AtomicBoolean enough = new AtomicBoolean(true);
        Agent agent = agent().toolExecutionErrorHandler((error, context) -> {
                    if (enough.get()) {
                        throw new IllegalArgumentException("enough");
                    }
                    return ToolErrorHandlerResult.text("sorry");
                })
                .build();
        assertThatThrownBy(() -> agent.work("go")).isInstanceOf(IllegalArgumentException.class);
        enough.set(false);

        assertThat(agent.work("go").content()).isEqualTo("done");
        assertThat(Crab.sandbox(SESSION).exec("cat log").out()).isEqualTo("A\n");
    }

    @Test
    void externalToolThatWorksInTheSandboxOnAnotherThread_isNotServedWithoutThatWork() {
        script.calls(null, call("c1", "sendElsewhere", "name", "there")).says("c1", "done");
        killAt("tool.after", 1);
        crash(() -> agent().build().work("go"));

        assertThat(agent().build().work("go").content()).isEqualTo("done");
        assertThat(ran).containsExactly("send there", "send there");
        assertThat(Crab.sandbox(SESSION).exec("ls there").isSuccess()).isTrue();
    }

    @Test
    void lostSandbox_isNotTextForTheModel() {
        script.calls(null, call("c1", "lose", "x", "y")).says("c1", "done");
        Agent agent = AiServices.builder(Agent.class)
                .chatModel(model())
                .tools(java.util.Map.of(
                        ToolSpecification.builder()
                                .name("lose")
                                .parameters(JsonObjectSchema.builder()
                                        .addStringProperty("x")
                                        .build())
                                .build(),
                        (ToolExecutor) (request, memoryId) -> {
                            throw CrabException.of(ErrorCode.SANDBOX_LOST, "what", "why", "cure");
                        }))
                .build();
        Crab.sandbox(SESSION);
        assertThat(codeOf(thrownBy(() -> agent.work("go")))).isEqualTo(ErrorCode.SANDBOX_LOST);
    }

    @Test
    void concurrentTools_areAllRecorded_andReplayedFromTheJournal() {
        script.calls(
                        null,
                        call("c1", "append", "line", "A"),
                        call("c2", "append", "line", "B"),
                        call("c3", "append", "line", "C"))
                .calls("c3", call("c4", "append", "line", "D"))
                .says("c4", "done");
        killAt("tool.before", 4);
        crash(() -> agent().executeToolsConcurrently(Executors.newCachedThreadPool())
                .build()
                .work("go"));
        Result<String> result = agent().executeToolsConcurrently(Executors.newCachedThreadPool())
                .build()
                .work("go");
        assertThat(result.content()).isEqualTo("done");
        assertThat(ran).hasSize(4).doesNotHaveDuplicates();
    }

    @Test
    void toolsOfDynamicProviders_areProtected() {
        script.calls(null, call("c1", "dynamic", "x", "y")).says("c1", "done");
        ToolProvider provider = new ToolProvider() {
            @Override
            public ToolProviderResult provideTools(ToolProviderRequest request) {
                return ToolProviderResult.builder()
                        .add(
                                ToolSpecification.builder()
                                        .name("dynamic")
                                        .parameters(JsonObjectSchema.builder()
                                                .addStringProperty("x")
                                                .build())
                                        .build(),
                                (request2, memoryId) -> {
                                    ran.add("dynamic " + Crab.idempotencyKey().isPresent());
                                    return "ok";
                                })
                        .build();
            }

            @Override
            public boolean isDynamic() {
                return true;
            }
        };
        Crab.sandbox(SESSION);
        AiServices.builder(Agent.class)
                .chatModel(model())
                .toolProvider(provider)
                .build()
                .work("go");
        assertThat(ran).containsExactly("dynamic true");
        assertThat(Crab.reports(SESSION)).hasSize(1);
    }

    @Test
    void externalEffect_startedBeforeACrash_isHandledAsDeclared() {
        for (String tool : List.of("sendOrStop", "sendOrTell", "sendOrAsk")) {
            ran.clear();
            memory.clear();
            script.server().resetAll();
            script.calls(null, call("c1", tool, "text", "x")).says("c1", "done");
            killAt("tool.inside", 1);
            crash(() -> agent().build().work(tool));
            if (tool.equals("sendOrTell")) {
                Result<String> result = agent().build().work(tool);
                assertThat(result.toolExecutions().get(0).result()).contains("not known");
            } else {
                assertThat(codeOf(thrownBy(() -> agent().build().work(tool)))).isEqualTo(ErrorCode.EFFECT_UNKNOWN);
            }
            assertThat(ran).containsExactly("send x");
        }
        Crab.close();
        configure(options -> options.onAsk((request, key) -> new UnknownEffectHandler.Decision.Answer("it was sent")));
        assertThat(agent().build().work("sendOrAsk").toolExecutions().get(0).result())
                .isEqualTo("it was sent");
    }

    @Test
    void externalEffect_withARecordedResult_doesNotRunAgain() {
        script.calls(null, call("c1", "sendOrStop", "text", "x"), call("c2", "append", "line", "A"))
                .says("c2", "done");
        killAt("tool.inside", 2);
        crash(() -> agent().build().work("go"));
        agent().build().work("go");
        assertThat(ran).containsExactly("send x", "append A", "append A");
    }

    record Count(long value, List<Long> more) {}

    interface Counting {
        Count work(String task);
    }

    @Test
    void immediateResult_isReplayedAsTheObjectThatItWas() {
        script.calls(null, call("c1", "count", "text", "x"));
        try (CrabSession run = Crab.run(SESSION)) {
            assertThat(counting().work("go")).isEqualTo(new Count(5L, List.of(7L)));
            assertThat(run.reports()).hasSize(1);
        }
        Crab.close();
        configure();
        try (CrabSession run = Crab.run(SESSION)) {
            assertThat(counting().work("go")).isEqualTo(new Count(5L, List.of(7L)));
            run.complete();
        }
        assertThat(ran).containsExactly("count x");
        assertThat(script.requests()).hasSize(1);
    }

    private Counting counting() {
        return AiServices.builder(Counting.class)
                .chatModel(model())
                .tools(new Tools(Crab.sandbox(SESSION)))
                .build();
    }

    interface Inner {
        String ask(String question);
    }

    final class Delegate {
        private final Inner inner;

        Delegate(Inner inner) {
            this.inner = inner;
        }

        @Tool("delegates")
        String delegate(String question) {
            ran.add("delegate");
            return inner.ask(question);
        }
    }

    @Test
    void serviceCalledByATool_isReplayedWithIt() {
        script.calls(null, call("c1", "delegate", "question", "why"))
                .calls("c1", call("c2", "append", "line", "B"))
                .says("c2", "done");
        ChatModel innerModel = new ChatModel() {
            @Override
            public ChatResponse doChat(ChatRequest request) {
                ran.add("inner call");
                return ChatResponse.builder().aiMessage(AiMessage.from("inner")).build();
            }
        };
        Inner inner = AiServices.create(Inner.class, innerModel);
        Runnable work = () -> AiServices.builder(Agent.class)
                .chatModel(model())
                .tools(new Tools(Crab.sandbox(SESSION)), new Delegate(inner))
                .build()
                .work("go");
        killAt("tool.inside", 1);
        crash(work);
        work.run();
        assertThat(ran).containsExactly("delegate", "inner call", "delegate", "append B");
    }

    @Test
    void sandboxOfASessionThatDoesNotProtectTheCall_isRefusedToItsTools() {
        script.calls(null, call("c1", "append", "line", "A")).says("c1", "done");
        Agent agent = agent().build();
        Crab.sandbox("other");
        assertThat(codeOf(thrownBy(() -> agent.work("go")))).isEqualTo(ErrorCode.CONFIG_INVALID);
        assertThat(session).as("nothing was opened").isNull();
        try (CrabSession scope = Crab.session(SESSION)) {
            assertThat(agent.work("go").content()).isEqualTo("done");
            assertThat(scope.reports()).hasSize(1);
        }
    }

    interface Conversations {
        String chat(@MemoryId String id, @UserMessage String text);
    }

    @Test
    void memoryId_namesTheSession() {
        script.calls(null, call("c1", "append", "line", "A")).says("c1", "done");
        Conversations conversations = AiServices.builder(Conversations.class)
                .chatModel(model())
                .chatMemoryProvider(id -> MessageWindowChatMemory.withMaxMessages(20))
                .tools(new Tools(Crab.sandbox(SESSION)))
                .build();
        Crab.sandbox("other");
        assertThat(conversations.chat(SESSION, "go")).isEqualTo("done");
        assertThat(Crab.reports(SESSION)).hasSize(1);
    }

    @Test
    void serviceOutsideAnySession_isLeftAlone() {
        script.says(null, "hello");
        Plain plain = AiServices.builder(Plain.class).chatModel(model()).build();
        Crab.sandbox(SESSION);
        assertThat(plain.chat("hi")).isEqualTo("hello");
        assertThat(session)
                .as("no tools, no scope: no session is opened for it")
                .isNull();
    }

    interface Later {
        CompletableFuture<String> chat(String text);
    }

    @Test
    void pathsThatAreNotProtected_areRefused_inASessionOnly() {
        StreamingChatModel streaming = new StreamingChatModel() {
            @Override
            public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
                handler.onCompleteResponse(
                        ChatResponse.builder().aiMessage(AiMessage.from("hi")).build());
            }
        };
        Plain service =
                AiServices.builder(Plain.class).streamingChatModel(streaming).build();
        Later later = AiServices.builder(Later.class).chatModel(model()).build();
        try (CrabSession scope = Crab.session(SESSION)) {
            assertThat(codeOf(thrownBy(() -> service.chat("hi")))).isEqualTo(ErrorCode.FRAMEWORK_UNSUPPORTED);
            assertThat(codeOf(thrownBy(() -> assertThat(later.chat("hi")).isNotNull())))
                    .isEqualTo(ErrorCode.FRAMEWORK_UNSUPPORTED);
            assertThat(scope.id()).isEqualTo(SESSION);
        }
    }

    private static @Nullable ErrorCode refusal(Runnable building) {
        return thrownBy(building) instanceof CrabException refused ? refused.code() : null;
    }

    @Test
    void asynchronousServiceOfASession_isRefusedWhenItIsBuilt() {
        Runnable building = () -> AiServices.builder(Later.class);
        try (CrabSession scope = Crab.session(SESSION)) {
            assertThat(refusal(building)).isEqualTo(ErrorCode.FRAMEWORK_UNSUPPORTED);
            assertThat(scope.id()).isEqualTo(SESSION);
        }
        AiServices<Later> builder = AiServices.builder(Later.class);
        assertThat(refusal(() -> builder.tools(new Tools(Crab.sandbox(SESSION)))))
                .as("its tools would run in the only session")
                .isEqualTo(ErrorCode.FRAMEWORK_UNSUPPORTED);
        Crab.close();
        configure(options -> options.serviceSession(Later.class, SESSION));
        assertThat(refusal(building)).isEqualTo(ErrorCode.FRAMEWORK_UNSUPPORTED);
        Crab.close();
        configure(options -> options.set("crab.session", SESSION));
        AiServices.builder(Later.class);
        Crab.sandbox(SESSION);
        assertThat(refusal(building)).isEqualTo(ErrorCode.FRAMEWORK_UNSUPPORTED);
    }

    @Test
    void disabled_addsNothing() {
        Crab.close();
        configure(options -> options.set("crab.enabled", "false"));
        AiServiceContext context = AiServiceContext.create(Agent.class);
        assertThat(context.toolService.getClass()).isEqualTo(ToolService.class);
        // A coverage agent adds synthetic members.
        assertThat(Arrays.stream(context.getClass().getDeclaredMethods()).filter(one -> !one.isSynthetic()))
                .as("overrides nothing")
                .isEmpty();
        assertThat(Arrays.stream(context.getClass().getDeclaredFields()).filter(one -> !one.isSynthetic()))
                .as("holds nothing")
                .isEmpty();
        script.calls(null, call("c1", "append", "line", "A")).says("c1", "done");
        assertThat(agent().build().work("go").content()).isEqualTo("done");
        assertThat(session().lastCommit()).isNull();
    }

    @Test
    void otherLibrarysContext_isFoundOut() {
        AiServiceContext foreign = new AiServiceContext(Agent.class) {};
        assertThatThrownBy(() ->
                        Interceptor.check(foreign, List.of("com.example.Other", CrabContextFactory.class.getName())))
                .isInstanceOf(CrabException.class)
                .hasMessageContaining("INTERCEPTOR_INACTIVE")
                .hasMessageContaining("com.example.Other");
        Interceptor.check(AiServiceContext.create(Agent.class), List.of(CrabContextFactory.class.getName()));
    }

    @Test
    void configureAfterUse_isRefused() {
        Crab.sandbox(SESSION);
        assertThatThrownBy(() -> Crab.configure(CrabOptions.builder().build()))
                .isInstanceOf(CrabException.class)
                .hasMessageContaining("CONFIG_INVALID");
    }

    @Test
    void preparation_runsOnceInTheSessionsLife() {
        for (int i = 0; i < 2; i++) {
            try (CrabSession scope = Crab.session(SESSION)) {
                scope.prepare(sandbox -> {
                    ran.add("prepared");
                    sandbox.writeFile("file", new byte[] {1});
                });
            }
            Crab.close();
            configure();
        }
        assertThat(ran).containsExactly("prepared");
        assertThat(Crab.sandbox(SESSION).readFile("file", 10)).containsExactly(1);
    }
}

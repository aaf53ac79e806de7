package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.langchain4j.agent.tool.CompensateFor;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.http.client.jdk.JdkHttpClientBuilder;
import dev.langchain4j.invocation.InvocationContext;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.tool.ToolExecutionResult;
import dev.langchain4j.service.tool.ToolExecutor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What must not slip past a session in silence: failures inside the tool wrapper, calls, specs, effects of what is nested. */
class ProtectionTest {
    private static final String SESSION = "ticket-42";
    private static final SandboxSpec SPEC = SandboxSpec.defaults().withPidLimit(77);

    @TempDir
    Path data;

    private final ScriptedModel script = new ScriptedModel();
    private final List<String> ran = Collections.synchronizedList(new ArrayList<>());
    private final List<SandboxSpec> opened = Collections.synchronizedList(new ArrayList<>());
    private volatile @Nullable DirectorySession last;

    /** Stands for the end of the process: nothing catches it. */
    private static final class Killed extends Error {
        private static final long serialVersionUID = 1L;
    }

    interface Agent {
        String work(String task);
    }

    final class Tools {
        @Tool("appends")
        String append(String line) {
            ran.add("append " + line);
            return Crab.sandbox(SESSION)
                    .exec("echo " + line + " >> log; cat log")
                    .out();
        }

        @Tool("sends")
        @ExternalEffect(onUnknown = OnUnknown.ASK)
        String send(String text) {
            ran.add("send " + text + " " + Crab.idempotencyKey().isPresent());
            return "sent";
        }
    }

    @BeforeEach
    void configure() {
        configure(options -> {});
    }

    private void configure(Consumer<CrabOptions.Builder> more) {
        CrabOptions.Builder options = CrabOptions.builder().opener((id, spec) -> {
            opened.add(spec);
            DirectorySession session = DirectorySession.open(data, id);
            last = session;
            return session;
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

    private void crash(String point, int times, Runnable work) {
        FaultPoints.handler((name, reached) -> {
            if (name.equals(point) && reached == times) {
                // What is dead commits nothing any more.
                Objects.requireNonNull(last)
                        .nextCommitFails
                        .set(CrabException.of(ErrorCode.COMMIT_FAILED, "what", "why", "cure"));
                throw new Killed();
            }
        });
        assertThatThrownBy(work::run).isInstanceOf(Killed.class);
        FaultPoints.handler(null);
        Crab.close();
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
        return AiServices.builder(Agent.class).chatModel(model());
    }

    private static ScriptedModel.Call call(String id, String tool, String argument, String value) {
        return new ScriptedModel.Call(id, tool, argument, value);
    }

    private static @Nullable ErrorCode codeOf(@Nullable Throwable thrown) {
        return thrown instanceof CrabError error
                ? error.refusal().code()
                : thrown instanceof CrabException refusal ? refusal.code() : null;
    }

    @Test
    void handlerOfUnknownEffectsThatFails_endsTheRun_andTheModelIsNotTold() {
        script.calls(null, call("c1", "send", "text", "x")).says("c1", "done");
        Runnable work = () -> {
            Crab.sandbox(SESSION);
            agent().tools(new Tools()).build().work("go");
        };
        crash("tool.inside", 1, work);
        configure(options -> options.onAsk((request, key) -> {
            throw new IllegalStateException("the desk is closed");
        }));

        Throwable thrown = catchThrowable(work::run);

        assertThat(codeOf(thrown)).isEqualTo(ErrorCode.EFFECT_UNKNOWN);
        assertThat(thrown).hasMessageContaining("the desk is closed");
        assertThat(ran).containsExactly("send x true");
        assertThat(script.requests()).as("the model was asked for nothing more").hasSize(1);
    }

    @Test
    void resultThatCannotBeRecorded_endsTheRun_andTheModelIsNotTold() {
        script.calls(null, call("c1", "odd", "x", "y")).says("c1", "done");
        ToolSpecification specification = ToolSpecification.builder()
                .name("odd")
                .parameters(JsonObjectSchema.builder().addStringProperty("x").build())
                .build();
        ToolExecutor odd = new ToolExecutor() {
            @Override
            public String execute(ToolExecutionRequest request, Object memoryId) {
                throw new UnsupportedOperationException();
            }

            @Override
            public ToolExecutionResult executeWithContext(ToolExecutionRequest request, InvocationContext context) {
                Crab.sandbox(SESSION).exec("touch there");
                return ToolExecutionResult.builder()
                        .resultText("ok")
                        .attributes(Map.of("x", new Object()))
                        .build();
            }
        };
        Crab.sandbox(SESSION);
        Agent agent = agent().tools(Map.of(specification, odd)).build();

        Throwable thrown = catchThrowable(() -> agent.work("go"));

        assertThat(codeOf(thrown)).isEqualTo(ErrorCode.INTERNAL);
        assertThat(thrown).hasMessageContaining("the result of the tool odd cannot be recorded");
        assertThat(script.requests()).hasSize(1);
        assertThat(Crab.reports(SESSION)).as("no effect without its result").isEmpty();
    }

    @Test
    void spec_givenAfterTheFirstNaming_countsUntilTheSessionIsOpen() {
        Crab.sandbox("t");
        try (CrabSession run = Crab.run("t", SPEC)) {
            assertThat(run.id()).isEqualTo("t");
            assertThat(opened).containsExactly(SPEC);
        }
        Crab.sandbox("t", SPEC);
        Crab.sandbox("t");
    }

    @Test
    void spec_thatWouldBeIgnored_isRefused() {
        Crab.sandbox("asked", SPEC);
        assertThat(codeOf(catchThrowable(() -> Crab.sandbox("asked", SPEC.withPidLimit(78)))))
                .as("another one was asked for")
                .isEqualTo(ErrorCode.CONFIG_INVALID);
        Crab.sandbox("open").exec("true");
        assertThat(codeOf(catchThrowable(() -> Crab.session("open", SPEC))))
                .as("it is open with another one")
                .isEqualTo(ErrorCode.CONFIG_INVALID);
        Crab.sandbox("open", SandboxSpec.defaults());
    }

    @Test
    void onlySessionNamed_staysThat_whenOthersAreLookedAtOrNamedLater() {
        script.calls(null, call("c1", "send", "text", "x")).says("c1", "done");
        Crab.sandbox(SESSION);
        Agent agent = agent().tools(new Tools()).build();
        agent.work("go");

        Crab.reports("other");
        agent().tools(new Tools()).build().work("go");
        Crab.sandbox("another");
        agent.work("go");

        assertThat(ran).as("each in the session").hasSize(3).containsOnly("send x true");
    }

    static final class Booking {
        @Tool("books")
        String book(String what) {
            return "booked";
        }

        @CompensateFor("book")
        void cancel(String what) {}
    }

    @Test
    void compensationOnToolErrors_isRefused_inASessionOnly() {
        script.says(null, "done");
        Agent agent = agent().tools(new Booking()).compensateOnToolErrors(true).build();
        assertThat(agent.work("go")).isEqualTo("done");
        Crab.sandbox(SESSION);

        assertThat(codeOf(catchThrowable(() -> agent.work("go")))).isEqualTo(ErrorCode.FRAMEWORK_UNSUPPORTED);
    }

    interface Inner {
        String ask(String question);
    }

    final class Delegate {
        @Tool("delegates")
        @ExternalEffect(onUnknown = OnUnknown.RETRY)
        String delegate(String question) {
            ran.add("delegate");
            return AiServices.builder(Inner.class)
                    .chatModel(new ChatModel() {
                        @Override
                        public ChatResponse doChat(ChatRequest request) {
                            boolean done =
                                    request.messages().stream().anyMatch(ToolExecutionResultMessage.class::isInstance);
                            return ChatResponse.builder()
                                    .aiMessage(done ? AiMessage.from("inner done") : AiMessage.from(append()))
                                    .build();
                        }
                    })
                    .tools(new Tools())
                    .build()
                    .ask(question);
        }

        private ToolExecutionRequest append() {
            return ToolExecutionRequest.builder()
                    .id("i1")
                    .name("append")
                    .arguments("{\"line\": \"inner\"}")
                    .build();
        }
    }

    @Test
    void externalToolWhoseInnerServiceWorksInTheSandbox_isNotServedWithoutThatWork() {
        script.calls(null, call("c1", "delegate", "question", "why")).says("c1", "done");
        Runnable work = () -> {
            Crab.sandbox(SESSION);
            agent().tools(new Delegate()).build().work("go");
        };
        crash("tool.after", 2, work); // the inner tool's is the first
        configure();

        work.run();

        assertThat(ran).containsExactly("delegate", "append inner", "delegate", "append inner");
        assertThat(Crab.sandbox(SESSION).exec("cat log").out()).isEqualTo("inner\n");
    }
}

package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.http.client.jdk.JdkHttpClientBuilder;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.Result;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs that wait for a person, with a session whose sandbox is a directory: {@link ParkKillTest} has real ones. */
class ParkingTest {
    private static final String SESSION = "ticket-42";

    @TempDir
    Path data;

    private final ScriptedModel script = new ScriptedModel();
    private final List<String> ran = Collections.synchronizedList(new ArrayList<>());
    private volatile @Nullable DirectorySession session;
    private volatile Optional<String> answer = Optional.empty();
    private final Map<String, String> answers = new ConcurrentHashMap<>();
    private volatile boolean suspends;

    interface Agent {
        Result<String> work(String task);
    }

    final class Tools {
        @Tool("appends")
        String append(String line) {
            ran.add("append " + line);
            return Crab.sandbox(SESSION)
                    .exec("echo " + line + " >> log; cat log")
                    .out();
        }

        @Tool("asks")
        String ask(String question) {
            ran.add("ask " + Crab.idempotencyKey().orElseThrow());
            if (suspends && answer.isEmpty()) {
                throw Crab.suspend("waiting for Ada");
            }
            return Crab.await(() -> answer);
        }

        @Tool("asks somebody")
        String askOne(String name) {
            return Crab.await(() -> Optional.ofNullable(answers.get(name)));
        }

        @Tool("uses the sandbox, then asks")
        String workAndAsk(String line) {
            return append(line) + Crab.await(() -> answer);
        }

        @Tool("sends")
        @ExternalEffect(onUnknown = OnUnknown.ASK)
        String send(String text) {
            ran.add("send " + text);
            return "sent";
        }
    }

    @BeforeEach
    void configure() {
        configure(options -> {});
    }

    private void configure(Consumer<CrabOptions.Builder> more) {
        CrabOptions.Builder options = CrabOptions.builder()
                .set(CrabConfig.PARK_AFTER, "0")
                .opener((id, spec) -> {
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

    private static void eventually(Callable<Boolean> condition) {
        await().atMost(Duration.ofMinutes(2)).until(condition);
    }

    private DirectorySession session() {
        return Objects.requireNonNull(session);
    }

    private AiServices<Agent> agent() {
        Crab.sandbox(SESSION);
        return AiServices.builder(Agent.class)
                .chatModel(OpenAiChatModel.builder()
                        .baseUrl(script.baseUrl())
                        .apiKey("none")
                        .modelName("scripted")
                        .httpClientBuilder(new JdkHttpClientBuilder())
                        .maxRetries(0)
                        .build())
                .tools(new Tools());
    }

    private static ScriptedModel.Call call(String id, String tool, String argument, String value) {
        return new ScriptedModel.Call(id, tool, argument, value);
    }

    private void scripted() {
        script.calls(
                        null,
                        call("c1", "append", "line", "A"),
                        call("q1", "ask", "question", "?"),
                        call("c2", "append", "line", "B"))
                .says("c2", "done");
    }

    private void answers(String text) {
        answer = Optional.of(text);
        Crab.resume(SESSION);
    }

    private static @Nullable ErrorCode codeOf(@Nullable Throwable thrown) {
        return thrown instanceof CrabError error ? error.refusal().code() : null;
    }

    @Test
    void waitingTool_isParkedAndGoesOnWhenResumed() {
        scripted();
        CompletableFuture<Result<String>> run =
                CompletableFuture.supplyAsync(() -> agent().build().work("go"));
        eventually(() -> session != null && session().isParked());

        answers("yes");

        Result<String> result = run.join();
        assertThat(result.content()).isEqualTo("done");
        assertThat(result.toolExecutions().stream().map(one -> one.result())).containsExactly("A\n", "yes", "A\nB\n");
        assertThat(session().parks).hasValue(1);
    }

    @Test
    void waitingTool_beforeItsPatienceIsOver_isNotParked() {
        Crab.close();
        configure(options -> options.set(CrabConfig.PARK_AFTER, "3600"));
        scripted();
        CompletableFuture<Result<String>> run =
                CompletableFuture.supplyAsync(() -> agent().build().work("go"));
        eventually(() -> ran.size() == 2);

        answers("yes");

        assertThat(run.join().content()).isEqualTo("done");
        assertThat(session().parks).hasValue(0);
        assertThat(Crab.reports(SESSION)).hasSize(1);
    }

    @Test
    void twoWait_theFirstAnswerComes_isParkedAgainForTheOther() {
        script.calls(null, call("q1", "askOne", "name", "Ada"), call("q2", "askOne", "name", "Bob"))
                .says("q2", "done");
        CompletableFuture<Result<String>> run =
                CompletableFuture.supplyAsync(() -> agent().executeToolsConcurrently(Executors.newCachedThreadPool())
                        .build()
                        .work("go"));
        eventually(() -> session != null && session().parks.get() == 1);

        answers.put("Ada", "yes");
        Crab.resume(SESSION);
        eventually(() -> session().parks.get() == 2 && session().isParked());
        assertThat(run).isNotDone();

        answers.put("Bob", "no");
        Crab.resume(SESSION);
        assertThat(run.join().toolExecutions().stream().map(one -> one.result()))
                .containsExactly("yes", "no");
    }

    @Test
    void answerThatIsThereAlready_isTakenAtOnce() {
        scripted();
        answer = Optional.of("yes");
        assertThat(agent().build().work("go").content()).isEqualTo("done");
    }

    @Test
    void toolsSideBySide_areAllSavedBeforeItIsParked() {
        scripted();
        CompletableFuture<Result<String>> run =
                CompletableFuture.supplyAsync(() -> agent().executeToolsConcurrently(Executors.newCachedThreadPool())
                        .build()
                        .work("go"));
        eventually(() -> session != null && session().isParked());
        answers("yes");
        assertThat(run.join().content()).isEqualTo("done");
        assertThat(Crab.sandbox(SESSION).exec("sort log").out()).isEqualTo("A\nB\n");
        assertThat(ran).hasSize(3);
    }

    @Test
    void toolThatHasUsedTheSandbox_waitsUnparked() {
        script.calls(null, call("c1", "workAndAsk", "line", "A")).says("c1", "done");
        CompletableFuture<Result<String>> run =
                CompletableFuture.supplyAsync(() -> agent().build().work("go"));
        eventually(() -> ran.size() == 1);
        answers("yes");
        assertThat(run.join().toolExecutions().get(0).result()).isEqualTo("A\nyes");
        assertThat(session().parks).hasValue(0);
    }

    @Test
    void suspendedRun_isSavedAndTheSameCallComesBackToTheTool() {
        scripted();
        suspends = true;
        Agent agent = agent().build();
        assertThat(codeOf(catchThrowable(() -> agent.work("go")))).isEqualTo(ErrorCode.SESSION_PARKED);
        assertThat(session().isParked()).isTrue();
        assertThat(codeOf(catchThrowable(() -> agent.work("go")))).isEqualTo(ErrorCode.SESSION_PARKED);

        // Another program, later.
        Crab.close();
        configure();
        answer = Optional.of("yes");
        Result<String> result = agent().build().work("go");

        assertThat(result.content()).isEqualTo("done");
        assertThat(result.toolExecutions().stream().map(one -> one.result())).containsExactly("A\n", "yes", "A\nB\n");
        assertThat(ran.stream().filter("append A"::equals)).hasSize(1);
        assertThat(ran.stream().filter(line -> line.startsWith("ask")).distinct())
                .hasSize(1);
    }

    @Test
    void question_parksTheSessionUntilItIsDecided() {
        script.calls(null, call("c1", "append", "line", "A"), call("c2", "send", "text", "x"))
                .says("c2", "done");
        crashInside(2);
        CompletableFuture<UnknownEffectHandler.Decision> decision = new CompletableFuture<>();
        configure(options -> options.onAsk((request, key) -> decision.join()));
        CompletableFuture<Result<String>> run =
                CompletableFuture.supplyAsync(() -> agent().build().work("go"));
        eventually(() -> session != null && session().isParked());
        decision.complete(new UnknownEffectHandler.Decision.Retry());

        assertThat(run.join().content()).isEqualTo("done");
        assertThat(ran).containsExactly("append A", "send x", "append A", "send x");
        assertThat(Crab.sandbox(SESSION).exec("cat log").out()).isEqualTo("A\n");
    }

    @Test
    void question_later_stopsTheRunUntilTheSameCallAsksAgain() {
        script.calls(null, call("c1", "append", "line", "A"), call("c2", "send", "text", "x"))
                .says("c2", "done");
        crashInside(2);
        List<UnknownEffectHandler.Decision> decisions = new ArrayList<>(List.of(
                new UnknownEffectHandler.Decision.Later(), new UnknownEffectHandler.Decision.Answer("it was sent")));
        configure(options -> options.onAsk((request, key) -> decisions.remove(0)));
        Agent agent = agent().build();

        assertThat(codeOf(catchThrowable(() -> agent.work("go")))).isEqualTo(ErrorCode.SESSION_PARKED);
        assertThat(session().isParked()).isTrue();
        assertThat(agent.work("go").toolExecutions().get(1).result()).isEqualTo("it was sent");
        assertThat(ran).containsExactly("append A", "send x", "append A");
    }

    private void crashInside(int tool) {
        class Killed extends Error {
            private static final long serialVersionUID = 1L;
        }
        FaultPoints.handler((name, reached) -> {
            if (name.equals("tool.inside") && reached == tool) {
                throw new Killed();
            }
        });
        assertThat(catchThrowable(() -> agent().build().work("go"))).isInstanceOf(Killed.class);
        FaultPoints.handler(null);
        Crab.close();
        session = null;
    }

    @Test
    void park_betweenCalls_savesWhatTheProgramDid() {
        Crab.sandbox(SESSION).exec("echo by hand > log");
        assertThat(Crab.park(SESSION)).isTrue();
        assertThat(session().isParked()).isTrue();
        Crab.close(SESSION);
        assertThat(Crab.sandbox(SESSION).exec("cat log").out()).isEqualTo("by hand\n");
    }

    @Test
    void crabClosedWhileItWaits_stopsTheRun() {
        scripted();
        CompletableFuture<Throwable> run = CompletableFuture.supplyAsync(
                () -> catchThrowable(() -> agent().build().work("go")));
        eventually(() -> session != null && session().isParked());
        Crab.close();
        assertThat(run.join()).isInstanceOf(CrabError.class);
    }

    @Test
    void resume_unknownSession_isRefused() {
        Crab.close();
        Crab.configure(CrabOptions.builder()
                .set(CrabConfig.DATA, data.resolve("none").toString())
                .build());
        assertThat(catchThrowable(() -> Crab.resume("nobody")))
                .isInstanceOfSatisfying(
                        CrabException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ErrorCode.SESSION_UNKNOWN));
    }
}

package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.crab.overlap.TurnState;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.session.UncapturedPolicy;
import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.service.AiServices;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What meets a rollback on its way, with a session whose sandbox is a directory: {@link RollbackRunTest} has real ones. */
class GoingBackTest {
    private static final String SESSION = "ticket-42";

    @TempDir
    Path data;

    private final List<String> ran = Collections.synchronizedList(new ArrayList<>());
    private volatile @Nullable DirectorySession session;
    private volatile Optional<String> answer = Optional.empty();
    private volatile Supplier<UnknownEffectHandler.Decision> onAsk = UnknownEffectHandler.Decision.Retry::new;

    interface Agent {
        String work(String task);
    }

    /** Says what it was told to, in order, and keeps what it was asked. */
    private static final class Told implements ChatModel {
        private final Deque<Supplier<AiMessage>> answers = new ArrayDeque<>();
        private final List<List<ChatMessage>> asked = Collections.synchronizedList(new ArrayList<>());
        private int calls;

        Told calls(String tool, String argument, String value) {
            return calls(tool, "{\"" + argument + "\":\"" + value + "\"}");
        }

        private Told calls(String tool, String arguments) {
            AiMessage message = AiMessage.from(ToolExecutionRequest.builder()
                    .id("call-" + calls++)
                    .name(tool)
                    .arguments(arguments)
                    .build());
            answers.add(() -> message);
            return this;
        }

        Told goesBack(int turns, String why) {
            return calls("rollback", "{\"turns\":" + turns + ",\"why\":\"" + why + "\"}");
        }

        List<ChatMessage> last() {
            return asked.get(asked.size() - 1);
        }

        Told appends(String line) {
            return calls("append", "line", line);
        }

        /** Before it answers. */
        Told meanwhile(Runnable work) {
            answers.add(() -> {
                work.run();
                return answers.remove().get();
            });
            return this;
        }

        Told says(String text) {
            answers.add(() -> AiMessage.from(text));
            return this;
        }

        @Override
        public ChatResponse doChat(ChatRequest request) {
            asked.add(List.copyOf(request.messages()));
            return ChatResponse.builder().aiMessage(answers.remove().get()).build();
        }
    }

    final class Tools {
        @Tool("appends")
        String append(@P(name = "line", value = "the line") String line) {
            ran.add("append " + line);
            return Crab.sandbox(SESSION)
                    .exec("echo " + line + " >> log; cat log")
                    .out();
        }

        @Tool("appends, and cannot be committed")
        String appendUncommitted(@P(name = "line", value = "the line") String line) {
            session().nextCommitFails.set(CrabException.of(ErrorCode.CAPTURE_FAILED, "what", "why", "cure"));
            return append(line);
        }

        @Tool("asks, then appends")
        String askAndAppend(@P(name = "line", value = "the line") String line) {
            return Crab.await(() -> answer) + append(line);
        }

        @Tool("sends")
        @ExternalEffect(onUnknown = OnUnknown.ASK)
        String send(@P(name = "text", value = "the text") String text) {
            ran.add("send " + text);
            return "sent";
        }
    }

    @BeforeEach
    void configure() {
        configure(UncapturedPolicy.FAIL);
    }

    private void configure(UncapturedPolicy policy) {
        Crab.configure(CrabOptions.builder()
                .set(CrabConfig.ON_UNCAPTURED, policy.name())
                .set(CrabConfig.PARK_AFTER, "0")
                .onAsk((request, key) -> onAsk.get())
                .opener((id, spec) -> {
                    DirectorySession opened = DirectorySession.open(data, id);
                    session = opened;
                    return opened;
                })
                .build());
    }

    @AfterEach
    void close() {
        FaultPoints.handler(null);
        Crab.close();
    }

    private DirectorySession session() {
        return Objects.requireNonNull(session);
    }

    private static void eventually(Callable<Boolean> condition) {
        await().atMost(Duration.ofMinutes(2)).until(condition);
    }

    private Agent agent(Told model) {
        return agent(model, false);
    }

    private Agent agent(Told model, boolean withMemory) {
        Crab.sandbox(SESSION);
        AiServices<Agent> services =
                AiServices.builder(Agent.class).chatModel(model).tools(new Tools(), new RollbackTools(1, 5));
        return (withMemory ? services.chatMemory(MessageWindowChatMemory.withMaxMessages(100)) : services).build();
    }

    private static String log() {
        return Crab.sandbox(SESSION).exec("cat log 2>/dev/null | tr '\\n' ' '").out();
    }

    private static void refused(@Nullable Throwable thrown) {
        assertThat(thrown)
                .isInstanceOfSatisfying(
                        CrabError.class,
                        error -> assertThat(error.refusal().code()).isEqualTo(ErrorCode.STATE_INVALID));
    }

    private static boolean waitsForTheCommit(Thread thread) {
        return thread.getState() == Thread.State.WAITING
                && Arrays.stream(thread.getStackTrace())
                        .anyMatch(frame -> frame.getMethodName().equals("awaitCommit"));
    }

    /** The rollback and the tool wait for the same commit, and the rollback is first. */
    @Test
    void toolThatWaitsAtTheGate_doesNotRunBehindTheRollback() {
        CountDownLatch commit = new CountDownLatch(1);
        Thread caller = Thread.currentThread();
        CompletableFuture<Void> back = new CompletableFuture<>();
        Thread other = new Thread(() -> {
            Crab.rollback(SESSION, 0);
            back.complete(null);
        });
        Told model = new Told().appends("A").meanwhile(() -> {
            other.start();
            eventually(() -> waitsForTheCommit(other));
            Thread opener = new Thread(() -> {
                eventually(() -> waitsForTheCommit(caller));
                commit.countDown();
            });
            opener.start();
        });
        model.appends("B").says("done");
        Agent agent = agent(model);
        Crab.sandbox(SESSION).exec("true");
        session().duringCommit = () -> eventually(() -> commit.getCount() == 0);

        refused(catchThrowable(() -> agent.work("go")));

        back.join();
        assertThat(ran).containsExactly("append A");
        assertThat(log()).isEmpty();
    }

    @Test
    void toolThatWaited_doesNotGoOnBehindTheRollback() {
        Told model = new Told().appends("A").calls("askAndAppend", "line", "B").says("done");
        Agent agent = agent(model);
        CompletableFuture<Throwable> run = CompletableFuture.supplyAsync(() -> catchThrowable(() -> agent.work("go")));
        eventually(() -> session != null && session().isParked());

        Crab.rollback(SESSION, 0);
        answer = Optional.of("yes");
        Crab.resume(SESSION);

        refused(run.join());
        assertThat(ran).containsExactly("append A");
        assertThat(log()).isEmpty();
        assertThat(agent(new Told().appends("C").says("other")).work("go")).isEqualTo("other");
        assertThat(log()).isEqualTo("C ");
    }

    @Test
    void externalToolThatWasAskedAbout_doesNotRunBehindTheRollback() {
        Told model = new Told().appends("A").calls("send", "text", "x");
        FaultPoints.handler((name, reached) -> {
            if (name.equals("tool.inside") && reached == 2) {
                throw new Killed();
            }
        });
        assertThat(catchThrowable(() -> agent(model).work("go"))).isInstanceOf(Killed.class);
        FaultPoints.handler(null);
        Crab.close();
        configure();
        onAsk = () -> {
            assertThat(Crab.rollback(SESSION, 0).outside())
                    .extracting(effect -> effect.tool())
                    .containsExactly("send");
            return new UnknownEffectHandler.Decision.Retry();
        };

        refused(catchThrowable(() -> agent(new Told()).work("go")));

        assertThat(ran).containsExactly("append A", "send x");
        assertThat(log()).isEmpty();
    }

    @Test
    void nextCallOfADurableRun_findsTheMemoryOfThatTurn() {
        Told model =
                new Told().appends("A").says("one").appends("B").says("two").says("three");
        Agent agent = agent(model, true);
        try (CrabSession run = Crab.run(SESSION)) {
            assertThat(agent.work("first")).isEqualTo("one");
            assertThat(agent.work("second")).isEqualTo("two");

            Crab.rollback(SESSION, 1);

            assertThat(agent.work("third")).isEqualTo("three");
            assertThat(run.id()).isEqualTo(SESSION);
        }
        assertThat(model.asked.get(4))
                .hasSize(5)
                .noneMatch(message -> message.toString().contains("second"))
                .last()
                .asString()
                .contains("third");
    }

    private static void everyCallHasItsResult(List<ChatMessage> messages) {
        List<String> called = messages.stream()
                .filter(AiMessage.class::isInstance)
                .flatMap(message -> ((AiMessage) message).toolExecutionRequests().stream())
                .map(ToolExecutionRequest::id)
                .toList();
        assertThat(messages.stream()
                        .filter(ToolExecutionResultMessage.class::isInstance)
                        .map(message -> ((ToolExecutionResultMessage) message).id()))
                .containsExactlyElementsOf(called);
    }

    /** The turn that was committed to park the session ends in the middle of a response. */
    @Test
    void modelGoesBack_behindAToolThatWaited_undoesTheWholeResponse() {
        Told model = new Told()
                .appends("A")
                .calls("askAndAppend", "line", "B")
                .goesBack(1, "B broke it.")
                .says("done");
        Agent agent = agent(model);
        CompletableFuture<String> run = CompletableFuture.supplyAsync(() -> agent.work("go"));
        eventually(() -> session != null && session().isParked());
        answer = Optional.of("yes");
        Crab.resume(SESSION);

        assertThat(run.join()).isEqualTo("done");
        everyCallHasItsResult(model.last());
        assertThat(model.last()).hasSize(4).last().asString().contains("B broke it.");
        assertThat(log()).isEqualTo("A ");
    }

    @Test
    void modelGoesBack_behindATurnThatIsNoResponses_undoesTheResponse() {
        Told model = new Told()
                .appends("A")
                .meanwhile(() -> {
                    eventually(() -> Objects.requireNonNull(Crab.hub().known(SESSION))
                                    .open()
                                    .turns()
                                    .state()
                            == TurnState.QUIET);
                    assertThat(Crab.park(SESSION)).isTrue();
                    assertThat(Crab.turns(SESSION)).hasSize(2);
                })
                .goesBack(1, "A broke it.")
                .says("done");

        assertThat(agent(model).work("go")).isEqualTo("done");

        assertThat(model.last()).hasSize(2).last().asString().contains("A broke it.");
        assertThat(log()).isEmpty();
    }

    @Test
    void modelGoesBack_behindATurnOfAnotherCall_isRefused() {
        Told model = new Told()
                .appends("A")
                .meanwhile(() -> assertThat(CompletableFuture.supplyAsync(() ->
                                        agent(new Told().appends("B").says("b")).work("other"))
                                .join())
                        .isEqualTo("b"))
                .goesBack(1, "A broke it.")
                .says("done");

        assertThat(agent(model).work("go")).isEqualTo("done");

        assertThat(model.last()).last().asString().contains("Not possible: other work");
        assertThat(log()).isEqualTo("A B ");
    }

    /** Its next response would be refused. */
    @Test
    void modelGoesBack_whileAnotherCallIsUnderWay_isRefused() {
        CountDownLatch other = new CountDownLatch(1);
        CountDownLatch asked = new CountDownLatch(1);
        Told waits = new Told()
                .meanwhile(() -> {
                    asked.countDown();
                    eventually(() -> other.getCount() == 0);
                })
                .says("b");
        CompletableFuture<String> run = new CompletableFuture<>();
        Told model = new Told()
                .appends("A")
                .meanwhile(() -> {
                    new Thread(() -> run.complete(agent(waits).work("other"))).start();
                    eventually(() -> asked.getCount() == 0);
                })
                .goesBack(1, "A broke it.")
                .says("done");

        assertThat(agent(model).work("go")).isEqualTo("done");
        other.countDown();

        assertThat(model.last()).last().asString().contains("Not possible: other work");
        assertThat(run.join()).isEqualTo("b");
        assertThat(log()).isEqualTo("A ");
    }

    /** Two responses in one turn: what is undone with the second begins at the first, and that is what is counted. */
    @Test
    void modelGoesBack_twoResponsesInOneTurn_isStoppedWhenItGoesInCircles() {
        Crab.close();
        configure(UncapturedPolicy.CONTINUE_UNPROTECTED);
        Told model = new Told()
                .appends("A")
                .calls("appendUncommitted", "line", "B")
                .appends("C")
                .goesBack(1, "C broke it.")
                .calls("appendUncommitted", "line", "D")
                .appends("E")
                .goesBack(1, "E broke it.")
                .says("I cannot");

        assertThat(agent(model).work("go")).isEqualTo("I cannot");

        assertThat(model.last()).last().asString().contains("Not possible: you have gone back often enough");
        assertThat(log()).isEqualTo("A D E ");
    }

    private static final class Killed extends Error {
        private static final long serialVersionUID = 1L;
    }

    private static void killAt(String point, int time) {
        FaultPoints.handler((name, reached) -> {
            if (name.equals(point) && reached == time) {
                throw new Killed();
            }
        });
    }

    /** As by another program. */
    private void startAgain() {
        FaultPoints.handler(null);
        Crab.close();
        configure();
    }

    @Test
    void programThatIsStartedAgain_tellsOfTheRollbackBeforeIt_untilTheResultThatSaysSoIsCommitted() {
        Told model = new Told().appends("A").calls("send", "text", "x").says("done");
        assertThat(agent(model).work("go")).isEqualTo("done");
        Crab.rollback(SESSION, 1, "x was wrong");
        startAgain();
        killAt("tool.after", 1);
        assertThat(catchThrowable(() -> agent(new Told().appends("B")).work("go")))
                .isInstanceOf(Killed.class);
        startAgain();

        Told last = new Told().appends("C").says("other");
        assertThat(agent(last).work("go")).isEqualTo("other");

        assertThat(ran).containsExactly("append A", "send x", "append B", "append B", "append C");
        assertThat(last.asked.get(0))
                .last()
                .asString()
                .contains("went back to turn 1", "Why: x was wrong.", "not undone: send");
        assertThat(last.asked.get(1)).last().asString().doesNotContain("went back");
        assertThat(log()).isEqualTo("A B C ");
    }

    @Test
    void modelGoesBack_andTheProgramDies_theNoteIsThereWithTheRollback() {
        Told model = new Told().appends("A").calls("send", "text", "x").goesBack(1, "x broke it.");
        killAt("rollback.recorded", 1);
        assertThat(catchThrowable(() -> agent(model).work("go"))).isInstanceOf(Killed.class);
        startAgain();

        Told next = new Told().appends("B").says("done");
        assertThat(agent(next).work("go")).isEqualTo("done");

        assertThat(next.asked.get(0))
                .hasSize(4)
                .last()
                .asString()
                .contains("You went back", "x broke it.", "not undone: send");
        assertThat(next.asked.get(1)).last().asString().doesNotContain("went back");
        assertThat(ran).containsExactly("append A", "send x", "append B");
        assertThat(log()).isEqualTo("A B ");
    }

    /** The whole call is void then, and goes on all the same. */
    @Test
    void modelGoesBackToTheBeginning_andTheProgramDies_theNoteIsThereWithTheRollback() {
        Told model = new Told().appends("A").goesBack(1, "A broke it.");
        killAt("rollback.recorded", 1);
        assertThat(catchThrowable(() -> agent(model).work("go"))).isInstanceOf(Killed.class);
        startAgain();

        Told next = new Told().goesBack(1, "nothing").says("done");
        assertThat(agent(next).work("go")).isEqualTo("done");

        assertThat(next.asked.get(0)).hasSize(2).last().asString().contains("You went back", "A broke it.");
        assertThat(next.last()).last().asString().contains("Not possible");
        assertThat(log()).isEmpty();
    }

    @Test
    void modelWantedToGoBack_andTheProgramDiedBefore_goesBackOnceMore() {
        Told model = new Told().appends("A").goesBack(1, "A broke it.");
        killAt("rollback.before", 1);
        assertThat(catchThrowable(() -> agent(model).work("go"))).isInstanceOf(Killed.class);
        startAgain();

        Told next = new Told().says("done");
        assertThat(agent(next).work("go")).isEqualTo("done");

        assertThat(next.last()).hasSize(2).last().asString().containsOnlyOnce("You went back");
        assertThat(log()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void modelWentBackToTheBeginning_theNextProgramSaysTheSame(boolean withMemory) {
        Told model = new Told()
                .appends("A")
                .goesBack(1, "A broke it.")
                .appends("B")
                .meanwhile(() -> {
                    throw new Killed();
                });
        assertThat(catchThrowable(() -> agent(model, withMemory).work("go"))).isInstanceOf(Killed.class);
        assertThat(model.last()).hasSize(4);
        startAgain();

        Told next = new Told().goesBack(1, "B broke it.").says("done");
        assertThat(agent(next, withMemory).work("go")).isEqualTo("done");

        assertThat(next.asked.get(0)).isEqualTo(model.last());
        assertThat(next.last()).last().asString().contains("gone back often enough");
        assertThat(log()).isEqualTo("B ");
    }
}

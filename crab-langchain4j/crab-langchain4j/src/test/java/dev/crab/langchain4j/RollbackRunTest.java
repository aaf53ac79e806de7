package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.overlap.RolledBack;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.Journal;
import dev.crab.runtime.store.JournalRecord;
import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.service.AiServices;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Chat goes back with the sandbox, in the running program; and branches go on by themselves. Real sandboxes. */
class RollbackRunTest {
    private static final String SESSION = "back";

    private final Path data = RealSandbox.newData();
    private final List<String> ran = Collections.synchronizedList(new ArrayList<>());

    interface Agent {
        String work(String task);
    }

    /** Says what it was told to, in order, and keeps what it was asked. */
    private static final class Told implements ChatModel {
        private final Deque<AiMessage> answers = new ArrayDeque<>();
        private final List<List<String>> asked = new ArrayList<>();
        private int calls;

        Told appends(String line) {
            return calls("append", "line", line);
        }

        Told calls(String tool, String argument, String value) {
            answers.add(AiMessage.from(ToolExecutionRequest.builder()
                    .id("call-" + calls++)
                    .name(tool)
                    .arguments("{\"" + argument + "\":\"" + value + "\"}")
                    .build()));
            return this;
        }

        Told goesBack(int turns, String why) {
            answers.add(AiMessage.from(ToolExecutionRequest.builder()
                    .id("call-" + calls++)
                    .name("rollback")
                    .arguments("{\"turns\":" + turns + ",\"why\":\"" + why + "\"}")
                    .build()));
            return this;
        }

        Told dies() {
            answers.add(AiMessage.from("dies"));
            return this;
        }

        Told says(String text) {
            answers.add(AiMessage.from(text));
            return this;
        }

        @Override
        public ChatResponse doChat(ChatRequest request) {
            asked.add(request.messages().stream().map(Told::shown).toList());
            AiMessage answer = answers.remove();
            if ("dies".equals(answer.text())) {
                throw new IllegalStateException("the model does not answer");
            }
            return ChatResponse.builder().aiMessage(answer).build();
        }

        static String shown(ChatMessage message) {
            if (message instanceof UserMessage user) {
                return "user: " + user.singleText();
            }
            if (message instanceof ToolExecutionResultMessage result) {
                return "result: " + result.text();
            }
            AiMessage said = (AiMessage) message;
            return said.hasToolExecutionRequests()
                    ? "call: " + said.toolExecutionRequests().get(0).arguments()
                    : "said: " + said.text();
        }
    }

    /** What the agent can do. */
    final class Tools {
        private final Sandbox sandbox;

        Tools(Sandbox sandbox) {
            this.sandbox = sandbox;
        }

        @Tool("appends")
        String append(@P(name = "line", value = "the line") String line) {
            ran.add("append " + line);
            return sandbox.exec("echo " + line + " >> /srv/log; tr '\\n' ' ' < /srv/log")
                    .out()
                    .strip();
        }

        @Tool("sends")
        @ExternalEffect(onUnknown = OnUnknown.FAIL)
        String mail(@P(name = "text", value = "the text") String text) {
            ran.add("mail " + text);
            return "sent";
        }

        @Tool("goes back while a tool runs")
        String back(@P(name = "turn", value = "the turn") String turn) {
            Crab.rollback(SESSION, Long.parseLong(turn));
            return "never";
        }
    }

    @BeforeEach
    void configure() {
        Crab.configure(CrabOptions.builder()
                .set("crab.data", data.toString())
                .set("crab.keep-generations", "100")
                .sandbox(RealSandbox.spec())
                .build());
    }

    @AfterEach
    void remove() {
        FaultPoints.handler(null);
        Crab.close();
        RealSandbox.remove(data);
    }

    private Agent agent(String session, Told model, @Nullable ChatMemory memory) {
        AiServices<Agent> services = AiServices.builder(Agent.class)
                .chatModel(model)
                .tools(new Tools(Crab.sandbox(session)), new RollbackTools(2, 5));
        return (memory == null ? services : services.chatMemory(memory)).build();
    }

    private static ChatMemory memory() {
        return MessageWindowChatMemory.withMaxMessages(100);
    }

    private static String log(String session) {
        return Objects.requireNonNull(Crab.hub().known(session))
                .open()
                .session()
                .sandbox()
                .exec("tr '\\n' ' ' < /srv/log")
                .out()
                .strip();
    }

    @Test
    void nextCallSeesTheMemoryOfThatTurn_andAnUnansweredOneGoesOnFromThere() {
        Told model = new Told()
                .appends("A")
                .appends("B")
                .calls("mail", "text", "hello")
                .says("done")
                .appends("C")
                .says("done more");
        ChatMemory memory = memory();
        Agent agent = agent(SESSION, model, memory);
        assertThat(agent.work("go")).isEqualTo("done");
        assertThat(agent.work("more")).isEqualTo("done more");
        assertThat(log(SESSION)).isEqualTo("A B C");

        // To where the first call had its answer, before the second.
        assertThat(Crab.rollback(SESSION, 3).outside()).isEmpty();
        model.says("third");
        assertThat(agent.work("again")).isEqualTo("third");
        assertThat(log(SESSION)).isEqualTo("A B");
        assertThat(model.asked.get(model.asked.size() - 1))
                .containsExactly(
                        "user: go",
                        "call: {\"line\":\"A\"}",
                        "result: A",
                        "call: {\"line\":\"B\"}",
                        "result: A B",
                        "call: {\"text\":\"hello\"}",
                        "result: sent",
                        "said: done",
                        "user: again");

        // Into the middle of the first call.
        RolledBack back = Crab.rollback(SESSION, 1, "B was wrong");
        assertThat(back.outside()).extracting(effect -> effect.tool()).containsExactly("mail");
        int asked = model.asked.size();
        model.appends("X").says("other end");
        assertThat(agent.work("go")).isEqualTo("other end");
        assertThat(log(SESSION)).isEqualTo("A X");
        assertThat(model.asked.get(asked)).containsExactly("user: go", "call: {\"line\":\"A\"}", "result: A");
        assertThat(model.asked.get(asked + 1))
                .last()
                .asString()
                .startsWith("result: A X")
                .contains("went back to turn 1")
                .contains("B was wrong")
                .contains("not undone: mail");
        assertThat(memory.messages()).hasSize(6);
        assertThat(ran)
                .as("nothing runs twice")
                .containsExactly("append A", "append B", "mail hello", "append C", "append X");
    }

    @Test
    void rolledBackAndEnded_theSameProgramStartedAgainGoesOnFromThere() {
        Told model = new Told().appends("A").appends("B").says("done");
        agent(SESSION, model, memory()).work("go");
        Crab.rollback(SESSION, 1);
        Crab.close();
        configure();

        Told next = new Told().appends("C").says("other");
        assertThat(agent(SESSION, next, memory()).work("go")).isEqualTo("other");
        assertThat(log(SESSION)).isEqualTo("A C");
        assertThat(next.asked.get(0)).containsExactly("user: go", "call: {\"line\":\"A\"}", "result: A");
        assertThat(ran).containsExactly("append A", "append B", "append C");
    }

    @Test
    void branches_eachGoOnByThemselves_fromTheMiddleOfACall() throws Exception {
        Told model = new Told().appends("A").appends("B").says("done");
        agent(SESSION, model, memory()).work("go");
        ran.clear();

        List<String> branches = Crab.branch(SESSION, 1, 3);

        assertThat(branches).containsExactly("back-b1", "back-b2", "back-b3");
        List<Thread> threads = new ArrayList<>();
        List<String> ends = Collections.synchronizedList(new ArrayList<>());
        for (String branch : branches) {
            threads.add(new Thread(() -> {
                Told own = new Told().appends(branch).says("end of " + branch);
                Agent agent = agent(branch, own, memory());
                try (CrabSession scope = Crab.session(branch)) {
                    assertThat(scope.id()).isEqualTo(branch);
                    ends.add(agent.work("go"));
                }
                ends.add(own.asked.get(0).toString());
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(ends)
                .contains("end of back-b1", "end of back-b2", "end of back-b3")
                .filteredOn(end -> end.startsWith("["))
                .hasSize(3)
                .containsOnly("[user: go, call: {\"line\":\"A\"}, result: A]");
        for (String branch : branches) {
            assertThat(log(branch)).isEqualTo("A " + branch);
        }
        assertThat(log(SESSION)).isEqualTo("A B");
        assertThat(ran).hasSize(3);
    }

    private static List<String> last(Told model) {
        return model.asked.get(model.asked.size() - 1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void modelGoesBackByItself_andRemembersWhy_inAProgramThatIsStartedAgainToo(boolean withMemory) {
        Told model = new Told()
                .appends("A")
                .appends("B")
                .calls("mail", "text", "hello")
                .goesBack(2, "B broke it.")
                .appends("C")
                .dies();
        ChatMemory memory = withMemory ? memory() : null;
        assertThatThrownBy(() -> agent(SESSION, model, memory).work("go")).hasMessageContaining("does not answer");

        assertThat(log(SESSION)).isEqualTo("A C");
        List<String> afterwards = last(model);
        assertThat(afterwards).hasSize(6).startsWith("user: go", "call: {\"line\":\"A\"}", "result: A");
        assertThat(afterwards.get(3)).startsWith("user: [You went back").contains("B broke it.", "not undone: mail");
        assertThat(afterwards.subList(4, 6)).containsExactly("call: {\"line\":\"C\"}", "result: A C");

        Crab.close();
        configure();
        Told next = new Told().appends("D").says("done");
        assertThat(agent(SESSION, next, withMemory ? memory() : null).work("go"))
                .isEqualTo("done");
        assertThat(next.asked.get(0)).isEqualTo(afterwards);
        assertThat(log(SESSION)).isEqualTo("A C D");
        assertThat(ran).containsExactly("append A", "append B", "mail hello", "append C", "append D");
    }

    @Test
    void modelGoesBack_andTheProgramDiesWhenThatIsRecorded_theNoteIsThereAllTheSame() {
        Told model = new Told().appends("A").calls("mail", "text", "hello").goesBack(1, "It was wrong.");
        FaultPoints.handler((name, reached) -> {
            if (name.equals("rollback.recorded")) {
                throw new AssertionError("killed");
            }
        });
        assertThatThrownBy(() -> agent(SESSION, model, memory()).work("go")).hasMessage("killed");
        FaultPoints.handler(null);
        Crab.close();
        configure();

        Told next = new Told().appends("C").says("done");
        assertThat(agent(SESSION, next, memory()).work("go")).isEqualTo("done");

        assertThat(next.asked.get(0))
                .hasSize(4)
                .last()
                .asString()
                .startsWith("user: [You went back")
                .contains("It was wrong.", "not undone: mail");
        assertThat(log(SESSION)).isEqualTo("A C");
        assertThat(ran).containsExactly("append A", "mail hello", "append C");
    }

    @Test
    void modelGoesBackToTheBeginning_andIsStoppedWhenItGoesInCircles() {
        Told model = new Told()
                .goesBack(1, "nothing yet")
                .appends("A")
                .goesBack(2, "A failed.")
                .appends("B")
                .goesBack(1, "B failed.")
                .appends("C")
                .goesBack(1, "C failed.")
                .says("I cannot");
        ChatMemory memory = memory();
        assertThat(agent(SESSION, model, memory).work("go")).isEqualTo("I cannot");
        assertThat(model.asked.get(1)).last().asString().contains("Not possible: you have done nothing yet");
        // The first point: after the refusal, whose turn stands before A.
        assertThat(last(model)).last().asString().contains("Not possible: you have gone back often enough");
        assertThat(last(model))
                .anyMatch(text -> text.contains("A failed."))
                .anyMatch(text -> text.contains("B failed."));
        assertThat(log(SESSION)).isEqualTo("C");
        assertThat(memory.messages()).hasSizeGreaterThan(4);
    }

    @Test
    void whileAToolRuns_isRefused_andTheCallFails() {
        Told model = new Told().appends("A").calls("back", "turn", "1");
        Agent agent = agent(SESSION, model, memory());
        assertThatThrownBy(() -> agent.work("go"))
                .isInstanceOfSatisfying(
                        CrabError.class,
                        e -> assertThat(Objects.requireNonNull((CrabException) e.getCause())
                                        .code())
                                .isEqualTo(ErrorCode.STATE_INVALID));
        model.says("went on");
        assertThatThrownBy(() -> Crab.rollback(SESSION, 7))
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TURN_UNKNOWN));
    }

    /** A session whose journal takes nothing more. */
    private static SandboxSession full(SandboxSession session) {
        Journal journal = new Journal() {
            @Override
            public List<JournalRecord> recovered() {
                return session.journal().recovered();
            }

            @Override
            public JournalRecord append(String kind, ObjectNode body) {
                throw CrabException.of(ErrorCode.DISK_FULL, "no record", "test", "none");
            }

            @Override
            public JournalRecord write(String kind, ObjectNode body) {
                return append(kind, body);
            }
        };
        return (SandboxSession) Proxy.newProxyInstance(
                SandboxSession.class.getClassLoader(),
                new Class<?>[] {SandboxSession.class},
                (self, method, arguments) ->
                        method.getName().equals("journal") ? journal : method.invoke(session, arguments));
    }

    @Test
    void branches_ofWhichOneCannotBeOpened_areNone() {
        agent(SESSION, new Told().appends("A").says("done"), memory()).work("go");
        SessionEntry entry = Objects.requireNonNull(Crab.hub().known(SESSION));
        List<SandboxSession> made = new ArrayList<>();

        assertThatThrownBy(() -> Crab.hub().branch(entry, session -> {
                    made.addAll(session.branch(1, 3));
                    return List.of(made.get(0), full(made.get(1)), made.get(2));
                }))
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DISK_FULL));

        assertThat(made).hasSize(3).allSatisfy(branch -> {
            assertThat(Crab.hub().known(branch.id())).isNull();
            assertThat(new DataDirectory(data).session(branch.id())).doesNotExist();
            assertThatThrownBy(() -> branch.sandbox().exec("true")).isInstanceOf(CrabException.class);
        });
        assertThat(Crab.branch(SESSION, 1, 3)).containsExactly("back-b1", "back-b2", "back-b3");
        assertThat(log("back-b2")).isEqualTo("A");
    }
}

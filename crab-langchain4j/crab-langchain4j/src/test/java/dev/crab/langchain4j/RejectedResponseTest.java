package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.service.AiServices;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the model answers is recorded; if nothing can be done with it, the same call must not find it again for ever. */
class RejectedResponseTest {
    private static final String SESSION = "ticket-42";

    @TempDir
    Path data;

    private final ScriptedModel script = new ScriptedModel();
    private final List<String> ran = Collections.synchronizedList(new ArrayList<>());

    interface Agent {
        String work(String task);

        int count(String what);
    }

    interface Work {
        Object done(Agent by);
    }

    final class Tools {
        @Tool("appends")
        String append(@P(name = "line", value = "the line") String line) {
            ran.add("append " + line);
            return Crab.sandbox(SESSION)
                    .exec("echo " + line + " >> log; cat log")
                    .out();
        }

        @Tool("takes a number")
        int square(@P(name = "number", value = "the number") int number) {
            ran.add("square " + number);
            return number * number;
        }

        @Tool("sends")
        @ExternalEffect(onUnknown = OnUnknown.FAIL)
        String send(@P(name = "text", value = "the text") String text) {
            ran.add("send " + text);
            return "sent";
        }

        @Tool("fails")
        String fail(@P(name = "why", value = "why") String why) {
            ran.add("fail " + why);
            throw new IllegalStateException(why);
        }
    }

    @BeforeEach
    void configure() {
        Crab.configure(CrabOptions.builder()
                .opener((id, spec) -> DirectorySession.open(data, id))
                .build());
    }

    @AfterEach
    void close() {
        Crab.close();
        script.close();
    }

    private Agent agent() {
        Crab.sandbox(SESSION);
        return AiServices.builder(Agent.class)
                .chatModel(OpenAiChatModel.builder()
                        .baseUrl(script.baseUrl())
                        .apiKey("none")
                        .modelName("scripted")
                        .maxRetries(0)
                        .build())
                .chatMemory(MessageWindowChatMemory.withMaxMessages(50))
                .tools(new Tools())
                .toolExecutionErrorHandler((error, context) -> {
                    throw new IllegalStateException(error);
                })
                .build();
    }

    private static ScriptedModel.Call call(String id, String tool, String argument, String value) {
        return new ScriptedModel.Call(id, tool, argument, value);
    }

    private static Throwable failed(Runnable work) {
        Throwable thrown = catchThrowable(work::run);
        assertThat(thrown).isInstanceOf(RuntimeException.class);
        return thrown;
    }

    private int asked() {
        return script.server().getAllServeEvents().size();
    }

    /** The same call comes to its end once the model answers better, in this program or the next. */
    private void endsOnceTheModelAnswersBetter(Work work, Runnable bad, Runnable good, Object answer) {
        for (boolean again : new boolean[] {false, true}) {
            script.server().resetAll();
            bad.run();
            failed(() -> work.done(agent()));
            int before = asked();
            failed(() -> work.done(agent()));
            assertThat(asked()).as("the model is asked again").isGreaterThan(before);
            if (again) {
                Crab.close();
                configure();
            }
            script.server().resetAll();
            good.run();
            assertThat(work.done(agent())).isEqualTo(answer);
        }
    }

    @Test
    void toolThatDoesNotExist() {
        endsOnceTheModelAnswersBetter(
                agent -> agent.work("go"),
                () -> script.calls(null, call("c1", "nosuch", "x", "y")),
                () -> script.says(null, "done"),
                "done");
    }

    @Test
    void toolThatDoesNotExist_afterOtherTurns_whichStand() {
        script.calls(null, call("c1", "append", "line", "A")).calls("c1", call("c2", "nosuch", "x", "y"));
        failed(() -> agent().work("go"));
        script.server().resetAll();
        script.says("c1", "done");
        assertThat(agent().work("go")).isEqualTo("done");
        assertThat(ran).containsExactly("append A");
    }

    @Test
    void argumentsThatAreNone() {
        endsOnceTheModelAnswersBetter(
                agent -> agent.work("go"),
                () -> script.calls(null, call("c1", "square", "number", "seven")),
                () -> script.calls(null, call("c2", "square", "number", "7")).says("c2", "49"),
                "49");
        assertThat(ran).doesNotContain("square seven");
    }

    @Test
    void answerThatCannotBeParsed() {
        endsOnceTheModelAnswersBetter(
                agent -> agent.count("sheep"), () -> script.says(null, "many"), () -> script.says(null, "7"), 7);
    }

    @Test
    void otherToolsOfTheResponse_areUndoneInTheSandbox() {
        script.calls(null, call("c1", "append", "line", "A"))
                .calls("c1", call("c2", "append", "line", "B"), call("c3", "nosuch", "x", "y"));
        failed(() -> agent().work("go"));
        script.server().resetAll();
        script.calls("c1", call("c4", "append", "line", "C")).says("c4", "done");

        assertThat(agent().work("go")).isEqualTo("done");

        assertThat(Crab.sandbox(SESSION).exec("cat log").out()).isEqualTo("A\nC\n");
    }

    @Test
    void responseWithAnEffectOutside_isServedAgain_andTheEffectNotMadeTwice() {
        script.calls(null, call("c1", "send", "text", "x"), call("c2", "nosuch", "x", "y"));
        failed(() -> agent().work("go"));
        int before = asked();

        failed(() -> agent().work("go"));

        assertThat(asked()).isEqualTo(before);
        assertThat(ran).containsExactly("send x");
    }

    @Test
    void toolThatFailsByItself_isRunAgainOnTheSameResponse() {
        script.calls(null, call("c1", "fail", "why", "x"));
        failed(() -> agent().work("go"));
        int before = asked();

        failed(() -> agent().work("go"));

        assertThat(asked()).isEqualTo(before);
        assertThat(ran).containsExactly("fail x", "fail x");
    }
}

package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.crab.runtime.error.ErrorCode;
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
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.store.memory.chat.InMemoryChatMemoryStore;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two AI services of one interface, without memory ids, each with a memory of its own, in one session. */
class SharedMemoriesTest {
    private static final String SESSION = "ticket-42";

    @TempDir
    Path data;

    private final ScriptedModel script = new ScriptedModel();
    private ChatMemory plans = MessageWindowChatMemory.withMaxMessages(50);
    private ChatMemory code = MessageWindowChatMemory.withMaxMessages(50);

    interface Agent {
        String work(String task);
    }

    static final class Tools {
        @Tool("appends")
        String append(@P(name = "line", value = "the line") String line) {
            return Crab.sandbox(SESSION)
                    .exec("echo " + line + " >> log; cat log")
                    .out();
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

    private Agent agent(ChatMemory memory) {
        Crab.sandbox(SESSION);
        ChatModel model = OpenAiChatModel.builder()
                .baseUrl(script.baseUrl())
                .apiKey("none")
                .modelName("scripted")
                .maxRetries(0)
                .build();
        return AiServices.builder(Agent.class)
                .chatModel(model)
                .chatMemory(memory)
                .tools(new Tools())
                .build();
    }

    private static List<String> kinds(ChatMemory memory) {
        return memory.messages().stream()
                .map(message -> message.type().toString())
                .toList();
    }

    private static void knowsNothingOf(String task, ChatMemory memory) {
        assertThat(memory.messages()).extracting(ChatMessage::toString).noneMatch(message -> message.contains(task));
    }

    /** The second call of the one stops behind its tool, since the model has no answer for it. */
    private void interruptPlanning() {
        script.says(null, "done");
        agent(plans).work("plan");
        agent(code).work("code");
        script.server().resetAll();
        script.calls(null, new ScriptedModel.Call("c1", "append", "line", "A"));
        script.server()
                .stubFor(com.github.tomakehurst.wiremock.client.WireMock.post("/v1/chat/completions")
                        .atPriority(1)
                        .withRequestBody(com.github.tomakehurst.wiremock.client.WireMock.matchingJsonPath(
                                "$.messages[?(@.tool_call_id == 'c1')]"))
                        .willReturn(com.github.tomakehurst.wiremock.client.WireMock.serverError()));
        assertThat(catchThrowable(() -> agent(plans).work("plan more"))).isNotNull();
        script.server().resetAll();
        script.says(null, "done");
    }

    @Test
    void oneIsInterrupted_theOtherOnesMemoryIsLeftAlone() {
        interruptPlanning();

        agent(code).work("code more");

        assertThat(kinds(code)).containsExactly("USER", "AI", "USER", "AI");
        knowsNothingOf("plan", code);
    }

    @Test
    void oneIsInterrupted_andTheProgramStartsAgain_theOtherOnesMemoryIsLeftAlone() {
        interruptPlanning();
        Crab.close();
        configure();
        code = MessageWindowChatMemory.withMaxMessages(50);

        agent(code).work("code more");

        assertThat(kinds(code)).containsExactly("USER", "AI");
    }

    @Test
    void memoryThatIsLeftAlone_losesATurnThatHasNotAllItsResults() {
        AiMessage asks = AiMessage.from(
                ToolExecutionRequest.builder()
                        .id("1")
                        .name("one")
                        .arguments("{}")
                        .build(),
                ToolExecutionRequest.builder()
                        .id("2")
                        .name("two")
                        .arguments("{}")
                        .build());
        plans.add(UserMessage.from("go"));
        plans.add(asks);
        plans.add(ToolExecutionResultMessage.from("1", "one", "done"));
        MemoryRepair.cut(plans);
        assertThat(kinds(plans)).containsExactly("USER");

        plans.add(asks);
        plans.add(ToolExecutionResultMessage.from("1", "one", "done"));
        plans.add(ToolExecutionResultMessage.from("2", "two", "done"));
        MemoryRepair.cut(plans);
        assertThat(kinds(plans)).containsExactly("USER", "AI", "TOOL_EXECUTION_RESULT", "TOOL_EXECUTION_RESULT");

        MemoryRepair.cut(code);
        assertThat(kinds(code)).isEmpty();
    }

    @Test
    void interruptedCallMadeAgain_goesOn_asOfAProgramThatStartsAgain() {
        interruptPlanning();
        Crab.close();
        configure();
        script.server().resetAll();
        script.says("c1", "planned");
        plans = MessageWindowChatMemory.withMaxMessages(50);

        assertThat(agent(plans).work("plan more")).isEqualTo("planned");

        assertThat(kinds(plans)).containsExactly("USER", "AI", "USER", "AI", "TOOL_EXECUTION_RESULT", "AI");
        assertThat(Crab.sandbox(SESSION).exec("cat log").out()).isEqualTo("A\n");
    }

    @Test
    void rollback_thatWouldHaveToGuess_isRefusedAtTheNextCall() {
        script.says(null, "done");
        script.calls(null, new ScriptedModel.Call("c0", "append", "line", "0"));
        script.says("c0", "done");
        agent(plans).work("plan");
        agent(code).work("code");
        agent(plans).work("plan more");
        Crab.rollback(SESSION, 1);

        assertThat(catchThrowable(() -> agent(code).work("code more")))
                .isInstanceOfSatisfying(
                        CrabError.class,
                        error -> assertThat(error.refusal().code()).isEqualTo(ErrorCode.STATE_INVALID));
    }

    /** A program that builds its service for each request, over stored messages, has one memory. */
    @Test
    void serviceBuiltAnewOnTheSameMessages_isNoOther() {
        FileChatMemoryStore store = new FileChatMemoryStore(data);
        script.calls(null, new ScriptedModel.Call("c1", "append", "line", "A")).says("c1", "done");
        agent(stored(store)).work("one");
        script.calls("c1", new ScriptedModel.Call("c2", "append", "line", "B")).says("c2", "done");
        agent(stored(store)).work("two");
        Crab.rollback(SESSION, 1);

        agent(stored(store)).work("three");

        knowsNothingOf("two", stored(store));
    }

    /** A memory whose messages cannot be read while the flag is set. */
    private static ChatMemory failing(AtomicBoolean fails) {
        return MessageWindowChatMemory.builder()
                .maxMessages(50)
                .chatMemoryStore(new InMemoryChatMemoryStore() {
                    @Override
                    public List<ChatMessage> getMessages(Object memoryId) {
                        if (fails.get()) {
                            throw new IllegalStateException("the store is closed");
                        }
                        return super.getMessages(memoryId);
                    }
                })
                .build();
    }

    @Test
    void memoryUsedBefore_thatCannotBeReadAnyMore_leavesTheNextCallProtected() {
        AtomicBoolean fails = new AtomicBoolean();
        plans = failing(fails);
        script.says(null, "done");
        agent(plans).work("plan");
        fails.set(true);
        script.calls(null, new ScriptedModel.Call("c1", "append", "line", "A")).says("c1", "done");

        agent(code).work("code");

        assertThat(Crab.sandbox(SESSION).exec("cat log").out()).isEqualTo("A\n");
    }

    @Test
    void memoryThatCannotBeRead_endsTheCall_whichIsNotLeftUnprotected() {
        AtomicBoolean fails = new AtomicBoolean(true);
        assertThat(catchThrowable(() -> agent(failing(fails)).work("plan"))).isInstanceOf(CrabError.class);
    }

    private static ChatMemory stored(FileChatMemoryStore store) {
        return MessageWindowChatMemory.builder()
                .maxMessages(50)
                .chatMemoryStore(store)
                .build();
    }
}

package dev.crab.samples.search;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.TokenUsage;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * A model that does what a list says: the command of the n-th entry when it is asked with n results, and its answer after the last. Counts the tokens
 * that a real one would be paid for, a token for each four characters, and takes some time for each of its answers.
 */
final class ScriptedCoder implements ChatModel {
    private final List<String> commands;
    private final AtomicLong tokens;
    private final long thinkNanos;
    private volatile List<String> lastResults = List.of();

    ScriptedCoder(List<String> commands, AtomicLong tokens, long thinkNanos) {
        this.commands = List.copyOf(commands);
        this.tokens = tokens;
        this.thinkNanos = thinkNanos;
    }

    /** The results that it has seen, in their order. */
    List<String> results() {
        return lastResults;
    }

    @Override
    public ChatResponse doChat(ChatRequest request) {
        List<String> results = new ArrayList<>();
        int characters = 0;
        for (ChatMessage message : request.messages()) {
            characters += message.toString().length();
            if (message instanceof ToolExecutionResultMessage result) {
                results.add(result.text());
            }
        }
        int done = results.size();
        lastResults = results;
        LockSupport.parkNanos(thinkNanos);
        AiMessage answer = done < commands.size() ? call(done) : AiMessage.from("I have done what I could.");
        TokenUsage usage = new TokenUsage(characters / 4, answer.toString().length() / 4);
        tokens.addAndGet(usage.totalTokenCount());
        return ChatResponse.builder().aiMessage(answer).tokenUsage(usage).build();
    }

    private AiMessage call(int number) {
        String argument = commands.get(number).replace("\\", "\\\\").replace("\"", "\\\"");
        return AiMessage.from(ToolExecutionRequest.builder()
                .id("call-" + number)
                .name("bash")
                .arguments("{\"command\":\"" + argument + "\"}")
                .build());
    }
}

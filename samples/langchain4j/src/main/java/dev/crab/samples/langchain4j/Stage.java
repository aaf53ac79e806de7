package dev.crab.samples.langchain4j;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.langchain4j.Crab;
import dev.crab.samples.common.FileChatMemoryStore;
import dev.langchain4j.http.client.jdk.JdkHttpClientBuilder;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.service.Result;
import dev.langchain4j.service.TokenStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * What a row's program finds in its JVM.
 *
 * @param baseUrl of the model
 * @param work a directory that outlives the JVM
 * @param session the first session's name
 */
record Stage(String baseUrl, Path work, String session) {
    /** Name of the n-th session, from 1. */
    String session(int number) {
        return number == 1 ? session : session + "-" + number;
    }

    ChatModel model() {
        return OpenAiChatModel.builder()
                .baseUrl(baseUrl)
                .apiKey("none")
                .modelName("scripted")
                .httpClientBuilder(new JdkHttpClientBuilder())
                .maxRetries(0)
                .build();
    }

    StreamingChatModel streamingModel() {
        return OpenAiStreamingChatModel.builder()
                .baseUrl(baseUrl)
                .apiKey("none")
                .modelName("scripted")
                .httpClientBuilder(new JdkHttpClientBuilder())
                .build();
    }

    /** A chat memory that outlives the JVM. */
    ChatMemory memory(Object id, int messages) {
        return MessageWindowChatMemory.builder()
                .id(id)
                .maxMessages(messages)
                .chatMemoryStore(new FileChatMemoryStore(work.resolve("memory-" + id + ".json")))
                .build();
    }

    ExecutorService pool() {
        return Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task, "pool");
            thread.setDaemon(true);
            return thread;
        });
    }

    Tools tools() {
        return tools(1);
    }

    Tools tools(int number) {
        return new Tools(Crab.sandbox(session(number)), work.resolve("executions"));
    }

    static void put(ObjectNode outcome, Result<?> result) {
        outcome.put("answer", String.valueOf(result.content()));
        outcome.put("tokens", String.valueOf(result.tokenUsage()));
        ArrayNode tools = outcome.putArray("tools");
        result.toolExecutions()
                .forEach(one ->
                        tools.add(one.request().name() + one.request().arguments() + " -> " + one.resultContents()));
    }

    /** Runs a stream to its end. */
    static void put(ObjectNode outcome, TokenStream stream) throws IOException {
        CompletableFuture<ChatResponse> end = new CompletableFuture<>();
        List<String> pieces = Collections.synchronizedList(new ArrayList<>());
        ArrayNode tools = outcome.putArray("tools");
        stream.onPartialResponse(pieces::add)
                .onToolExecuted(one -> {
                    synchronized (tools) {
                        tools.add(one.request().name() + one.request().arguments() + " -> " + one.resultContents());
                    }
                })
                .onCompleteResponse(end::complete)
                .onError(end::completeExceptionally)
                .start();
        try {
            ChatResponse response = end.get(60, TimeUnit.SECONDS);
            outcome.put("answer", String.valueOf(response.aiMessage().text())).put("pieces", String.join("", pieces));
            outcome.put("tokens", String.valueOf(response.tokenUsage()));
        } catch (Exception e) {
            throw new IOException("the stream failed", e);
        }
    }
}

package dev.crab.samples.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.langchain4j.http.client.jdk.JdkHttpClientBuilder;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.openai.OpenAiChatModel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;

/**
 * A server that answers like OpenAI's chat completions, after a fixed time: with a tool call where the request offers tools, until it has
 * been asked often enough, and then with text. Thread-safe.
 */
final class ModelStub implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "model");
        thread.setDaemon(true);
        return thread;
    });
    private final long latencyNanos;
    private final int calls;

    /**
     * Starts it.
     *
     * @param latencyMillis how long each answer takes
     * @param calls after how many of them a run with tools ends
     */
    ModelStub(int latencyMillis, int calls) throws IOException {
        // Read once, by the first server of this JVM: small answers would else wait for the client's delayed
        // acknowledgement.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        this.latencyNanos = latencyMillis * 1_000_000L;
        this.calls = calls;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::serve);
        server.setExecutor(threads);
        server.start();
    }

    ChatModel model() {
        return OpenAiChatModel.builder()
                .baseUrl("http://127.0.0.1:" + server.getAddress().getPort() + "/v1")
                .apiKey("none")
                .modelName("stub")
                .httpClientBuilder(new JdkHttpClientBuilder())
                .maxRetries(0)
                .build();
    }

    private void serve(HttpExchange exchange) throws IOException {
        try (exchange) {
            long until = System.nanoTime() + latencyNanos;
            byte[] answer = JSON.writeValueAsBytes(answer(JSON.readTree(exchange.getRequestBody())));
            for (long left = latencyNanos; left > 0; left = until - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
        }
    }

    private ObjectNode answer(JsonNode request) {
        int results = 0;
        for (JsonNode message : request.path("messages")) {
            if (message.path("role").asText().equals("tool")) {
                results++;
            }
        }
        boolean asks = request.has("tools") && results < calls - 1;
        ObjectNode message = JSON.createObjectNode().put("role", "assistant");
        if (asks) {
            ObjectNode call = message.putNull("content")
                    .putArray("tool_calls")
                    .addObject()
                    .put("id", "call_" + results)
                    .put("type", "function");
            call.putObject("function").put("name", "look").put("arguments", "{\"where\":\"there\"}");
        } else {
            message.put("content", "done");
        }
        ObjectNode body = JSON.createObjectNode()
                .put("id", "chatcmpl-1")
                .put("object", "chat.completion")
                .put("created", 1767225600L)
                .put("model", "stub");
        body.putArray("choices")
                .addObject()
                .put("index", 0)
                .put("finish_reason", asks ? "tool_calls" : "stop")
                .set("message", message);
        body.putObject("usage")
                .put("prompt_tokens", 10)
                .put("completion_tokens", 5)
                .put("total_tokens", 15);
        return body;
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}

package dev.crab.maven;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.function.IntConsumer;

/**
 * An OpenAI-compatible model over HTTP that asks for {@code append("line-1")}, {@code append("line-2")}, … and answers with the last one's
 * result. It keeps no state: what it answers depends on the tool results in the request.
 */
final class ScriptedModel implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final int calls;
    private final long latencyMillis;
    private final IntConsumer onFirst;
    private final HttpServer server;
    private final ConcurrentHashMap<Integer, Boolean> seen = new ConcurrentHashMap<>();

    /**
     * Starts it.
     *
     * @param onFirst told of the first request with that many tool results, before it is answered
     */
    ScriptedModel(int calls, long latencyMillis, IntConsumer onFirst) throws IOException {
        this.calls = calls;
        this.latencyMillis = latencyMillis;
        this.onFirst = onFirst;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/v1/chat/completions", this::answer);
        server.start();
    }

    String baseUrl() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/v1";
    }

    private void answer(HttpExchange exchange) throws IOException {
        JsonNode messages = JSON.readTree(exchange.getRequestBody()).path("messages");
        int results = 0;
        String last = "";
        for (JsonNode message : messages) {
            if (message.path("role").asText().equals("tool")) {
                results++;
                last = message.path("content").asText();
            }
        }
        if (seen.putIfAbsent(results, true) == null) {
            onFirst.accept(results);
        }
        try {
            Thread.sleep(latencyMillis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        ObjectNode body = JSON.createObjectNode().put("id", "c" + results).put("object", "chat.completion");
        body.put("created", 1_700_000_000L).put("model", "scripted");
        ObjectNode choice = body.putArray("choices").addObject().put("index", 0);
        ObjectNode message = choice.putObject("message").put("role", "assistant");
        if (results < calls) {
            ObjectNode call = message.putNull("content").putArray("tool_calls").addObject();
            call.put("id", "call-" + (results + 1)).put("type", "function");
            call.putObject("function")
                    .put("name", "append")
                    .put("arguments", "{\"line\": \"line-" + (results + 1) + "\"}");
            choice.put("finish_reason", "tool_calls");
        } else {
            message.put("content", "done: " + last);
            choice.put("finish_reason", "stop");
        }
        body.putObject("usage")
                .put("prompt_tokens", 10)
                .put("completion_tokens", 5)
                .put("total_tokens", 15);
        byte[] bytes = JSON.writeValueAsBytes(body);
        exchange.getResponseHeaders().add("Content-Type", "application/json");
        exchange.sendResponseHeaders(200, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    @Override
    public void close() {
        server.stop(0);
    }
}

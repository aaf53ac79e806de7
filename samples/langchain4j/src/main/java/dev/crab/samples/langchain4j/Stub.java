package dev.crab.samples.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.crab.samples.common.ChatRules;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/**
 * An OpenAI-compatible server, streaming or not, that answers each session by its script, and refuses a chat that a provider would refuse
 * or whose first messages changed on the way. Thread-safe.
 */
final class Stub implements AutoCloseable {
    private record Session(Script script, boolean pinned, List<String> faults, Map<String, String> first) {}

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "stub");
        thread.setDaemon(true);
        return thread;
    });
    private final Map<String, Session> sessions = new ConcurrentHashMap<>();

    Stub() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::serve);
        server.setExecutor(threads);
        server.start();
    }

    /**
     * Gives a session its script.
     *
     * @param pinned whether the first messages must stay the same throughout
     */
    void open(String session, Script script, boolean pinned) {
        sessions.put(session, new Session(script, pinned, new ArrayList<>(), new ConcurrentHashMap<>()));
    }

    /** The base URL for a session. */
    String url(String session) {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/" + session + "/v1";
    }

    /** Forgets the session; gives what was wrong with its requests. */
    List<String> close(String session) {
        Session closed = sessions.remove(session);
        return closed == null ? List.of() : closed.faults();
    }

    private void serve(HttpExchange exchange) throws IOException {
        try (exchange) {
            String path = exchange.getRequestURI().getPath();
            JsonNode request = Json.read(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            Session session = sessions.get(path.split("/", -1)[1]);
            if (session == null) {
                send(exchange, 404, "application/json", "{}");
            } else if (path.endsWith("/moderations")) {
                send(
                        exchange,
                        200,
                        "application/json",
                        "{\"id\":\"m\",\"model\":\"m\",\"results\":[{\"flagged\":false}]}");
            } else {
                answer(exchange, session, request);
            }
        }
    }

    private static void answer(HttpExchange exchange, Session session, JsonNode request) throws IOException {
        JsonNode messages = request.path("messages");
        String fault = fault(session, messages);
        ObjectNode message = session.script().answer(messages);
        if (fault == null && message == null) {
            fault = "nothing in the script answers " + messages;
        }
        if (fault != null || message == null) {
            synchronized (session) {
                session.faults().add(String.valueOf(fault));
            }
            ObjectNode error = Json.object();
            error.putObject("error").put("message", fault);
            send(exchange, 400, "application/json", Json.write(error));
        } else if (request.path("stream").asBoolean()) {
            send(exchange, 200, "text/event-stream", Wire.events(message));
        } else {
            send(exchange, 200, "application/json", Json.write(Wire.completion(message)));
        }
    }

    private static @Nullable String fault(Session session, JsonNode messages) {
        List<String> faults = ChatRules.faults(messages);
        if (!faults.isEmpty()) {
            return String.join("; ", faults);
        }
        if (session.pinned()) {
            for (int i = 0; i < Math.min(2, messages.size()); i++) {
                String now = messages.path(i).toString();
                String before = session.first().putIfAbsent(Integer.toString(i), now);
                if (before != null && !before.equals(now)) {
                    return "message " + i + " was " + before + " and is " + now;
                }
            }
        }
        return null;
    }

    private static void send(HttpExchange exchange, int status, String type, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}

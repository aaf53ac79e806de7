package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.crab.samples.common.ChatRules;
import dev.crab.samples.common.Json;
import dev.crab.samples.common.Recording;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * An OpenAI-compatible model that answers each request with the recorded next calls, after the recorded wait, over real HTTP.
 *
 * <p>It lives outside of the agents' JVMs and keeps no state of a chat: how far a chat is, is told by its replies with calls. So it answers
 * an agent that came back as it would have answered it without the crash. Like the real providers it refuses a chat that is not whole
 * ({@link ChatRules}). Thread-safe.
 */
final class ReplayModel implements AutoCloseable {
    /** Told about the requests of one agent, on the thread that serves them. */
    interface Listener {
        /**
         * A request came: that many turns are behind the agent. It is answered when this returns and its wait is over.
         *
         * @param messages of the chat, as OpenAI's chat completions have them
         */
        void asked(int turn, JsonNode messages, long nanos) throws InterruptedException;

        /** That request has been answered. */
        void answered(int turn, long nanos);

        /** A request was refused. */
        void refused(List<String> faults);
    }

    private record Agent(Trajectory trajectory, double speed, Listener listener) {}

    /** Connections that wait to be accepted: as many as agents may begin at once. */
    private static final int BACKLOG = 1024;

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "model");
        thread.setDaemon(true);
        return thread;
    });
    private final Map<String, Agent> agents = new ConcurrentHashMap<>();

    ReplayModel() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), BACKLOG);
        server.createContext("/", this::serve);
        server.setExecutor(threads);
        server.start();
    }

    /**
     * Lets an agent of that name, {@code [a-z0-9-]+}, ask.
     *
     * @param speed divides every wait
     * @return the base URL for it
     */
    String register(String name, Trajectory trajectory, double speed, Listener listener) {
        agents.put(name, new Agent(trajectory, speed, listener));
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/" + name + "/v1";
    }

    void forget(String name) {
        agents.remove(name);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }

    private void serve(HttpExchange exchange) throws IOException {
        try (exchange) {
            long now = System.nanoTime();
            Agent agent = agents.get(exchange.getRequestURI().getPath().split("/", -1)[1]);
            JsonNode messages = Json.read(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8))
                    .path("messages");
            if (agent == null) {
                send(exchange, 404, error("nobody of that name is replayed"));
                return;
            }
            List<String> faults = ChatRules.faults(messages);
            if (!faults.isEmpty()) {
                agent.listener.refused(faults);
                send(exchange, 400, error(String.join("; ", faults)));
                return;
            }
            int turn = turn(messages);
            agent.listener.asked(turn, messages, now);
            long wait = Math.round(agent.trajectory.wait(turn).toNanos() / agent.speed);
            TimeUnit.NANOSECONDS.sleep(Math.max(0, wait - (System.nanoTime() - now)));
            send(exchange, 200, completion(agent.trajectory.recording(), turn));
            agent.listener.answered(turn, System.nanoTime());
        } catch (InterruptedException e) {
            // Who asked is dead, or this is being closed: nobody waits for the answer.
        }
    }

    static int turn(JsonNode messages) {
        int turn = 0;
        for (JsonNode message : messages) {
            turn += message.path("tool_calls").isEmpty() ? 0 : 1;
        }
        return turn;
    }

    /** The last answer of every agent that gets there. */
    static String lastAnswer(Recording recording) {
        return "Done after " + recording.turns().size() + " turns.";
    }

    private static ObjectNode error(String why) {
        ObjectNode error = Json.object();
        error.putObject("error").put("type", "invalid_request_error").put("message", why);
        return error;
    }

    private static ObjectNode completion(Recording recording, int turn) {
        ObjectNode body = Json.object();
        body.put("id", "chatcmpl-" + turn).put("object", "chat.completion").put("created", 1767225600L);
        body.put("model", "recorded");
        ObjectNode choice = body.putArray("choices").addObject().put("index", 0);
        ObjectNode message = choice.putObject("message").put("role", "assistant");
        if (turn < recording.turns().size()) {
            message.putNull("content");
            int number = 0;
            for (Recording.Call call : recording.turns().get(turn).calls()) {
                ObjectNode entry = message.withArray("/tool_calls").addObject();
                entry.put("id", "call_" + turn + "_" + number++).put("type", "function");
                entry.putObject("function")
                        .put("name", call instanceof Recording.Command ? "bash" : "edit")
                        .put("arguments", Json.write(arguments(call)));
            }
            choice.put("finish_reason", "tool_calls");
        } else {
            message.put("content", lastAnswer(recording));
            choice.put("finish_reason", "stop");
        }
        body.putObject("usage")
                .put("prompt_tokens", 10)
                .put("completion_tokens", 5)
                .put("total_tokens", 15);
        return body;
    }

    private static ObjectNode arguments(Recording.Call call) {
        ObjectNode arguments = Json.object();
        if (call instanceof Recording.Command command) {
            return arguments.put("command", command.line());
        }
        arguments.put("path", ((Recording.Edit) call).path());
        if (call instanceof Recording.Create create) {
            return arguments.put("command", "create").put("text", create.text());
        }
        if (call instanceof Recording.Replace replace) {
            return arguments
                    .put("command", "str_replace")
                    .put("old", replace.old())
                    .put("text", replace.text());
        }
        if (call instanceof Recording.Insert insert) {
            return arguments.put("command", "insert").put("line", insert.line()).put("text", insert.text());
        }
        return arguments.put("command", "view");
    }

    private static void send(HttpExchange exchange, int status, ObjectNode body) throws IOException {
        byte[] bytes = Json.write(body).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        // One that is kept is ended after half a minute, maybe just when its agent uses it again.
        exchange.getResponseHeaders().set("Connection", "close");
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
    }
}

package dev.crab.samples.quickstart;

import static com.github.tomakehurst.wiremock.client.WireMock.matchingJsonPath;
import static com.github.tomakehurst.wiremock.client.WireMock.post;
import static com.github.tomakehurst.wiremock.client.WireMock.urlPathMatching;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.client.MappingBuilder;
import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder;
import com.github.tomakehurst.wiremock.core.WireMockConfiguration;
import com.github.tomakehurst.wiremock.extension.ResponseDefinitionTransformerV2;
import com.github.tomakehurst.wiremock.http.ResponseDefinition;
import com.github.tomakehurst.wiremock.stubbing.ServeEvent;
import dev.crab.samples.common.ChatRules;
import dev.crab.samples.common.Json;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An OpenAI-compatible model that answers by the {@link Script}, over real HTTP.
 *
 * <p>It keeps no state: which response comes next is told by the tool results in the request, so it answers an agent that was started
 * again as it would have answered the first one. Like the real providers it refuses a chat in which a tool call has no result, a result
 * has no call, or the task stands twice.
 *
 * <p>The base URL names the run and its speed. Thread-safe.
 */
final class ScriptedModel implements AutoCloseable {
    private static final Pattern PATH = Pattern.compile("/([^/]+)/x([0-9.]+)/v1/chat/completions");
    private static final Pattern RESULT = Pattern.compile("\\$\\{(total:)?(call_[0-9]+[a-z])}");

    private final WireMockServer server;
    private final Map<String, AtomicInteger> requests = new ConcurrentHashMap<>();
    private final Map<String, Queue<String>> refusals = new ConcurrentHashMap<>();

    ScriptedModel() {
        server = new WireMockServer(WireMockConfiguration.options()
                .bindAddress("127.0.0.1")
                .dynamicPort()
                .disableRequestJournal()
                .extensions(new Answer()));
        List<Script.Response> responses = Script.responses();
        for (int i = 0; i < responses.size(); i++) {
            MappingBuilder stub = post(urlPathMatching(PATH.pattern())).atPriority(responses.size() - i);
            if (i > 0) {
                for (Script.Call call : responses.get(i - 1).calls()) {
                    stub.withRequestBody(matchingJsonPath("$.messages[?(@.tool_call_id == '" + call.id() + "')]"));
                }
            }
            server.stubFor(stub.willReturn(ResponseDefinitionBuilder.responseDefinition()
                    .withStatus(200)
                    .withHeader("Content-Type", "application/json")
                    .withFixedDelay((int) responses.get(i).latency().toMillis())
                    .withBody(completion(i + 1, responses.get(i)))));
        }
        server.start();
    }

    /**
     * The base URL for one run.
     *
     * @param run its name, {@code [a-z0-9-]+}
     * @param speed divides every wait
     */
    String baseUrl(String run, double speed) {
        return "http://127.0.0.1:" + server.port() + "/" + run + "/x" + speed + "/v1";
    }

    /** Requests that a run has sent so far. */
    int requests(String run) {
        AtomicInteger count = requests.get(run);
        return count == null ? 0 : count.get();
    }

    /** Why requests of a run were refused. */
    List<String> refusals(String run) {
        return List.copyOf(refusals.getOrDefault(run, new ConcurrentLinkedQueue<>()));
    }

    @Override
    public void close() {
        server.stop();
    }

    private static String completion(int number, Script.Response response) {
        ObjectNode body = Json.object();
        body.put("id", "chatcmpl-" + number).put("object", "chat.completion").put("created", 1767225600L);
        body.put("model", "scripted");
        ObjectNode choice = body.putArray("choices").addObject().put("index", 0);
        ObjectNode message =
                choice.putObject("message").put("role", "assistant").put("content", response.text());
        for (Script.Call call : response.calls()) {
            ObjectNode entry = message.withArray("/tool_calls").addObject().put("id", call.id());
            entry.put("type", "function");
            entry.putObject("function").put("name", call.tool()).put("arguments", Json.write(call.arguments()));
        }
        choice.put("finish_reason", response.calls().isEmpty() ? "stop" : "tool_calls");
        body.putObject("usage")
                .put("prompt_tokens", 10)
                .put("completion_tokens", 5)
                .put("total_tokens", 15);
        return Json.write(body);
    }

    /** Checks the request as a provider does, then puts tool results and the speed into the scripted response. */
    private final class Answer implements ResponseDefinitionTransformerV2 {
        @Override
        public String getName() {
            return "scripted-answer";
        }

        @Override
        public ResponseDefinition transform(ServeEvent event) {
            Matcher path = PATH.matcher(event.getRequest().getUrl());
            if (!path.matches()) {
                return event.getResponseDefinition();
            }
            requests.computeIfAbsent(path.group(1), run -> new AtomicInteger()).incrementAndGet();
            JsonNode messages = Json.read(event.getRequest().getBodyAsString()).path("messages");
            List<String> faults = ChatRules.faults(messages);
            if (!faults.isEmpty()) {
                refusals.computeIfAbsent(path.group(1), run -> new ConcurrentLinkedQueue<>())
                        .addAll(faults);
                ObjectNode error = Json.object();
                error.putObject("error").put("type", "invalid_request_error").put("message", String.join("; ", faults));
                return ResponseDefinitionBuilder.responseDefinition()
                        .withStatus(400)
                        .withHeader("Content-Type", "application/json")
                        .withBody(Json.write(error))
                        .build();
            }
            ResponseDefinition scripted = event.getResponseDefinition();
            Integer wait = scripted.getFixedDelayMilliseconds();
            double speed = Double.parseDouble(path.group(2));
            return ResponseDefinitionBuilder.like(scripted)
                    .withFixedDelay(wait == null ? 0 : (int) Math.round(wait / speed))
                    .withBody(fill(scripted.getBody(), messages))
                    .build();
        }
    }

    private static String fill(String body, JsonNode messages) {
        Map<String, String> results = new HashMap<>();
        for (JsonNode message : messages) {
            if (message.hasNonNull("tool_call_id")) {
                results.put(
                        message.get("tool_call_id").asText(),
                        message.path("content").asText().strip());
            }
        }
        // The body holds JSON in JSON (a call's arguments): a result of more than one line would need quoting twice
        // there. Scripts name
        // only results of one line without quotes.
        return RESULT.matcher(body).replaceAll(match -> {
            String result = results.getOrDefault(match.group(2), "(no result of " + match.group(2) + ")");
            String shown = match.group(1) == null ? lastLine(result) : total(result);
            return Matcher.quoteReplacement(shown.replaceAll("[\\\\\"\\p{Cntrl}]", " "));
        });
    }

    private static String lastLine(String text) {
        return text.substring(text.lastIndexOf('\n') + 1);
    }

    private static String total(String counterState) {
        JsonNode total = Json.tryRead(counterState).path("total");
        return total.isMissingNode() ? "(no total in: " + counterState + ")" : "total=" + total.asInt();
    }
}

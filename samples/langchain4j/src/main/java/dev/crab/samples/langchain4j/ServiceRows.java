package dev.crab.samples.langchain4j;

import static dev.crab.samples.langchain4j.Script.append;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.guardrail.OutputGuardrail;
import dev.langchain4j.guardrail.OutputGuardrailResult;
import dev.langchain4j.http.client.jdk.JdkHttpClientBuilder;
import dev.langchain4j.model.openai.OpenAiModerationModel;
import dev.langchain4j.rag.content.Content;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.MemoryId;
import dev.langchain4j.service.Moderate;
import dev.langchain4j.service.Result;
import dev.langchain4j.service.SystemMessage;
import dev.langchain4j.service.TokenStream;
import dev.langchain4j.service.UserMessage;
import dev.langchain4j.service.V;
import java.util.List;

/** What an AI service does around its tools: memory, streaming, retrieval, guardrails, moderation, results. */
final class ServiceRows {
    private ServiceRows() {}

    interface Agent {
        @SystemMessage("You append lines; it is now {{now}}.")
        @UserMessage("{{task}}")
        Result<String> work(@V("task") String task, @V("now") long now);
    }

    interface Plain {
        Result<String> work(String task);
    }

    interface Streaming {
        TokenStream work(String task);
    }

    interface ById {
        Result<String> work(@MemoryId String id, @UserMessage String task);
    }

    interface Moderated {
        @Moderate
        Result<String> work(String task);
    }

    record Person(String name, int age) {}

    interface Extractor {
        Result<Person> extract(String text);
    }

    /** Sends an answer back once. */
    static final class Polite implements OutputGuardrail {
        @Override
        public OutputGuardrailResult validate(AiMessage answer) {
            return answer.text().contains("please") ? success() : reprompt("rude", "say please");
        }
    }

    private static Script turns() {
        return new Script()
                .calls(null, append("c1", "A"), append("c2", "B"))
                .calls("c2", append("c3", "C"))
                .says("c3", "all done");
    }

    private static Script polite() {
        return turns().when("say please").calls(null, append("c4", "D")).says("c4", "all done, please");
    }

    private static void plain(Stage stage, ObjectNode outcome, AiServices<Plain> service) {
        Stage.put(
                outcome,
                service.chatModel(stage.model()).tools(stage.tools()).build().work("go"));
    }

    private static AiServices<Streaming> streaming(Stage stage) {
        return AiServices.builder(Streaming.class)
                .streamingChatModel(stage.streamingModel())
                .chatMemory(stage.memory("default", 50))
                .tools(stage.tools());
    }

    static List<Row> all() {
        return List.of(
                new Row("several-calls", turns(), (stage, outcome) -> {
                    Result<String> result = AiServices.builder(Agent.class)
                            .chatModel(stage.model())
                            .chatMemory(stage.memory("default", 50))
                            .tools(stage.tools())
                            .build()
                            .work("go", 7);
                    Stage.put(outcome, result);
                }),
                new Row(
                        "system-message-at-run-time",
                        turns(),
                        (stage, outcome) -> plain(
                                stage,
                                outcome,
                                AiServices.builder(Plain.class)
                                        .systemMessageProvider(id -> "it is now " + System.nanoTime())
                                        .chatMemory(stage.memory("default", 50)))),
                new Row(
                        "no-memory",
                        turns(),
                        (stage, outcome) -> plain(stage, outcome, AiServices.builder(Plain.class))),
                new Row(
                        "concurrent-tools",
                        turns(),
                        (stage, outcome) -> plain(
                                stage,
                                outcome,
                                AiServices.builder(Plain.class)
                                        .chatMemory(stage.memory("default", 50))
                                        .executeToolsConcurrently(stage.pool()))),
                new Row(
                        "streaming",
                        turns(),
                        (stage, outcome) ->
                                Stage.put(outcome, streaming(stage).build().work("go"))),
                new Row("streaming-concurrent-tools", turns(), (stage, outcome) -> {
                    Stage.put(
                            outcome,
                            streaming(stage)
                                    .executeToolsConcurrently(stage.pool())
                                    .build()
                                    .work("go"));
                    // They are told as they end.
                    outcome.set("tools", RowOrder.sorted(outcome.path("tools")));
                }),
                new Row(
                        "streaming-no-memory",
                        turns(),
                        (stage, outcome) -> Stage.put(
                                outcome,
                                AiServices.builder(Streaming.class)
                                        .streamingChatModel(stage.streamingModel())
                                        .tools(stage.tools())
                                        .build()
                                        .work("go"))),
                new Row(
                        "streaming-guardrail-reprompt",
                        polite(),
                        (stage, outcome) -> Stage.put(
                                outcome,
                                streaming(stage)
                                        .outputGuardrails(new Polite())
                                        .build()
                                        .work("go"))),
                new Row(
                        "guardrail-reprompt",
                        polite(),
                        false,
                        1,
                        (stage, outcome) -> plain(
                                stage, outcome, AiServices.builder(Plain.class).outputGuardrails(new Polite()))),
                new Row("memory-by-id", turns(), (stage, outcome) -> {
                    ById service = AiServices.builder(ById.class)
                            .chatModel(stage.model())
                            .chatMemoryProvider(id -> stage.memory(id, 50))
                            .tools(stage.tools())
                            .build();
                    Stage.put(outcome, service.work("ada", "go"));
                    Stage.put(outcome.putObject("other"), service.work("bob", "go"));
                }),
                new Row(
                        "window-eviction",
                        turns(),
                        false,
                        1,
                        (stage, outcome) -> plain(
                                stage,
                                outcome,
                                AiServices.builder(Plain.class).chatMemory(stage.memory("default", 4)))),
                new Row(
                        "retrieval",
                        turns(),
                        (stage, outcome) -> plain(
                                stage,
                                outcome,
                                AiServices.builder(Plain.class)
                                        .chatMemory(stage.memory("default", 50))
                                        .contentRetriever(
                                                query -> List.of(Content.from("fact " + System.nanoTime()))))),
                new Row(
                        "moderation",
                        turns(),
                        (stage, outcome) -> Stage.put(
                                outcome,
                                AiServices.builder(Moderated.class)
                                        .chatModel(stage.model())
                                        .moderationModel(OpenAiModerationModel.builder()
                                                .baseUrl(stage.baseUrl())
                                                .apiKey("none")
                                                .modelName("m")
                                                .httpClientBuilder(new JdkHttpClientBuilder())
                                                .build())
                                        .tools(stage.tools())
                                        .build()
                                        .work("go"))),
                new Row(
                        "pojo",
                        new Script().calls(null, append("c1", "A")).says("c1", "{\"name\":\"Ada\",\"age\":36}"),
                        (stage, outcome) -> Stage.put(
                                outcome,
                                AiServices.builder(Extractor.class)
                                        .chatModel(stage.model())
                                        .tools(stage.tools())
                                        .build()
                                        .extract("Ada is 36"))),
                new Row("same-call-twice", turns(), (stage, outcome) -> {
                    Plain service = AiServices.builder(Plain.class)
                            .chatModel(stage.model())
                            .tools(stage.tools())
                            .build();
                    Stage.put(outcome, service.work("go"));
                    Stage.put(outcome.putObject("again"), service.work("go"));
                }),
                new Row("round-trips-exceeded", turns(), (stage, outcome) -> {
                    try {
                        plain(stage, outcome, AiServices.builder(Plain.class).maxToolCallingRoundTrips(2));
                    } catch (RuntimeException e) {
                        outcome.put("refused", e.getMessage());
                    }
                }));
    }
}

package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.chat.response.ChatResponseMetadata;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import org.jspecify.annotations.Nullable;

/**
 * What a provider says beside its answer. Programs cast it to the provider's class, so a replayed one has to be of that class: OpenAI's is
 * kept as such (without the raw HTTP exchange), any other comes back in LangChain4j's general form.
 */
final class ResponseMetadata {
    private static final boolean OPEN_AI = isPresent("dev.langchain4j.model.openai.OpenAiChatResponseMetadata");

    private ResponseMetadata() {}

    private static boolean isPresent(String type) {
        try {
            Class.forName(type, false, ResponseMetadata.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    static ObjectNode toJson(ChatResponseMetadata metadata) {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        json.put("id", metadata.id()).put("model", metadata.modelName());
        if (metadata.finishReason() != null) {
            json.put("finish", metadata.finishReason().name());
        }
        TokenUsage usage = metadata.tokenUsage();
        if (usage != null) {
            json.putObject("tokens")
                    .put("input", usage.inputTokenCount())
                    .put("output", usage.outputTokenCount())
                    .put("total", usage.totalTokenCount());
        }
        if (OPEN_AI) {
            OpenAiMetadata.write(metadata, json);
        }
        return json;
    }

    static ChatResponseMetadata fromJson(JsonNode json) {
        if (OPEN_AI && json.hasNonNull(OpenAiMetadata.FIELD)) {
            return OpenAiMetadata.read(json);
        }
        JsonNode tokens = json.path("tokens");
        return ChatResponseMetadata.builder()
                .id(text(json, "id"))
                .modelName(text(json, "model"))
                .finishReason(finish(json))
                .tokenUsage(
                        tokens.isObject()
                                ? new TokenUsage(
                                        number(tokens, "input"), number(tokens, "output"), number(tokens, "total"))
                                : null)
                .build();
    }

    static @Nullable FinishReason finish(JsonNode json) {
        String name = text(json, "finish");
        if (name == null) {
            return null;
        }
        for (FinishReason reason : FinishReason.values()) {
            if (reason.name().equals(name)) {
                return reason;
            }
        }
        return FinishReason.OTHER;
    }

    static @Nullable String text(JsonNode json, String field) {
        return json.hasNonNull(field) ? json.path(field).asText() : null;
    }

    static @Nullable Integer number(JsonNode json, String field) {
        return json.hasNonNull(field) ? json.path(field).asInt() : null;
    }
}

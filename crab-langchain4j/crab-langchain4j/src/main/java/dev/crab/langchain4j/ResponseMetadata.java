package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.chat.response.ChatResponseMetadata;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a provider says beside its answer. Programs cast it to the provider's class, so a replayed one has to be of that class: those of
 * OpenAI, Anthropic and Google AI Gemini are kept as such; any other, Ollama's too, comes back in LangChain4j's general form.
 */
final class ResponseMetadata {
    private static final List<ProviderCodec> PROVIDERS = providers();

    private ResponseMetadata() {}

    private static List<ProviderCodec> providers() {
        List<ProviderCodec> present = new ArrayList<>();
        add(present, "dev.langchain4j.model.openai.OpenAiChatResponseMetadata", () -> new OpenAiMetadata());
        add(present, "dev.langchain4j.model.anthropic.AnthropicChatResponseMetadata", () -> new AnthropicMetadata());
        add(present, "dev.langchain4j.model.googleai.GoogleAiGeminiChatResponseMetadata", () -> new GeminiMetadata());
        return List.copyOf(present);
    }

    private static void add(List<ProviderCodec> present, String type, Supplier<ProviderCodec> codec) {
        try {
            Class.forName(type, false, ResponseMetadata.class.getClassLoader());
            present.add(codec.get());
        } catch (ClassNotFoundException e) {
            // That provider's library is not there, nor then any of its answers.
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
        for (ProviderCodec provider : PROVIDERS) {
            if (provider.isOwn(metadata)) {
                provider.write(metadata, json.putObject(provider.field()));
            }
        }
        return json;
    }

    static ChatResponseMetadata fromJson(JsonNode json) {
        for (ProviderCodec provider : PROVIDERS) {
            if (json.has(provider.field())) {
                return provider.read(json, json.path(provider.field()));
            }
        }
        return read(
                ChatResponseMetadata.builder(),
                json,
                tokens -> new TokenUsage(number(tokens, "input"), number(tokens, "output"), number(tokens, "total")));
    }

    /** What every provider's metadata has; its tokens, where there are any, in its own class. */
    static ChatResponseMetadata read(
            ChatResponseMetadata.Builder<?> builder, JsonNode json, Function<JsonNode, TokenUsage> usage) {
        builder.id(text(json, "id"));
        builder.modelName(text(json, "model"));
        builder.finishReason(finish(json));
        JsonNode tokens = json.path("tokens");
        if (tokens.isObject()) {
            builder.tokenUsage(usage.apply(tokens));
        }
        return builder.build();
    }

    private static @Nullable FinishReason finish(JsonNode json) {
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

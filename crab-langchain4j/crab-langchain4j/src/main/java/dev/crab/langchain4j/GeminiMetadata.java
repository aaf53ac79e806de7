package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.chat.response.ChatResponseMetadata;
import dev.langchain4j.model.googleai.GoogleAiGeminiChatResponseMetadata;
import dev.langchain4j.model.googleai.GoogleAiGeminiTokenUsage;

/** Google AI Gemini's: cached and thinking tokens. What it says of grounding and of URLs is not kept. */
final class GeminiMetadata implements ProviderCodec {
    @Override
    public String field() {
        return "gemini";
    }

    @Override
    public boolean isOwn(ChatResponseMetadata metadata) {
        return metadata instanceof GoogleAiGeminiChatResponseMetadata;
    }

    @Override
    public void write(ChatResponseMetadata metadata, ObjectNode fields) {
        if (metadata.tokenUsage() instanceof GoogleAiGeminiTokenUsage usage) {
            fields.put("cachedTokens", usage.cachedContentTokenCount())
                    .put("thoughtTokens", usage.thoughtsTokenCount());
        }
    }

    @Override
    public ChatResponseMetadata read(JsonNode json, JsonNode fields) {
        return ResponseMetadata.read(
                GoogleAiGeminiChatResponseMetadata.builder(),
                json,
                tokens -> GoogleAiGeminiTokenUsage.builder()
                        .inputTokenCount(ResponseMetadata.number(tokens, "input"))
                        .outputTokenCount(ResponseMetadata.number(tokens, "output"))
                        .totalTokenCount(ResponseMetadata.number(tokens, "total"))
                        .cachedContentTokenCount(ResponseMetadata.number(fields, "cachedTokens"))
                        .thoughtsTokenCount(ResponseMetadata.number(fields, "thoughtTokens"))
                        .build());
    }
}

package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.anthropic.AnthropicChatResponseMetadata;
import dev.langchain4j.model.anthropic.AnthropicTokenUsage;
import dev.langchain4j.model.chat.response.ChatResponseMetadata;

/** Anthropic's: the use of its prompt cache. Neither the raw HTTP exchange nor the cache's diagnostics are kept. */
final class AnthropicMetadata implements ProviderCodec {
    @Override
    public String field() {
        return "anthropic";
    }

    @Override
    public boolean isOwn(ChatResponseMetadata metadata) {
        return metadata instanceof AnthropicChatResponseMetadata;
    }

    @Override
    public void write(ChatResponseMetadata metadata, ObjectNode fields) {
        if (metadata.tokenUsage() instanceof AnthropicTokenUsage usage) {
            fields.put("cacheCreationTokens", usage.cacheCreationInputTokens())
                    .put("cacheReadTokens", usage.cacheReadInputTokens());
        }
    }

    @Override
    public ChatResponseMetadata read(JsonNode json, JsonNode fields) {
        return ResponseMetadata.read(
                AnthropicChatResponseMetadata.builder(),
                json,
                tokens -> AnthropicTokenUsage.builder()
                        .inputTokenCount(ResponseMetadata.number(tokens, "input"))
                        .outputTokenCount(ResponseMetadata.number(tokens, "output"))
                        .cacheCreationInputTokens(ResponseMetadata.number(fields, "cacheCreationTokens"))
                        .cacheReadInputTokens(ResponseMetadata.number(fields, "cacheReadTokens"))
                        .build());
    }
}

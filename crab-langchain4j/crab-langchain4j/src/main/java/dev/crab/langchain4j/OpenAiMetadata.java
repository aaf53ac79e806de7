package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.chat.response.ChatResponseMetadata;
import dev.langchain4j.model.openai.OpenAiChatResponseMetadata;
import dev.langchain4j.model.openai.OpenAiTokenUsage;

/** OpenAI's. The raw HTTP exchange is not kept. */
final class OpenAiMetadata implements ProviderCodec {
    @Override
    public String field() {
        return "openai";
    }

    @Override
    public boolean isOwn(ChatResponseMetadata metadata) {
        return metadata instanceof OpenAiChatResponseMetadata;
    }

    @Override
    public void write(ChatResponseMetadata metadata, ObjectNode fields) {
        OpenAiChatResponseMetadata own = (OpenAiChatResponseMetadata) metadata;
        fields.put("created", own.created())
                .put("serviceTier", own.serviceTier())
                .put("systemFingerprint", own.systemFingerprint());
        OpenAiTokenUsage usage = own.tokenUsage();
        if (usage != null && usage.inputTokensDetails() != null) {
            fields.put("cachedTokens", usage.inputTokensDetails().cachedTokens());
        }
        if (usage != null && usage.outputTokensDetails() != null) {
            fields.put("reasoningTokens", usage.outputTokensDetails().reasoningTokens());
        }
    }

    @Override
    public ChatResponseMetadata read(JsonNode json, JsonNode fields) {
        return ResponseMetadata.read(
                OpenAiChatResponseMetadata.builder()
                        .created(
                                fields.hasNonNull("created")
                                        ? fields.path("created").asLong()
                                        : null)
                        .serviceTier(ResponseMetadata.text(fields, "serviceTier"))
                        .systemFingerprint(ResponseMetadata.text(fields, "systemFingerprint")),
                json,
                tokens -> usage(tokens, fields));
    }

    private static OpenAiTokenUsage usage(JsonNode tokens, JsonNode fields) {
        OpenAiTokenUsage.Builder usage = OpenAiTokenUsage.builder()
                .inputTokenCount(ResponseMetadata.number(tokens, "input"))
                .outputTokenCount(ResponseMetadata.number(tokens, "output"))
                .totalTokenCount(ResponseMetadata.number(tokens, "total"));
        if (fields.hasNonNull("cachedTokens")) {
            usage.inputTokensDetails(OpenAiTokenUsage.InputTokensDetails.builder()
                    .cachedTokens(fields.path("cachedTokens").asInt())
                    .build());
        }
        if (fields.hasNonNull("reasoningTokens")) {
            usage.outputTokensDetails(OpenAiTokenUsage.OutputTokensDetails.builder()
                    .reasoningTokens(fields.path("reasoningTokens").asInt())
                    .build());
        }
        return usage.build();
    }
}

package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.model.anthropic.AnthropicChatResponseMetadata;
import dev.langchain4j.model.anthropic.AnthropicTokenUsage;
import dev.langchain4j.model.chat.response.ChatResponseMetadata;
import dev.langchain4j.model.googleai.GoogleAiGeminiChatResponseMetadata;
import dev.langchain4j.model.googleai.GoogleAiGeminiTokenUsage;
import dev.langchain4j.model.openai.OpenAiChatResponseMetadata;
import dev.langchain4j.model.openai.OpenAiTokenUsage;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a provider says beside its answer comes back from the journal in the provider's class. */
class ResponseMetadataTest {
    static Stream<ChatResponseMetadata> metadata() {
        GoogleAiGeminiChatResponseMetadata.Builder gemini = GoogleAiGeminiChatResponseMetadata.builder();
        gemini.id("g").modelName("gemini").finishReason(FinishReason.LENGTH);
        gemini.tokenUsage(GoogleAiGeminiTokenUsage.builder()
                .inputTokenCount(1)
                .outputTokenCount(2)
                .totalTokenCount(7)
                .cachedContentTokenCount(3)
                .thoughtsTokenCount(4)
                .build());
        return Stream.of(
                ChatResponseMetadata.builder()
                        .id("x")
                        .modelName("m")
                        .finishReason(FinishReason.STOP)
                        .tokenUsage(new TokenUsage(1, 2, 3))
                        .build(),
                ChatResponseMetadata.builder().build(),
                OpenAiChatResponseMetadata.builder()
                        .id("o")
                        .modelName("gpt")
                        .systemFingerprint("fp")
                        .created(5L)
                        .tokenUsage(OpenAiTokenUsage.builder()
                                .inputTokenCount(1)
                                .outputTokenCount(2)
                                .totalTokenCount(3)
                                .build())
                        .build(),
                AnthropicChatResponseMetadata.builder()
                        .id("a")
                        .modelName("claude")
                        .finishReason(FinishReason.TOOL_EXECUTION)
                        .tokenUsage(AnthropicTokenUsage.builder()
                                .inputTokenCount(1)
                                .outputTokenCount(2)
                                .cacheCreationInputTokens(3)
                                .cacheReadInputTokens(4)
                                .build())
                        .build(),
                gemini.build());
    }

    @ParameterizedTest
    @MethodSource("metadata")
    void metadata_comesBackAsItWas(ChatResponseMetadata metadata) {
        ChatResponseMetadata back = ResponseMetadata.fromJson(ResponseMetadata.toJson(metadata));
        assertThat(back).isEqualTo(metadata).hasSameClassAs(metadata);
    }
}

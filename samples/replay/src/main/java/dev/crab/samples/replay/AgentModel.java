package dev.crab.samples.replay;

import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.openai.OpenAiChatModel;
import java.time.Duration;

/** What every agent is made of, whatever its policy. */
final class AgentModel {
    /** What the agent is asked to do; the model knows by heart how. */
    static final String TASK = "Do the task.";

    /** More than any trajectory has. */
    static final int LONGEST_CHAT = 1_000_000;

    private AgentModel() {}

    static ChatModel at(String baseUrl) {
        return OpenAiChatModel.builder()
                .baseUrl(baseUrl)
                .apiKey("none")
                .modelName("recorded")
                .maxRetries(0)
                .timeout(Duration.ofMinutes(30))
                .build();
    }
}

package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.service.tool.ToolExecutionResult;
import java.util.List;
import org.junit.jupiter.api.Test;

class MessageCodecTest {
    private static ObjectNode recorded(Object object, String text) {
        return MessageCodec.result(
                ToolExecutionRequest.builder()
                        .id("1")
                        .name("tool")
                        .arguments("{}")
                        .build(),
                ToolExecutionResult.builder().result(object).resultText(text).build());
    }

    private static Object nested(int levels) {
        Object object = "end";
        for (int i = 0; i < levels; i++) {
            object = List.of(object);
        }
        return object;
    }

    /** The journal would refuse the record, and the text does without. */
    @Test
    void objectThatIsTooDeepForTheJournal_isLeftOut() {
        assertThat(recorded(nested(500), "text").has("object")).isTrue();
        assertThat(recorded(nested(905), "text").has("object")).isFalse();
        assertThat(recorded(nested(100_000), "text").has("object")).isFalse();
        assertThat(recorded(nested(905), "text").has("message")).isTrue();
    }

    @Test
    void textLongerThanLangChain4jReads_isRefused() {
        assertThat(catchThrowable(() -> recorded("x", "x".repeat(20_100_000))))
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.LIMIT_EXCEEDED));
    }
}

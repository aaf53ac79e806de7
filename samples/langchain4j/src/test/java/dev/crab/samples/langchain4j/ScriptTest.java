package dev.crab.samples.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.samples.common.Json;
import org.junit.jupiter.api.Test;

class ScriptTest {
    private static final Script SCRIPT = new Script()
            .calls(null, Script.append("c1", "A"))
            .says("c1", "done")
            .when("other")
            .says(null, "something else");

    private static JsonNode chat(String messages) {
        return Json.read(messages);
    }

    @Test
    void newestStepThatIsMet_answers() {
        assertThat(String.valueOf(SCRIPT.answer(chat("[{\"role\":\"user\",\"content\":\"go\"}]"))))
                .contains("\"id\":\"c1\"");
        assertThat(String.valueOf(
                        SCRIPT.answer(chat("[{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"1\"}]"))))
                .contains("done");
        assertThat(String.valueOf(SCRIPT.answer(chat("[{\"role\":\"user\",\"content\":\"the other\"}]"))))
                .contains("something else");
        assertThat(new Script().answer(chat("[]"))).isNull();
    }

    @Test
    void streamedAnswer_holdsTheWholeOfIt() {
        String events = Wire.events(Json.object().put("role", "assistant").put("content", "done"));
        assertThat(events).contains("\"do\"", "\"ne\"", "\"total_tokens\":15").endsWith("data: [DONE]\n\n");
    }
}

package dev.crab.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;

/** The JSON that commands write: one document, two spaces of indentation. */
final class Json {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {}

    static ObjectNode object() {
        return JsonNodeFactory.instance.objectNode();
    }

    static String text(ObjectNode document) {
        try {
            return MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(document);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree is always JSON", e);
        }
    }

    static ObjectNode describe(CrabException refusal) {
        return object().put("code", refusal.code().name())
                .put("what", refusal.what())
                .put("why", refusal.why())
                .put("cure", refusal.cure());
    }

    static String error(CrabException refusal) {
        ObjectNode document = object();
        document.set("error", describe(refusal));
        return text(document);
    }
}

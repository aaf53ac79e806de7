package dev.crab.samples.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.crab.samples.common.Json;
import java.util.ArrayList;
import java.util.List;

/** Puts into order what comes in any. */
final class RowOrder {
    private RowOrder() {}

    static ArrayNode sorted(JsonNode array) {
        List<String> texts = new ArrayList<>();
        array.forEach(one -> texts.add(one.asText()));
        texts.sort(null);
        ArrayNode sorted = Json.object().putArray("sorted");
        texts.forEach(sorted::add);
        return sorted;
    }
}

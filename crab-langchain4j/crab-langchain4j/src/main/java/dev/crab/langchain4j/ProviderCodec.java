package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.chat.response.ChatResponseMetadata;

/** A provider's own fields of {@link ResponseMetadata}. Loaded only where the provider's library is on the class path. Stateless. */
interface ProviderCodec {
    /** Under which field of the journal they stand. */
    String field();

    /** Whether the metadata is this provider's. */
    boolean isOwn(ChatResponseMetadata metadata);

    void write(ChatResponseMetadata metadata, ObjectNode fields);

    /** The metadata in the provider's class, of what {@link ResponseMetadata} and this wrote. */
    ChatResponseMetadata read(JsonNode json, JsonNode fields);
}

package dev.crab.runtime.store;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.StreamWriteConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;

/**
 * JSON as the store reads it: bounded, and nothing missing, unknown, doubled or trailing is let through. It writes nothing that it would not
 * read: the depth is bounded on both sides, and everything else by the length of the whole.
 */
final class StoreJson {
    /** Bytes of JSON in one record or manifest at most: 64 MiB. */
    static final int MAX_BYTES = 64 << 20;

    /** Objects and lists within each other at most. */
    static final int MAX_DEPTH = 1000;

    static final JsonMapper MAPPER = JsonMapper.builder(JsonFactory.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxStringLength(MAX_BYTES)
                            .maxNameLength(MAX_BYTES)
                            .maxNumberLength(MAX_BYTES)
                            .maxDocumentLength(MAX_BYTES)
                            .maxNestingDepth(MAX_DEPTH)
                            .build())
                    .streamWriteConstraints(StreamWriteConstraints.builder()
                            .maxNestingDepth(MAX_DEPTH)
                            .build())
                    .build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .build();

    private StoreJson() {}

    /**
     * What is to be written, in a form that can be read again.
     *
     * @param what for the error, as in "a manifest cannot be written"
     * @param cure what makes it smaller
     * @throws CrabException LIMIT_EXCEEDED if it is longer or deeper than is read
     */
    static byte[] write(ObjectNode tree, String what, String cure) {
        byte[] bytes;
        try {
            bytes = MAPPER.writeValueAsBytes(tree);
        } catch (JsonProcessingException e) {
            // Of a tree, only the depth can stand in the way.
            throw CrabException.of(ErrorCode.LIMIT_EXCEEDED, what, e.getOriginalMessage(), cure, e);
        }
        if (bytes.length > MAX_BYTES) {
            throw CrabException.of(
                    ErrorCode.LIMIT_EXCEEDED,
                    what,
                    "it would have " + bytes.length + " bytes, and at most " + MAX_BYTES + " are allowed",
                    cure);
        }
        return bytes;
    }
}

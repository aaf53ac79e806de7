package dev.crab.overlap;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** SHA-256 over text and over canonical JSON (keys sorted, no white space). */
public final class Digest {
    private static final JsonMapper CANONICAL =
            JsonMapper.builder().enable(JsonNodeFeature.WRITE_PROPERTIES_SORTED).build();

    private Digest() {}

    /** The digest of the parts in order, each preceded by its length, so that different splits differ; 64 hexadecimal digits. */
    public static String of(String... parts) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            for (String part : parts) {
                byte[] bytes = part.getBytes(StandardCharsets.UTF_8);
                sha.update((bytes.length + ":").getBytes(StandardCharsets.US_ASCII));
                sha.update(bytes);
            }
            return HexFormat.of().formatHex(sha.digest());
        } catch (NoSuchAlgorithmException e) {
            throw CrabException.of(ErrorCode.INTERNAL, "no digest can be made", "SHA-256 is missing", "use a JDK", e);
        }
    }

    /** JSON text with sorted keys: equal for equal content, whatever order its keys came in. */
    public static String canonical(JsonNode json) {
        try {
            return CANONICAL.writeValueAsString(json);
        } catch (JsonProcessingException e) {
            throw CrabException.of(
                    ErrorCode.INTERNAL, "JSON cannot be written", e.getOriginalMessage(), "report this", e);
        }
    }
}

package dev.crab.runtime.store;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of a journal; {@code docs/store-format.md}, "Journal", is the specification. All numbers are big-endian.
 *
 * <p>Each frame says how much of the journal was durable when it was written. A frame that is intact therefore proves that everything
 * before that offset had once been flushed: damage there is corruption and not the torn end that a power cut leaves. The side file says
 * the same for the last frame, which no later one can vouch for.
 */
final class JournalFormat {
    static final int VERSION = 1;
    static final int HEADER_BYTES = 16;
    static final int FRAME_BYTES = 28;
    static final int DURABLE_BYTES = 16;
    static final int FRAME_MARK = 0x43524a66; // "CRJf"

    private static final int HEADER_MARK_HIGH = 0x63726162; // "crab"
    private static final int HEADER_MARK_LOW = 0x6a726e6c; // "jrnl"
    private static final int DURABLE_MARK = 0x43524a64; // "CRJd"

    private JournalFormat() {}

    static byte[] header() {
        ByteBuffer buffer = ByteBuffer.allocate(HEADER_BYTES)
                .putInt(HEADER_MARK_HIGH)
                .putInt(HEADER_MARK_LOW)
                .put((byte) VERSION)
                .put(new byte[3]);
        return buffer.putInt(crc(buffer.array(), 0, 12)).array();
    }

    /** The version that a header states, or null if the bytes are no header. */
    static @Nullable Integer version(byte[] header) {
        ByteBuffer buffer = ByteBuffer.wrap(header);
        boolean intact = header.length == HEADER_BYTES
                && buffer.getInt(0) == HEADER_MARK_HIGH
                && buffer.getInt(4) == HEADER_MARK_LOW
                && buffer.getInt(12) == crc(header, 0, 12);
        return intact ? Byte.toUnsignedInt(header[8]) : null;
    }

    /** A frame's payload. */
    static byte[] payload(String kind, ObjectNode body) {
        ObjectNode payload = StoreJson.MAPPER.createObjectNode();
        payload.put("kind", Names.kind(kind));
        payload.set("body", body);
        return StoreJson.write(
                payload,
                "a journal record of kind " + kind + " cannot be appended",
                "bound what goes into one record, for instance a tool's output");
    }

    static byte[] frame(long sequence, long durable, byte[] payload) {
        ByteBuffer buffer = ByteBuffer.allocate(FRAME_BYTES + payload.length)
                .putInt(FRAME_MARK)
                .putInt(payload.length)
                .putLong(sequence)
                .putLong(durable);
        buffer.putInt(frameCrc(buffer.array(), payload)).put(payload);
        return buffer.array();
    }

    /** Checksum of a frame: over its first 24 bytes and its payload. */
    static int frameCrc(byte[] head, byte[] payload) {
        CRC32C crc = new CRC32C();
        crc.update(head, 0, FRAME_BYTES - 4);
        crc.update(payload, 0, payload.length);
        return (int) crc.getValue();
    }

    static byte[] durable(long length) {
        ByteBuffer buffer =
                ByteBuffer.allocate(DURABLE_BYTES).putInt(DURABLE_MARK).putLong(length);
        return buffer.putInt(crc(buffer.array(), 0, 12)).array();
    }

    /** The length that a side file states, or null if it is damaged. */
    static @Nullable Long durable(byte[] content) {
        ByteBuffer buffer = ByteBuffer.wrap(content);
        boolean intact = content.length == DURABLE_BYTES
                && buffer.getInt(0) == DURABLE_MARK
                && buffer.getInt(12) == crc(content, 0, 12)
                && buffer.getLong(4) >= 0;
        return intact ? buffer.getLong(4) : null;
    }

    /** The record of a payload whose checksum held; null if it is nevertheless no record, which only a writer's fault can cause. */
    static @Nullable JournalRecord record(long sequence, byte[] payload) {
        try {
            JsonNode tree = StoreJson.MAPPER.readTree(payload);
            return tree.get("kind") instanceof com.fasterxml.jackson.databind.node.TextNode kind
                            && tree.get("body") instanceof ObjectNode body
                    ? new JournalRecord(sequence, Names.kind(kind.textValue()), body)
                    : null;
        } catch (IOException | CrabException e) {
            return null;
        }
    }

    private static int crc(byte[] bytes, int from, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, from, length);
        return (int) crc.getValue();
    }
}

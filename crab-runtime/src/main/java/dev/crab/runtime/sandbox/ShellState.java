package dev.crab.runtime.sandbox;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * What one call of a shell session hands to the next.
 *
 * @param directory the working directory
 * @param script a bash script that brings the rest back
 */
@SuppressWarnings("ArrayRecordComponent") // bytes of a shell, in no particular encoding; nobody compares states
record ShellState(byte[] directory, byte[] script) {
    private static final byte[] END = {0, 'e', 'n', 'd', 0};

    /** Takes what the wrapper wrote to descriptor 3; null if it is not whole. */
    static @Nullable ShellState parse(byte[] written) {
        int directoryEnd = indexOfNul(written, 0);
        int scriptEnd = written.length - END.length;
        if (directoryEnd < 1
                || written[0] != '/'
                || scriptEnd <= directoryEnd
                || !Arrays.equals(written, scriptEnd, written.length, END, 0, END.length)
                || indexOfNul(written, directoryEnd + 1) != scriptEnd) {
            return null;
        }
        return new ShellState(
                Arrays.copyOf(written, directoryEnd), Arrays.copyOfRange(written, directoryEnd + 1, scriptEnd));
    }

    /** As text that any store keeps as it is. */
    String encode() {
        Base64.Encoder base64 = Base64.getEncoder();
        return base64.encodeToString(directory) + "." + base64.encodeToString(script);
    }

    /** Reverses {@link #encode}; null for what it did not make. */
    static @Nullable ShellState decode(String encoded) {
        int dot = encoded.indexOf('.');
        if (dot < 0) {
            return null;
        }
        try {
            Base64.Decoder base64 = Base64.getDecoder();
            return new ShellState(
                    base64.decode(encoded.substring(0, dot).getBytes(StandardCharsets.US_ASCII)),
                    base64.decode(encoded.substring(dot + 1).getBytes(StandardCharsets.US_ASCII)));
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private static int indexOfNul(byte[] bytes, int from) {
        for (int i = from; i < bytes.length; i++) {
            if (bytes[i] == 0) {
                return i;
            }
        }
        return -1;
    }
}

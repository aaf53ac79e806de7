package dev.crab.runtime.sandbox;

import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * What became of a command. Immutable as long as nobody writes into the arrays.
 *
 * @param end how the command ended
 * @param stdout what it wrote to standard output, up to the request's limit
 * @param stderr what it wrote to standard error, up to the request's limit
 * @param truncated whether output beyond the limit was dropped
 * @param duration from the request to the end
 */
@SuppressWarnings("ArrayRecordComponent") // bytes of a stream; nobody compares results
public record ExecResult(End end, byte[] stdout, byte[] stderr, boolean truncated, Duration duration) {
    /** How a command ended. */
    public sealed interface End {
        /** It exited by itself with this status, 0 to 255. */
        record Exited(int status) implements End {}

        /** A signal ended it. */
        record Signaled(int signal) implements End {}

        /** It took longer than the request allowed, and its process group was killed. */
        record TimedOut(Duration after) implements End {}
    }

    /** The exit status as a shell gives it: 128 + n for signal n, 124 for a time-out. */
    public int status() {
        if (end instanceof End.Exited exited) {
            return exited.status();
        }
        return end instanceof End.Signaled signaled ? 128 + signaled.signal() : 124;
    }

    public boolean isSuccess() {
        return status() == 0;
    }

    /** Standard output as UTF-8; malformed input becomes U+FFFD. */
    public String out() {
        return new String(stdout, StandardCharsets.UTF_8);
    }

    /** Standard error as UTF-8; malformed input becomes U+FFFD. */
    public String err() {
        return new String(stderr, StandardCharsets.UTF_8);
    }

    /** Both outputs and, where it is not plain success, how the command ended: what a model should read. */
    public String text() {
        StringBuilder text = new StringBuilder(out());
        if (stderr.length > 0) {
            if (!text.isEmpty() && text.charAt(text.length() - 1) != '\n') {
                text.append('\n');
            }
            text.append(err());
        }
        if (truncated) {
            text.append("\n[output truncated]");
        }
        if (end instanceof End.TimedOut timedOut) {
            text.append("\n[killed: still running after ")
                    .append(timedOut.after().toSeconds())
                    .append(" s]");
        } else if (end instanceof End.Signaled signaled) {
            text.append("\n[ended by signal ").append(signaled.signal()).append(']');
        } else if (status() != 0) {
            text.append("\n[exit status ").append(status()).append(']');
        }
        return text.toString();
    }
}

package dev.crab.runtime.sandbox;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.UnixStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One request's connection to pid 1: frames out, frames in. Not thread-safe.
 *
 * <p>Pid 1 lives among hostile processes, so what it sends is bounded and checked like any input.
 */
final class InitConnection implements AutoCloseable {
    private static final int MAX_FRAME = 256 << 10;
    private static final int SLICE_MILLIS = 200;

    private final String id;
    private final UnixStream stream;
    private final Runnable onClose;
    private byte[] pending = new byte[16 << 10];
    private int start;
    private int end;

    InitConnection(String id, UnixStream stream, Runnable onClose) {
        this.id = id;
        this.stream = stream;
        this.onClose = onClose;
    }

    /** A frame from pid 1. */
    @SuppressWarnings("ArrayRecordComponent") // bytes off the wire; nobody compares frames
    record Frame(int type, byte[] payload) {
        ByteBuffer reader() {
            return ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    void send(int type, byte[] payload) throws IOException {
        byte[] frame = new byte[Protocol.HEADER + payload.length];
        ByteBuffer.wrap(frame)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(payload.length)
                .put((byte) type)
                .put(payload);
        int sent = 0;
        while (sent < frame.length) {
            int now = stream.write(frame, sent);
            sent += now;
            if (now == 0) {
                stream.await(true, SLICE_MILLIS);
                checkInterrupt();
            }
        }
    }

    /**
     * The next frame.
     *
     * @param deadline {@link System#nanoTime} when to give up; null waits for ever
     * @return null at the end of the stream
     * @throws Late when the deadline passes first
     */
    @Nullable
    Frame receive(@Nullable Long deadline) throws IOException, Late {
        while (true) {
            Frame frame = parse();
            if (frame != null) {
                return frame;
            }
            byte[] more = stream.read();
            if (more == null) {
                return null;
            }
            if (more.length > 0) {
                append(more);
                continue;
            }
            int wait = SLICE_MILLIS;
            if (deadline != null) {
                long left = deadline - System.nanoTime();
                if (left <= 0) {
                    throw new Late();
                }
                wait = (int) Math.min(wait, left / 1_000_000 + 1);
            }
            stream.await(false, wait);
            checkInterrupt();
        }
    }

    /** Reads the answer that closes a request, which must be of that type; an ERROR becomes the exception that {@code failed} makes. */
    Frame expect(int type, long deadline, ErrorCode failed, String what) throws IOException {
        try {
            Frame frame = receive(deadline);
            if (frame == null) {
                throw gone(what);
            }
            if (frame.type() == Protocol.ERROR) {
                throw error(frame, failed, what);
            }
            if (frame.type() != type) {
                throw violation("frame type " + frame.type() + " where " + type + " belongs");
            }
            return frame;
        } catch (Late e) {
            throw CrabException.of(
                    failed, what, "pid 1 of sandbox " + id + " did not answer in time", "see whether it is frozen", e);
        }
    }

    /** Waits until pid 1 has closed its end, so that a capture right after finds no open connection. */
    void awaitEnd() throws IOException {
        long deadline = System.nanoTime() + 5_000_000_000L;
        try {
            while (receive(deadline) != null) {
                // nothing of what may still come matters
            }
        } catch (Late e) {
            throw CrabException.of(
                    ErrorCode.PROTOCOL_VIOLATION,
                    "sandbox " + id + " answers wrongly",
                    "pid 1 did not close a finished connection",
                    "restore the last checkpoint",
                    e);
        }
    }

    CrabException error(Frame frame, ErrorCode code, String what) {
        if (frame.payload().length != 5) {
            return violation("an ERROR of " + frame.payload().length + " bytes");
        }
        ByteBuffer reader = frame.reader();
        int errno = reader.getInt();
        String stage = Protocol.stage(reader.get());
        return CrabException.of(code, what, InitErrors.name(errno) + " at " + stage, InitErrors.cure(errno));
    }

    CrabException violation(String detail) {
        return CrabException.of(
                ErrorCode.PROTOCOL_VIOLATION,
                "sandbox " + id + " answers wrongly",
                detail,
                "something in the sandbox tampers with its pid 1: restore an earlier checkpoint");
    }

    CrabException gone(String what) {
        return CrabException.of(
                ErrorCode.SANDBOX_LOST,
                what,
                "pid 1 of sandbox " + id + " closed the connection without an answer",
                "restore the last checkpoint");
    }

    private @Nullable Frame parse() {
        if (end - start < Protocol.HEADER) {
            return null;
        }
        ByteBuffer header = ByteBuffer.wrap(pending, start, Protocol.HEADER).order(ByteOrder.LITTLE_ENDIAN);
        int size = header.getInt();
        if (size < 0 || size > MAX_FRAME) {
            throw violation("a frame of " + Integer.toUnsignedString(size) + " bytes");
        }
        if (end - start < Protocol.HEADER + size) {
            return null;
        }
        int type = header.get() & 0xff;
        int from = start + Protocol.HEADER;
        start = from + size;
        return new Frame(type, Arrays.copyOfRange(pending, from, start));
    }

    private void append(byte[] more) {
        if (end + more.length > pending.length) {
            int kept = end - start;
            byte[] room = kept + more.length > pending.length
                    ? new byte[Math.max(2 * pending.length, kept + more.length)]
                    : pending;
            System.arraycopy(pending, start, room, 0, kept);
            pending = room;
            start = 0;
            end = kept;
        }
        System.arraycopy(more, 0, pending, end, more.length);
        end += more.length;
    }

    private void checkInterrupt() {
        if (Thread.interrupted()) {
            throw CrabException.interrupted("waiting for sandbox " + id, new InterruptedException());
        }
    }

    @Override
    public void close() {
        stream.close();
        onClose.run();
    }

    /** A deadline passed. */
    static final class Late extends Exception {
        private static final long serialVersionUID = 1L;

        Late() {
            super(null, null, false, false);
        }
    }
}

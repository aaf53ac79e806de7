package dev.crab.runtime.sandbox;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs one command through pid 1 to its end. Used once, by one thread. */
final class CommandRunner {
    /** How long after SIGKILL a command's end may still take. */
    private static final Duration GRACE = Duration.ofSeconds(20);

    private final ExecRequest request;
    private final Map<String, byte[]> environment;
    private final String what;
    private final Bounded stdout;
    private final Bounded stderr;
    private final Bounded state;
    private final long began = System.nanoTime();
    private int inputSent;
    private boolean inputEnded;
    private boolean timedOut;

    CommandRunner(String id, ExecRequest request) {
        this(id, request, bytes(request.environment()), 0);
    }

    /** With an environment of bytes in place of the request's, and a bound for what the command may write to descriptor 3. */
    CommandRunner(String id, ExecRequest request, Map<String, byte[]> environment, int stateLimit) {
        this.request = request;
        this.environment = environment;
        this.what = "the command " + request.command().get(0) + " could not be run in sandbox " + id;
        this.stdout = new Bounded(request.outputLimit());
        this.stderr = new Bounded(request.outputLimit());
        this.state = new Bounded(stateLimit);
    }

    /** What the command wrote to descriptor 3, or null if that was more than the limit. */
    byte @Nullable [] state() {
        return state.dropped ? null : state.bytes.toByteArray();
    }

    ExecResult run(InitConnection connection, boolean wantsState) {
        byte[] body = body(wantsState);
        try {
            connection.send(Protocol.EXEC, body);
            boolean ended = false;
            try {
                feed(connection);
                int status = relay(connection);
                ended = true;
                connection.awaitEnd();
                return result(status);
            } finally {
                if (!ended) {
                    killQuietly(connection);
                }
            }
        } catch (IOException e) {
            throw CrabException.of(
                    ErrorCode.SANDBOX_LOST, what, CrabException.reason(e), "restore the last checkpoint", e);
        }
    }

    private static Map<String, byte[]> bytes(Map<String, String> environment) {
        Map<String, byte[]> bytes = new LinkedHashMap<>();
        environment.forEach((name, value) -> bytes.put(name, value.getBytes(StandardCharsets.UTF_8)));
        return bytes;
    }

    private byte[] body(boolean wantsState) {
        ByteArrayOutputStream strings = new ByteArrayOutputStream();
        put(strings, request.workingDirectory().getBytes(StandardCharsets.UTF_8));
        request.command().forEach(argument -> put(strings, argument.getBytes(StandardCharsets.UTF_8)));
        environment.forEach((name, value) -> {
            strings.writeBytes((name + "=").getBytes(StandardCharsets.UTF_8));
            put(strings, value);
        });
        int flags = (request.input().length > 0 ? Protocol.FLAG_STDIN : 0) | (wantsState ? Protocol.FLAG_STATE : 0);
        byte[] body = ByteBuffer.allocate(12 + strings.size())
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(flags)
                .putInt(request.command().size())
                .putInt(environment.size())
                .put(strings.toByteArray())
                .array();
        if (body.length > Protocol.MAX_COMMAND) {
            throw CrabException.of(
                    ErrorCode.EXEC_FAILED,
                    what,
                    "arguments and environment take " + body.length + " bytes",
                    "pass long text by standard input or a file");
        }
        return body;
    }

    private void put(ByteArrayOutputStream strings, byte[] text) {
        for (byte b : text) {
            if (b == 0) {
                throw CrabException.of(
                        ErrorCode.EXEC_FAILED,
                        what,
                        "an argument or variable holds a NUL character",
                        "remove it: C strings end there");
            }
        }
        strings.writeBytes(text);
        strings.write(0);
    }

    /** Sends the next chunk of standard input: one may be under way at a time, so pid 1 can always read a KILL. */
    private void feed(InitConnection connection) {
        byte[] input = request.input();
        if (inputEnded || input.length == 0) {
            return;
        }
        try {
            if (inputSent < input.length) {
                int to = Math.min(input.length, inputSent + Protocol.MAX_CHUNK);
                connection.send(Protocol.STDIN, Arrays.copyOfRange(input, inputSent, to));
                inputSent = to;
            } else {
                connection.send(Protocol.STDIN_EOF, new byte[0]);
                inputEnded = true;
            }
        } catch (IOException e) {
            inputEnded = true; // pid 1 is done with this command; what became of it is on its way
        }
    }

    private int relay(InitConnection connection) throws IOException {
        Duration timeout = request.timeout();
        Long deadline = timeout == null ? null : Long.valueOf(began + timeout.toNanos());
        while (true) {
            InitConnection.Frame frame;
            try {
                frame = connection.receive(deadline);
            } catch (InitConnection.Late e) {
                if (timedOut) {
                    throw CrabException.of(
                            ErrorCode.EXEC_FAILED,
                            what,
                            "it did not end within " + GRACE.toSeconds() + " s after SIGKILL",
                            "restore the last checkpoint",
                            e);
                }
                timedOut = true;
                deadline = System.nanoTime() + GRACE.toNanos();
                connection.send(Protocol.KILL, new byte[0]);
                continue;
            }
            if (frame == null) {
                throw connection.gone(what);
            }
            switch (frame.type()) {
                case Protocol.START -> {}
                case Protocol.STDOUT -> stdout.add(frame.payload());
                case Protocol.STDERR -> stderr.add(frame.payload());
                case Protocol.STATE -> state.add(frame.payload());
                case Protocol.CREDIT -> feed(connection);
                case Protocol.ERROR -> {
                    connection.awaitEnd();
                    throw connection.error(frame, ErrorCode.EXEC_FAILED, what);
                }
                case Protocol.EXIT -> {
                    if (frame.payload().length != 4) {
                        throw connection.violation("an EXIT of " + frame.payload().length + " bytes");
                    }
                    return frame.reader().getInt();
                }
                default -> throw connection.violation("frame type " + frame.type() + " while a command runs");
            }
        }
    }

    private ExecResult result(int status) {
        Duration duration = Duration.ofNanos(System.nanoTime() - began);
        ExecResult.End end = timedOut
                ? new ExecResult.End.TimedOut(duration)
                : (status & 0x7f) == 0
                        ? new ExecResult.End.Exited(status >> 8 & 0xff)
                        : new ExecResult.End.Signaled(status & 0x7f);
        return new ExecResult(
                end,
                stdout.bytes.toByteArray(),
                stderr.bytes.toByteArray(),
                stdout.dropped || stderr.dropped,
                duration);
    }

    /** An abandoned command must not work on unseen. */
    private static void killQuietly(InitConnection connection) {
        boolean interrupted = Thread.interrupted();
        try {
            connection.send(Protocol.KILL, new byte[0]);
        } catch (IOException | CrabException e) {
            // pid 1 or the command is gone already: that is what the caller is being told
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Keeps the first bytes of a stream. */
    private static final class Bounded {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final int limit;
        private boolean dropped;

        Bounded(int limit) {
            this.limit = limit;
        }

        void add(byte[] more) {
            int room = Math.min(limit - bytes.size(), more.length);
            bytes.write(more, 0, room);
            dropped = dropped || room < more.length;
        }
    }
}

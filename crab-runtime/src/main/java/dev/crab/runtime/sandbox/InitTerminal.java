package dev.crab.runtime.sandbox;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.InitConnection.Frame;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;

/**
 * A living shell on a terminal whose master pid 1 keeps. Between two calls no connection is open; what the shell shows then waits in pid
 * 1's ring of 64 KiB, the oldest of it giving way. Not thread-safe.
 */
final class InitTerminal implements Sandbox.PtyShell {
    private static final int ROWS = 24;
    private static final int COLUMNS = 80;
    private static final int READ_LIMIT = 1 << 20;
    private static final int INPUT_PIECE = 4000;
    private static final long ANSWER_NANOS = 30_000_000_000L;

    private final InitClient client;
    private final String name;
    private final String what;
    private byte[] unfinished = new byte[0]; // the start of a character whose rest is still to come

    InitTerminal(String id, InitClient client, String name) {
        if (!name.matches("[A-Za-z0-9][A-Za-z0-9._-]{0,59}")) {
            throw CrabException.of(
                    ErrorCode.NAME_INVALID,
                    "a terminal cannot be named " + name,
                    "a name is 1 to 60 letters, digits, dots, dashes and underscores",
                    "choose another name");
        }
        this.client = client;
        this.name = name;
        this.what = "terminal " + name + " of sandbox " + id + " cannot be used";
        open();
    }

    private void open() {
        ExecRequest shell = ExecRequest.of("/bin/bash", "-i").withEnvironment("TERM", "xterm");
        ByteArrayOutputStream strings = new ByteArrayOutputStream();
        put(strings, name);
        put(strings, shell.workingDirectory());
        shell.command().forEach(argument -> put(strings, argument));
        shell.environment().forEach((variable, value) -> put(strings, variable + "=" + value));
        byte[] body = ByteBuffer.allocate(12 + strings.size())
                .order(ByteOrder.LITTLE_ENDIAN)
                .putShort((short) ROWS)
                .putShort((short) COLUMNS)
                .putInt(shell.command().size())
                .putInt(shell.environment().size())
                .put(strings.toByteArray())
                .array();
        ask(Protocol.PTY_OPEN, body, Protocol.PTY);
    }

    private static void put(ByteArrayOutputStream strings, String text) {
        strings.writeBytes(text.getBytes(StandardCharsets.UTF_8));
        strings.write(0);
    }

    private void ask(int type, byte[] body, int answer) {
        try (InitConnection connection = client.connect()) {
            connection.send(type, body);
            connection.expect(answer, System.nanoTime() + ANSWER_NANOS, ErrorCode.EXEC_FAILED, what);
            connection.awaitEnd();
        } catch (IOException e) {
            throw lost(e);
        }
    }

    private CrabException lost(IOException e) {
        return CrabException.of(
                ErrorCode.SANDBOX_LOST, what, CrabException.reason(e), "restore the last checkpoint", e);
    }

    @Override
    public void type(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int from = 0; from < bytes.length; from += INPUT_PIECE) {
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            put(body, name);
            body.writeBytes(Arrays.copyOfRange(bytes, from, Math.min(bytes.length, from + INPUT_PIECE)));
            ask(Protocol.PTY_INPUT, body.toByteArray(), Protocol.DONE);
        }
    }

    @Override
    public String read(Duration quiet, Duration limit) {
        ByteArrayOutputStream shown = new ByteArrayOutputStream();
        shown.writeBytes(unfinished);
        try (InitConnection connection = client.connect()) {
            connection.send(Protocol.PTY_ATTACH, name.getBytes(StandardCharsets.UTF_8));
            if (listen(connection, shown, quiet, limit)) {
                connection.send(Protocol.DETACH, new byte[0]);
                // What was on its way when pid 1 heard of the detachment comes before the end of the stream.
                while (true) {
                    Frame frame = connection.receive(System.nanoTime() + ANSWER_NANOS);
                    if (frame == null) {
                        break;
                    }
                    take(connection, frame, shown);
                }
            } else {
                connection.awaitEnd();
            }
        } catch (IOException e) {
            throw lost(e);
        } catch (InitConnection.Late e) {
            throw CrabException.of(
                    ErrorCode.EXEC_FAILED, what, "pid 1 did not let go of it", "restore the last checkpoint", e);
        }
        return text(shown.toByteArray());
    }

    /** Collects until it is quiet, time is up or there is very much; false if the shell has ended. */
    private boolean listen(InitConnection connection, ByteArrayOutputStream shown, Duration quiet, Duration limit)
            throws IOException {
        long end = System.nanoTime() + limit.toNanos();
        while (shown.size() < READ_LIMIT) {
            try {
                Frame frame = connection.receive(Math.min(end, System.nanoTime() + quiet.toNanos()));
                if (frame == null) {
                    throw connection.gone(what);
                }
                if (!take(connection, frame, shown)) {
                    return false;
                }
            } catch (InitConnection.Late e) {
                return true;
            }
            if (System.nanoTime() >= end) {
                return true;
            }
        }
        return true;
    }

    private boolean take(InitConnection connection, Frame frame, ByteArrayOutputStream shown) {
        switch (frame.type()) {
            case Protocol.REPLY_DATA -> shown.writeBytes(frame.payload());
            case Protocol.EXIT -> {
                return false;
            }
            case Protocol.ERROR -> throw connection.error(frame, ErrorCode.EXEC_FAILED, what);
            default -> throw connection.violation("frame type " + frame.type() + " from a terminal");
        }
        return true;
    }

    /** Decodes up to the last whole character. */
    private String text(byte[] bytes) {
        int whole = bytes.length;
        for (int back = 1; back <= Math.min(3, bytes.length); back++) {
            int lead = bytes[bytes.length - back] & 0xff;
            int length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
            if (length > back) {
                whole = bytes.length - back;
                break;
            }
            if (lead < 0x80 || lead >= 0xc0) {
                break;
            }
        }
        unfinished = Arrays.copyOfRange(bytes, whole, bytes.length);
        return new String(bytes, 0, whole, StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        // Nothing is held between calls; the shell lives on in the sandbox.
    }
}

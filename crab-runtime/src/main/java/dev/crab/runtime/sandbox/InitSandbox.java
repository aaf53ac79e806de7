package dev.crab.runtime.sandbox;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.UtsNamespace;
import dev.crab.runtime.sandbox.InitConnection.Frame;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** A running sandbox that is driven through its pid 1. Thread-safe; each request has a connection of its own. */
final class InitSandbox implements SandboxFactory.RunningSandbox {
    private static final Duration FILE_PATIENCE = Duration.ofMinutes(2);

    private static final long ANSWERS_WITHIN_NANOS = 10_000_000_000L;

    private final String id;
    private final SandboxProcesses processes;
    private final InitClient client;
    private final Runnable onClose;
    private final Map<String, String> attributes = new ConcurrentHashMap<>();

    InitSandbox(String id, SandboxProcesses processes, InitClient client, Runnable onClose) {
        this.id = id;
        this.processes = processes;
        this.client = client;
        this.onClose = onClose;
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public void ensureReachable() {
        try {
            client.ping(System.nanoTime() + ANSWERS_WITHIN_NANOS);
        } catch (IOException e) {
            throw CrabException.of(
                    ErrorCode.CONTROL_SOCKET_REFUSED,
                    "sandbox " + id + " cannot be committed",
                    "its pid 1 does not answer: " + CrabException.reason(e),
                    "restore the last checkpoint",
                    e);
        }
    }

    @Override
    public ExecResult exec(ExecRequest request) {
        try (InitConnection connection = client.connect()) {
            return new CommandRunner(id, withOwn(request)).run(connection, false);
        }
    }

    private ExecRequest withOwn(ExecRequest request) {
        ExecRequest complete = request;
        for (Map.Entry<String, String> own : environment().entrySet()) {
            if (!request.environment().containsKey(own.getKey())) {
                complete = complete.withEnvironment(own.getKey(), own.getValue());
            }
        }
        return complete;
    }

    /** The variables that each new command gets. */
    Map<String, String> environment() {
        Map<String, String> variables = new TreeMap<>();
        attributes.forEach((name, value) -> {
            if (name.startsWith(ENVIRONMENT)) {
                variables.put(name.substring(ENVIRONMENT.length()), value);
            }
        });
        return variables;
    }

    /** Runs a command whose descriptor 3 hands back state; the runner keeps it. */
    ExecResult exec(CommandRunner runner) {
        try (InitConnection connection = client.connect()) {
            return runner.run(connection, true);
        }
    }

    @Override
    public Shell shell(String name) {
        return new ValueShell(this, name);
    }

    @Override
    public PtyShell pty(String name) {
        return new InitTerminal(id, client, name);
    }

    @Override
    public byte[] readFile(String path, int limit) {
        String what = "file " + path + " cannot be read in sandbox " + id;
        byte[] name = path(path, what);
        byte[] body = ByteBuffer.allocate(8 + name.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(limit)
                .put(name)
                .array();
        return request(what, Protocol.FILE_READ, body, connection -> {
            ByteArrayOutputStream content = new ByteArrayOutputStream();
            collect(connection, Protocol.REPLY_DATA, what, frame -> {
                if (frame.payload().length > limit - content.size()) {
                    throw connection.violation("more of a file than was asked for");
                }
                content.writeBytes(frame.payload());
            });
            return content.toByteArray();
        });
    }

    @Override
    public void writeFile(String path, byte[] content) {
        String what = "file " + path + " cannot be written in sandbox " + id;
        request(what, Protocol.FILE_WRITE, path(path, what), connection -> {
            try {
                for (int from = 0; from < content.length; from += Protocol.MAX_CHUNK) {
                    int to = Math.min(content.length, from + Protocol.MAX_CHUNK);
                    connection.send(Protocol.DATA, Arrays.copyOfRange(content, from, to));
                }
                connection.send(Protocol.DATA_EOF, new byte[0]);
            } catch (IOException e) {
                // Pid 1's worker gave up early; why, it says in its answer.
            }
            collect(connection, Protocol.DONE, what, frame -> {});
            return content;
        });
    }

    @Override
    public List<FileEntry> listFiles(String path) {
        String what = "directory " + path + " cannot be listed in sandbox " + id;
        return request(what, Protocol.FILE_LIST, path(path, what), connection -> {
            List<FileEntry> entries = new ArrayList<>();
            collect(connection, Protocol.ENTRY, what, frame -> {
                if (frame.payload().length < 10 || entries.size() > 100_000) {
                    throw connection.violation("a malformed directory entry");
                }
                ByteBuffer reader = frame.reader();
                FileEntry.Type type = type(reader.get());
                long size = reader.getLong();
                entries.add(new FileEntry(StandardCharsets.UTF_8.decode(reader).toString(), type, size));
            });
            entries.sort(Comparator.comparing(FileEntry::name));
            return List.copyOf(entries);
        });
    }

    private static FileEntry.Type type(byte code) {
        return switch (code) {
            case 0 -> FileEntry.Type.FILE;
            case 1 -> FileEntry.Type.DIRECTORY;
            case 2 -> FileEntry.Type.SYMLINK;
            default -> FileEntry.Type.OTHER;
        };
    }

    private interface FrameHandler {
        void accept(Frame frame);
    }

    /** Hands frames of that type to the handler until DONE. */
    private static void collect(InitConnection connection, int type, String what, FrameHandler handler) {
        long deadline = System.nanoTime() + FILE_PATIENCE.toNanos();
        try {
            while (true) {
                Frame frame = connection.receive(deadline);
                if (frame == null) {
                    throw connection.gone(what);
                }
                if (frame.type() == Protocol.DONE) {
                    return;
                }
                if (frame.type() == Protocol.ERROR) {
                    connection.awaitEnd();
                    throw connection.error(frame, ErrorCode.FILE_OPERATION_FAILED, what);
                }
                if (frame.type() != type) {
                    throw connection.violation("frame type " + frame.type() + " in a file operation");
                }
                handler.accept(frame);
            }
        } catch (IOException e) {
            throw CrabException.of(
                    ErrorCode.SANDBOX_LOST, what, CrabException.reason(e), "restore the last checkpoint", e);
        } catch (InitConnection.Late e) {
            throw CrabException.of(
                    ErrorCode.FILE_OPERATION_FAILED,
                    what,
                    "it did not end within " + FILE_PATIENCE.toSeconds() + " s",
                    "see whether the sandbox is frozen",
                    e);
        }
    }

    private <T> T request(String what, int type, byte[] body, Function<InitConnection, T> rest) {
        try (InitConnection connection = client.connect()) {
            connection.send(type, body);
            T result = rest.apply(connection);
            connection.awaitEnd();
            return result;
        } catch (IOException e) {
            throw CrabException.of(
                    ErrorCode.SANDBOX_LOST, what, CrabException.reason(e), "restore the last checkpoint", e);
        }
    }

    private static byte[] path(String path, String what) {
        byte[] bytes = path.getBytes(StandardCharsets.UTF_8);
        if (!path.startsWith("/") || path.indexOf('\0') >= 0 || bytes.length > 4000) {
            throw CrabException.of(
                    ErrorCode.FILE_OPERATION_FAILED,
                    what,
                    "the path is not an absolute path of at most 4000 bytes",
                    "give the path from the sandbox's root");
        }
        return bytes;
    }

    @Override
    public Map<String, String> attributes() {
        return attributes;
    }

    @Override
    public SandboxProcesses processes() {
        return processes;
    }

    @Override
    public SandboxFactory.Hold hold() {
        return client.hold();
    }

    @Override
    public void setHostName(String name) {
        try {
            UtsNamespace.setHostName(processes.initPid(), name);
        } catch (IOException e) {
            throw CrabException.io("sandbox " + id + " cannot be given the host name " + name, e);
        }
    }

    @Override
    public boolean mayExist(String path) {
        return client.mayExist(path);
    }

    @Override
    public void beforeRequests(Runnable action) {
        client.beforeRequests(action);
    }

    @Override
    public void close() {
        client.close();
        onClose.run();
    }
}

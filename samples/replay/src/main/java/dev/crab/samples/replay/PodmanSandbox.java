package dev.crab.samples.replay;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.FileEntry;
import dev.crab.runtime.sandbox.Sandbox;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A running container, with its commands run by {@code podman exec}. It has none of the shells that Crab carries on. Thread-safe. */
final class PodmanSandbox implements Sandbox {
    /** What podman itself fails with. */
    private static final int NOT_RUN = 125;

    /** What ends a command that takes too long, and its process group. */
    private static final int KILLED = 137;

    private static final int LISTING_LIMIT = 16 << 20;

    private final Podman podman;
    private final String container;

    PodmanSandbox(Podman podman, String container) {
        this.podman = podman;
        this.container = container;
    }

    @Override
    public String id() {
        return container;
    }

    @Override
    public ExecResult exec(ExecRequest request) {
        try {
            Path out = podman.said();
            Path err = podman.said();
            try {
                return exec(request, out, err);
            } finally {
                Files.delete(out);
                Files.delete(err);
            }
        } catch (IOException e) {
            throw CrabException.io("no command can be run in container " + container, e);
        }
    }

    private ExecResult exec(ExecRequest request, Path out, Path err) throws IOException {
        long begin = System.nanoTime();
        Process process = podman.process(executing(container, request))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        try (OutputStream in = process.getOutputStream()) {
            in.write(request.input());
        }
        int status = Podman.await(process);
        Duration duration = Duration.ofNanos(System.nanoTime() - begin);
        if (status == NOT_RUN) {
            throw CrabException.of(
                    ErrorCode.SANDBOX_LOST,
                    "no command can be run in container " + container,
                    Files.readString(err).strip(),
                    "see what podman says of it");
        }
        Duration limit = request.timeout();
        ExecResult.End end = status == KILLED && limit != null && duration.compareTo(limit) >= 0
                ? new ExecResult.End.TimedOut(limit)
                : new ExecResult.End.Exited(status);
        return new ExecResult(
                end,
                read(out, request.outputLimit()),
                read(err, request.outputLimit()),
                Math.max(Files.size(out), Files.size(err)) > request.outputLimit(),
                duration);
    }

    private static byte[] read(Path file, int limit) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return in.readNBytes(limit);
        }
    }

    static List<String> executing(String container, ExecRequest request) {
        List<String> arguments = new ArrayList<>(List.of("exec"));
        if (request.input().length > 0) {
            arguments.add("--interactive");
        }
        arguments.addAll(List.of("--workdir", request.workingDirectory()));
        request.environment().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .forEach(entry -> arguments.addAll(List.of("--env", entry.getKey() + "=" + entry.getValue())));
        arguments.add(container);
        Duration limit = request.timeout();
        if (limit != null) {
            arguments.addAll(List.of("/usr/bin/timeout", "--signal=KILL", limit.toMillis() / 1000.0 + "s"));
        }
        arguments.addAll(request.command());
        return arguments;
    }

    @Override
    public byte[] readFile(String path, int limit) {
        return files(
                limit,
                new byte[0],
                "test -f \"$1\" && exec cat -- \"$1\" || { echo \"$1 is no file\" >&2; exit 1; }",
                path);
    }

    @Override
    public void writeFile(String path, byte[] content) {
        files(
                LISTING_LIMIT,
                content,
                "set -e; mkdir -p -- \"$(dirname -- \"$1\")\"; new=$(mktemp \"$1.XXXXXX\"); cat > \"$new\";"
                        + " if [ -e \"$1\" ]; then chmod --reference=\"$1\" \"$new\"; chown --reference=\"$1\" \"$new\"; else chmod 644 \"$new\"; fi;"
                        + " mv -T -- \"$new\" \"$1\"",
                path);
    }

    @Override
    public List<FileEntry> listFiles(String path) {
        String listing = new String(
                files(
                        LISTING_LIMIT,
                        new byte[0],
                        "test -d \"$1\" && exec find \"$1/\" -mindepth 1 -maxdepth 1 -printf '%y %s %f\\0' || { echo \"$1 is no directory\" >&2; exit 1; }",
                        path),
                StandardCharsets.UTF_8);
        return Stream.of(listing.split("\0", -1))
                .filter(line -> !line.isEmpty())
                .map(PodmanSandbox::entry)
                .sorted(Comparator.comparing(FileEntry::name))
                .toList();
    }

    static FileEntry entry(String line) {
        String[] fields = line.split(" ", 3);
        FileEntry.Type type = switch (fields[0]) {
            case "f" -> FileEntry.Type.FILE;
            case "d" -> FileEntry.Type.DIRECTORY;
            case "l" -> FileEntry.Type.SYMLINK;
            default -> FileEntry.Type.OTHER;
        };
        return new FileEntry(fields[2], type, type == FileEntry.Type.FILE ? Long.parseLong(fields[1]) : 0);
    }

    /** Runs a line of shell over a path; answers with what it printed. */
    private byte[] files(int limit, byte[] input, String line, String path) {
        ExecResult result = exec(ExecRequest.of("/bin/sh", "-c", line, "sh", path)
                .withWorkingDirectory("/")
                .withInput(input)
                .withOutputLimit(limit));
        if (!result.isSuccess() || result.truncated()) {
            throw CrabException.of(
                    ErrorCode.FILE_OPERATION_FAILED,
                    "the operation on " + path + " failed",
                    result.truncated()
                            ? path + " is larger than " + limit + " bytes"
                            : result.err().strip(),
                    "name a file that can be read and written");
        }
        return result.stdout();
    }

    @Override
    public Shell shell(String name) {
        throw new UnsupportedOperationException("recorded agents have none");
    }

    @Override
    public PtyShell pty(String name) {
        throw new UnsupportedOperationException("recorded agents have none");
    }

    @Override
    public Map<String, String> attributes() {
        throw new UnsupportedOperationException("only Crab carries them");
    }
}

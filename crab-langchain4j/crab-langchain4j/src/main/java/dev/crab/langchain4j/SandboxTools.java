package dev.crab.langchain4j;

import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.FileEntry;
import dev.crab.runtime.sandbox.Sandbox;
import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * Ready-made tools for an agent that works in a sandbox: {@code bash} (one shell session, carried by value between calls),
 * {@code read_file}, {@code write_file}, {@code edit_file}, {@code list_files}. What a tool returns is bounded: the middle of a longer text
 * is left out and said to be. Thread-safe; calls of {@code bash} come one after the other.
 */
public final class SandboxTools {
    /** Default bound of a result: 16384 characters. */
    public static final int DEFAULT_RESULT_LIMIT = 16_384;

    private static final int FILE_LIMIT = 4 << 20;

    private final Sandbox sandbox;
    private final int resultLimit;
    private final Duration timeout;

    /** Tools with the defaults: results up to {@value #DEFAULT_RESULT_LIMIT} characters, commands up to two minutes. */
    public SandboxTools(Sandbox sandbox) {
        this(sandbox, DEFAULT_RESULT_LIMIT, ExecRequest.DEFAULT_TIMEOUT);
    }

    /**
     * Makes the tools.
     *
     * @param sandbox where they work, usually {@link Crab#sandbox(String)}
     * @param resultLimit characters a result may have, from 256
     * @param timeout how long a command may take
     */
    public SandboxTools(Sandbox sandbox, int resultLimit, Duration timeout) {
        if (resultLimit < 256) {
            throw new IllegalArgumentException("resultLimit must be at least 256: " + resultLimit);
        }
        this.sandbox = sandbox;
        this.resultLimit = resultLimit;
        this.timeout = timeout;
    }

    @Tool(
            name = "bash",
            value =
                    "Runs a command line in bash and returns its output. Working directory, exported variables and functions last"
                            + " between calls; start a service in the background with & and its output redirected to a file.")
    @SandboxEffect
    public synchronized String bash(@P("the command line") String command) {
        return bound(sandbox.shell("main")
                .run(given(command, "command"), ExecRequest.of("bash").withTimeout(timeout))
                .text());
    }

    @Tool(name = "read_file", value = "Returns the content of a text file.")
    @ReadOnlyEffect
    public String readFile(@P("absolute path of the file") String path) {
        return bound(text(given(path, "path")));
    }

    @Tool(name = "write_file", value = "Writes a text file, replacing what was there; makes missing directories.")
    @SandboxEffect
    public String writeFile(
            @P("absolute path of the file") String path, @P("the whole content of the file") String content) {
        byte[] bytes = given(content, "content").getBytes(StandardCharsets.UTF_8);
        sandbox.writeFile(given(path, "path"), bytes);
        return "wrote " + bytes.length + " bytes to " + path;
    }

    @Tool(
            name = "edit_file",
            value =
                    "Replaces one passage of a text file. The old text must occur exactly once; include lines around it to make it"
                            + " unique.")
    @SandboxEffect
    public String editFile(
            @P("absolute path of the file") String path,
            @P("the passage to replace, exactly as it stands in the file") String oldText,
            @P("what to put in its place") String newText) {
        given(newText, "newText");
        if (given(oldText, "oldText").isEmpty()) {
            throw new IllegalArgumentException("the old text is empty; use write_file to make a file");
        }
        String content = exactText(given(path, "path"));
        int first = content.indexOf(oldText);
        if (first < 0) {
            throw new IllegalArgumentException("the old text does not occur in " + path + "; read the file again");
        }
        if (content.indexOf(oldText, first + 1) >= 0) {
            throw new IllegalArgumentException(
                    "the old text occurs more than once in " + path + "; include lines around it");
        }
        String changed = content.substring(0, first) + newText + content.substring(first + oldText.length());
        sandbox.writeFile(path, changed.getBytes(StandardCharsets.UTF_8));
        return "replaced 1 passage in " + path;
    }

    @Tool(name = "list_files", value = "Lists a directory: one entry a line, directories end with /.")
    @ReadOnlyEffect
    public String listFiles(@P("absolute path of the directory") String path) {
        List<FileEntry> entries = sandbox.listFiles(given(path, "path"));
        return entries.isEmpty()
                ? "(empty)"
                : bound(entries.stream().map(SandboxTools::line).collect(Collectors.joining("\n")));
    }

    /** What the model left out it is told by name. */
    private static String given(String argument, String name) {
        return Objects.requireNonNull(argument, () -> "the argument " + name + " is missing");
    }

    private static String line(FileEntry entry) {
        return switch (entry.type()) {
            case FILE -> entry.name() + "  " + entry.size();
            case DIRECTORY -> entry.name() + "/";
            case SYMLINK -> entry.name() + "@";
            case OTHER -> entry.name() + "?";
        };
    }

    private String text(String path) {
        return new String(sandbox.readFile(path, FILE_LIMIT), StandardCharsets.UTF_8);
    }

    /** What is written back has to be what was read: other encodings would lose every byte that is not UTF-8. */
    private String exactText(String path) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder() // refuses what it cannot decode, which String does not
                    .decode(ByteBuffer.wrap(sandbox.readFile(path, FILE_LIMIT)))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException(path + " is not UTF-8 text; use bash to change it", e);
        }
    }

    /** Head and tail of the text: the head says what ran, the tail how it ended. */
    private String bound(String text) {
        if (text.length() <= resultLimit) {
            return text.isEmpty() ? "(no output)" : text;
        }
        int head = resultLimit / 2;
        int tail = resultLimit - head;
        int left = text.length() - resultLimit;
        return text.substring(0, head) + "\n[... " + left + " characters left out ...]\n"
                + text.substring(text.length() - tail);
    }
}

package dev.crab.langchain4j;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.FileEntry;
import dev.crab.runtime.sandbox.Sandbox;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The sandbox of a session by name: opens the session on first use, and sees to it that a tool only uses the sandbox of the session that
 * protects it.
 */
final class SandboxHandle implements Sandbox {
    private final SessionEntry entry;

    SandboxHandle(SessionEntry entry) {
        this.entry = entry;
    }

    @Override
    public String id() {
        return entry.id();
    }

    @Override
    public ExecResult exec(ExecRequest request) {
        return target(true).exec(request);
    }

    /** Looked up anew at each call: the session may have been closed and opened again in between. */
    @Override
    public Shell shell(String name) {
        return new Shell() {
            @Override
            public ExecResult run(String bashCommand) {
                return target(true).shell(name).run(bashCommand);
            }

            @Override
            public ExecResult run(String bashCommand, ExecRequest template) {
                return target(true).shell(name).run(bashCommand, template);
            }

            @Override
            public String workingDirectory() {
                return target(false).shell(name).workingDirectory();
            }
        };
    }

    @Override
    public PtyShell pty(String name) {
        PtyShell shell = target(true).pty(name);
        return new PtyShell() {
            @Override
            public void type(String text) {
                target(true);
                shell.type(text);
            }

            @Override
            public String read(Duration quiet, Duration limit) {
                return shell.read(quiet, limit);
            }

            @Override
            public void close() {
                shell.close();
            }
        };
    }

    @Override
    public byte[] readFile(String path, int limit) {
        return target(false).readFile(path, limit);
    }

    @Override
    public void writeFile(String path, byte[] content) {
        target(true).writeFile(path, content);
    }

    @Override
    public List<FileEntry> listFiles(String path) {
        return target(false).listFiles(path);
    }

    @Override
    public Map<String, String> attributes() {
        return target(true).attributes();
    }

    private Sandbox target(boolean changes) {
        RunningTool tool = RunningTool.current();
        if (tool != null) {
            ProtectedInvocation invocation = tool.invocation();
            if (invocation == null || !invocation.sessionId().equals(entry.id())) {
                throw new CrabError(CrabException.of(
                        ErrorCode.CONFIG_INVALID,
                        "the tool " + tool.name() + " cannot use the sandbox of session " + entry.id(),
                        invocation == null
                                ? "no session protects the call of the AI service that runs it"
                                : "the call of the AI service that runs it belongs to session "
                                        + invocation.sessionId(),
                        "call the AI service inside try (var session = Crab.session(\"" + entry.id()
                                + "\")), or with that memory id"));
            }
            if (changes) {
                tool.sandboxUsed();
            }
        } else if (changes) {
            // A thread that a tool has started, or the program itself: it cannot be told whose work this is.
            entry.sandboxUsedByAll();
        }
        return entry.open().session().sandbox();
    }
}

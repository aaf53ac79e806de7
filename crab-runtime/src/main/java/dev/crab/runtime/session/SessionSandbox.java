package dev.crab.runtime.session;

import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.FileEntry;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxProcesses;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** The sandbox that a session has at the moment: after a rollback another one. Looked up anew at each call. Thread-safe. */
final class SessionSandbox implements RunningSandbox {
    private final Supplier<RunningSandbox> current;

    SessionSandbox(Supplier<RunningSandbox> current) {
        this.current = current;
    }

    @Override
    public String id() {
        return current.get().id();
    }

    @Override
    public ExecResult exec(ExecRequest request) {
        return current.get().exec(request);
    }

    @Override
    public Shell shell(String name) {
        return new Shell() {
            @Override
            public ExecResult run(String bashCommand) {
                return current.get().shell(name).run(bashCommand);
            }

            @Override
            public ExecResult run(String bashCommand, ExecRequest template) {
                return current.get().shell(name).run(bashCommand, template);
            }

            @Override
            public String workingDirectory() {
                return current.get().shell(name).workingDirectory();
            }
        };
    }

    @Override
    public PtyShell pty(String name) {
        return current.get().pty(name);
    }

    @Override
    public byte[] readFile(String path, int limit) {
        return current.get().readFile(path, limit);
    }

    @Override
    public void writeFile(String path, byte[] content) {
        current.get().writeFile(path, content);
    }

    @Override
    public List<FileEntry> listFiles(String path) {
        return current.get().listFiles(path);
    }

    @Override
    public Map<String, String> attributes() {
        return current.get().attributes();
    }

    @Override
    public SandboxProcesses processes() {
        return current.get().processes();
    }

    @Override
    public SandboxFactory.Hold hold() {
        return current.get().hold();
    }

    @Override
    public void ensureReachable() {
        current.get().ensureReachable();
    }

    @Override
    public void setHostName(String name) {
        current.get().setHostName(name);
    }

    @Override
    public boolean mayExist(String path) {
        return current.get().mayExist(path);
    }

    @Override
    public void beforeRequests(Runnable action) {
        current.get().beforeRequests(action);
    }

    @Override
    public void close() {
        current.get().close();
    }
}

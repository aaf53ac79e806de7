package dev.crab.samples.quickstart;

import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.FileEntry;
import dev.crab.runtime.sandbox.Sandbox;
import java.util.List;
import java.util.Map;

/** A sandbox that notes each operation in the {@link CommandLog} before it is carried out. */
record LoggedSandbox(Sandbox sandbox, CommandLog log) implements Sandbox {
    @Override
    public String id() {
        return sandbox.id();
    }

    @Override
    public ExecResult exec(ExecRequest request) {
        log.append("exec " + String.join(" ", request.command()));
        return sandbox.exec(request);
    }

    @Override
    public Shell shell(String name) {
        return new LoggedShell(sandbox.shell(name), log);
    }

    @Override
    public PtyShell pty(String name) {
        log.append("pty " + name);
        return sandbox.pty(name);
    }

    @Override
    public byte[] readFile(String path, int limit) {
        log.append("read " + path);
        return sandbox.readFile(path, limit);
    }

    @Override
    public void writeFile(String path, byte[] content) {
        log.append("write " + path);
        sandbox.writeFile(path, content);
    }

    @Override
    public List<FileEntry> listFiles(String path) {
        log.append("list " + path);
        return sandbox.listFiles(path);
    }

    @Override
    public Map<String, String> attributes() {
        return sandbox.attributes();
    }

    private record LoggedShell(Shell shell, CommandLog log) implements Shell {
        @Override
        public ExecResult run(String bashCommand) {
            log.append("shell " + bashCommand);
            KillWindow.open(bashCommand);
            return shell.run(bashCommand);
        }

        @Override
        public ExecResult run(String bashCommand, ExecRequest template) {
            log.append("shell " + bashCommand);
            KillWindow.open(bashCommand);
            return shell.run(bashCommand, template);
        }

        @Override
        public String workingDirectory() {
            return shell.workingDirectory();
        }
    }
}

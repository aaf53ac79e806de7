package dev.crab.runtime.sandbox;

/** A shell session whose state is handed from call to call. */
final class ValueShell implements Sandbox.Shell {
    private final InitSandbox sandbox;
    private final String name;

    ValueShell(InitSandbox sandbox, String name) {
        this.sandbox = sandbox;
        this.name = name;
    }

    @Override
    public ExecResult run(String bashCommand) {
        return run(bashCommand, ExecRequest.of("bash"));
    }

    @Override
    public ExecResult run(String bashCommand, ExecRequest template) {
        throw new UnsupportedOperationException(sandbox.id() + name);
    }

    @Override
    public String workingDirectory() {
        throw new UnsupportedOperationException();
    }
}

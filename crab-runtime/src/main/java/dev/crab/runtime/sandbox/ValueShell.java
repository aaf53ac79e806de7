package dev.crab.runtime.sandbox;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A shell session whose state is handed from call to call by value.
 *
 * <p>Each call is a fresh bash that first evaluates the script the call before left, then the caller's line, and writes a new script to
 * descriptor 3 when it ends. Nothing of it lies in the sandbox's files, and between two calls there is no process: so a {@code cd} is no
 * effect that would need a checkpoint. Carried are the working directory, variables, functions, aliases, options and umask; not
 * carried are traps, positional parameters and jobs. The environment and working directory of the template count for the first call; in
 * later ones, variables of the template that differ from the defaults are exported on top of what the session has.
 */
final class ValueShell implements Sandbox.Shell {
    static final String ATTRIBUTE = "shell/";
    private static final int STATE_LIMIT = 256 << 10;
    private static final String WRAPPER = wrapper();

    private final InitSandbox sandbox;
    private final String attribute;

    ValueShell(InitSandbox sandbox, String name) {
        this.sandbox = sandbox;
        this.attribute = ATTRIBUTE + name;
    }

    @Override
    public ExecResult run(String bashCommand) {
        return run(bashCommand, ExecRequest.of("/bin/bash"));
    }

    @Override
    public ExecResult run(String bashCommand, ExecRequest template) {
        ShellState before = state();
        Map<String, byte[]> environment = new LinkedHashMap<>();
        byte[] script;
        if (before == null) {
            script = new byte[0];
            sandbox.environment().forEach((name, value) -> environment.put(name, bytes(value)));
            template.environment().forEach((name, value) -> environment.put(name, bytes(value)));
        } else {
            script = concat(before.script(), concat(exports(sandbox.environment()), exports(template.environment())));
        }
        byte[] directory = before == null ? bytes(template.workingDirectory()) : before.directory();
        environment.put("__CRAB_CWD", directory);
        pieces(environment, "__CRAB_TEXT", bytes(bashCommand));
        pieces(environment, "__CRAB_STATE", script);
        ExecRequest request = new ExecRequest(
                List.of("/bin/bash", "--norc", "--noprofile", "-c", WRAPPER, "bash"),
                "/",
                Map.of(),
                template.input(),
                template.timeout(),
                template.outputLimit());
        CommandRunner runner = new CommandRunner(sandbox.id(), request, environment, STATE_LIMIT + 1);
        ExecResult result = sandbox.exec(runner);
        byte[] written = runner.state();
        ShellState after = written == null ? null : ShellState.parse(written);
        if (after != null) {
            sandbox.attributes().put(attribute, after.encode());
            return result;
        }
        return result.end() instanceof ExecResult.End.TimedOut ? result : noted(result, written);
    }

    @Override
    public String workingDirectory() {
        ShellState state = state();
        return state == null
                ? ExecRequest.of("/bin/bash").workingDirectory()
                : new String(state.directory(), StandardCharsets.UTF_8);
    }

    private @Nullable ShellState state() {
        String encoded = sandbox.attributes().get(attribute);
        return encoded == null ? null : ShellState.decode(encoded);
    }

    /** Says in standard error that the next call will not see what this one did to the shell. */
    private static ExecResult noted(ExecResult result, byte @Nullable [] written) {
        String why = written == null
                ? "its state is larger than " + STATE_LIMIT / 1024 + " KiB"
                : written.length == 0
                        ? "the shell was replaced or left by a trap of its own"
                        : "its state is malformed";
        String note = "crab: the shell session keeps the state it had before this call: " + why + "\n";
        return new ExecResult(
                result.end(),
                result.stdout(),
                concat(result.stderr(), bytes(note)),
                result.truncated(),
                result.duration());
    }

    private static byte[] exports(Map<String, String> environment) {
        StringBuilder script = new StringBuilder();
        environment.forEach((name, value) -> {
            if (!value.equals(ExecRequest.DEFAULT_ENVIRONMENT.get(name)) && name.matches("[A-Za-z_][A-Za-z0-9_]*")) {
                script.append("\nexport ")
                        .append(name)
                        .append("='")
                        .append(value.replace("'", "'\\''"))
                        .append("'\n");
            }
        });
        return bytes(script.toString());
    }

    /** One string of an environment may be 128 KiB long at most, so long values go in pieces that the wrapper joins. */
    private static void pieces(Map<String, byte[]> environment, String name, byte[] value) {
        int size = 100 << 10;
        List<byte[]> pieces = new ArrayList<>();
        for (int from = 0; from < value.length; from += size) {
            pieces.add(Arrays.copyOfRange(value, from, Math.min(value.length, from + size)));
        }
        environment.put(name + "S", bytes(Integer.toString(pieces.size())));
        for (int i = 0; i < pieces.size(); i++) {
            environment.put(name + "_" + i, pieces.get(i));
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] concat(byte[] first, byte[] second) {
        byte[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    private static String wrapper() {
        try (InputStream script = ValueShell.class.getResourceAsStream("shell.bash")) {
            if (script == null) {
                throw new IllegalStateException("the resource shell.bash is missing");
            }
            return new String(script.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalStateException("the resource shell.bash cannot be read", e);
        }
    }
}

package dev.crab.samples.bench;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.session.TurnOutcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.IDefaultValueProvider;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** What all measurements share: options, the runtime, sessions of their own that are removed at the end. */
abstract class Measurement implements Callable<Integer> {
    /** A bash that waits for input, and never wakes. */
    static final String IDLE_BASH =
            "mkfifo /tmp/wait && { bash -c 'read line <> /tmp/wait' > /dev/null 2>&1 & } && sleep 0.3";

    /** A bash that waits for input and a web server: the idle sandbox that figures are about. */
    static final String IDLE_SANDBOX = """
            mkfifo /tmp/wait && cd /srv
            bash -c 'read line <> /tmp/wait' > /dev/null 2>&1 &
            python3 -m http.server --bind 127.0.0.1 8000 > /dev/null 2>&1 &
            python3 -c '
            import time, urllib.request
            for attempt in range(200):
                try:
                    urllib.request.urlopen("http://127.0.0.1:8000/")
                    break
                except OSError:
                    time.sleep(0.05)
            else:
                raise SystemExit("the server does not answer")'""";

    /** Asks the web server for its index, which changes its memory and nothing else. */
    static final String ASK_SERVER =
            "exec 3<>/dev/tcp/127.0.0.1/8000; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";

    @ParentCommand
    @SuppressWarnings("NullAway.Init") // set by picocli
    private Bench bench;

    @Option(
            names = "--runs",
            paramLabel = "N",
            defaultValue = "30",
            description = "Runs of each kind. Default: ${DEFAULT-VALUE}.")
    private int runs;

    @Option(
            names = "--warm-up",
            paramLabel = "N",
            defaultValue = "20",
            description = {
                "Runs that are carried out first and not counted: the first ones load classes, and the just-in-time compiler"
                        + " works beside them. Default: ${DEFAULT-VALUE}."
            })
    int warmUp;

    /** More runs before those that count, where no other number is asked for. */
    abstract static class LongWarmUp implements IDefaultValueProvider {
        private final int runs;

        LongWarmUp(int runs) {
            this.runs = runs;
        }

        @Override
        public @Nullable String defaultValue(ArgSpec argument) {
            return argument instanceof OptionSpec option && option.longestName().equals("--warm-up")
                    ? Integer.toString(runs)
                    : null;
        }
    }

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Option(
            names = "--data",
            paramLabel = "DIR",
            description = "The data directory. Default: CRAB_DATA, else /var/lib/crab.")
    private @Nullable Path data;

    private final List<String> sessions = new ArrayList<>();

    @Override
    public final Integer call() {
        if (data != null) {
            System.setProperty("crab.data", data.toAbsolutePath().toString());
        }
        try (CrabRuntime runtime = CrabRuntime.builder().build()) {
            try {
                Report report = measure(runtime, runs);
                if (json) {
                    bench.out().println(report.json());
                } else {
                    report.lines().forEach(bench.out()::println);
                }
            } finally {
                sessions.forEach(runtime::delete);
            }
        }
        return 0;
    }

    abstract Report measure(CrabRuntime runtime, int count);

    /** A name that no other invocation uses, for a session that is deleted when the measurement is over. */
    String sessionName(String kind) {
        String name =
                "bench-" + kind + "-" + Long.toString(ProcessHandle.current().pid(), 36) + "-"
                        + Long.toString(System.currentTimeMillis(), 36);
        sessions.add(name);
        return name;
    }

    /** Whether that file descriptor of this process is a terminal. */
    private static boolean isTerminal(int descriptor) {
        try {
            String target = Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor))
                    .toString();
            return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty") || target.equals("/dev/console");
        } catch (IOException e) {
            return false;
        }
    }

    void progress(String what, int done, int all) {
        if (isTerminal(2) && !json) {
            bench.err().print("\r" + what + " " + done + " of " + all + (done == all ? "\n" : ""));
            bench.err().flush();
        }
    }

    /** Carries out a turn that runs this command and ends in a commit. */
    static TurnOutcome turn(SandboxSession session, String command) {
        Turn turn = session.beginTurn();
        run(session.sandbox(), command);
        return turn.commit(JsonNodeFactory.instance.objectNode());
    }

    static void run(Sandbox sandbox, String command) {
        ExecResult result = sandbox.exec(command);
        if (!result.isSuccess()) {
            throw new IllegalStateException("in the sandbox failed: " + command + ": " + result.text());
        }
    }

    /** Runs {@code true} once. */
    static long execTrue(Sandbox sandbox) {
        long start = System.nanoTime();
        ExecResult result = sandbox.exec(ExecRequest.of("/bin/true"));
        long nanos = System.nanoTime() - start;
        if (!result.isSuccess()) {
            throw new IllegalStateException("true failed in the sandbox: " + result.text());
        }
        return nanos;
    }

    static void add(Series series, long nanos, boolean counts) {
        if (counts) {
            series.add(nanos);
        }
    }
}

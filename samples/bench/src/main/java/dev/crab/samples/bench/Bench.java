package dev.crab.samples.bench;

import dev.crab.runtime.error.CrabException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measurements behind the figures in the documentation: {@code ./crab bench NAME}. */
@Command(
        name = "bench",
        mixinStandardHelpOptions = true,
        description = "Measurements behind the figures in the documentation.",
        subcommands = {
            CaptureBench.class,
            RestoreBench.class,
            RollbackBench.class,
            BranchesBench.class,
            InspectorBench.class,
            IdleBench.class,
            OverheadBench.class
        })
public final class Bench implements Runnable {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    private final PrintStream out;
    private final PrintStream err;

    Bench(PrintStream out, PrintStream err) {
        this.out = out;
        this.err = err;
    }

    public static void main(String[] arguments) {
        System.exit(run(System.out, System.err, arguments));
    }

    /** The command, with its streams given; answers with the exit code. */
    static int run(PrintStream out, PrintStream err, String... arguments) {
        return new CommandLine(new Bench(out, err))
                .setOut(new PrintWriter(out, true, StandardCharsets.UTF_8))
                .setErr(new PrintWriter(err, true, StandardCharsets.UTF_8))
                .setExecutionExceptionHandler((failure, commandLine, parsed) -> {
                    err.println("bench: " + CrabException.reason(failure));
                    return 1;
                })
                .execute(arguments);
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "name a measurement");
    }

    PrintStream out() {
        return out;
    }

    PrintStream err() {
        return err;
    }
}

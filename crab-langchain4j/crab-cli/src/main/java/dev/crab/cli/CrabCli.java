package dev.crab.cli;

import dev.crab.runtime.error.CrabException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The command line behind the launcher.
 *
 * <p>Exit codes: 0 done and all is well; 1 refused, or something was found wrong; 2 the command line makes no sense.
 */
@Command(
        name = "crab",
        description = "Looks after the sessions of Crab's data directory, and at the host.",
        mixinStandardHelpOptions = true,
        subcommands = {
            DoctorCommand.class,
            SessionsCommand.class,
            ShowCommand.class,
            TimelineCommand.class,
            VerifyCommand.class,
            RollbackCommand.class,
            BranchCommand.class,
            DiffCommand.class,
            LabelCommand.class,
            StopCommand.class,
            DeleteCommand.class,
            GcCommand.class
        })
public final class CrabCli implements Runnable {
    static final int DONE = 0;
    static final int REFUSED = 1;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    public static void main(String[] arguments) {
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
        int status = run(out, err, arguments);
        out.flush();
        err.flush();
        System.exit(status);
    }

    /** Runs a command line; what it says goes to the writers. Gives the exit code. */
    public static int run(PrintWriter out, PrintWriter err, String... arguments) {
        return new CommandLine(new CrabCli())
                .setOut(out)
                .setErr(err)
                .setExecutionExceptionHandler(CrabCli::refused)
                .execute(arguments);
    }

    /** A refusal is an answer and not a stack trace; everything else is a fault and keeps it. */
    private static int refused(Exception e, CommandLine command, CommandLine.ParseResult parsed) throws Exception {
        if (!(e instanceof CrabException refusal)) {
            throw e;
        }
        boolean json = command.getCommand() instanceof Report report && report.json();
        if (json) {
            command.getOut().println(Json.error(refusal));
        } else {
            print(command.getErr(), refusal);
        }
        return REFUSED;
    }

    static void print(PrintWriter err, CrabException refusal) {
        err.println(refusal.code() + ": " + refusal.what());
        err.println("  why:  " + refusal.why());
        err.println("  cure: " + refusal.cure());
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "a command is needed");
    }
}

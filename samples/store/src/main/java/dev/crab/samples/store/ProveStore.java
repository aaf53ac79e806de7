package dev.crab.samples.store;

import dev.crab.runtime.CrabConfig;
import dev.crab.samples.common.AgentJvm;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The crash matrix of the checkpoint store and of the restore: {@code ./crab prove store}. */
@Command(
        name = "store",
        mixinStandardHelpOptions = true,
        description =
                "Kills a session, cuts it off from power, fills and breaks its disk, flips its bits and races it, at every point, and "
                        + "compares what comes back with what was committed. Rows: kill, power, block, enospc, eio, flip, two, clock, gc.",
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {
            "0:every point is whole or refused with a code",
            "1:a mix, or a failure without a code",
            "2:wrong usage"
        })
public final class ProveStore implements Callable<Integer> {
    @Option(names = "--only", paramLabel = "ROW", arity = "1..*", split = ",", description = "Only these rows.")
    private List<String> only = List.of();

    @Option(names = "--seed", description = "Seed of what is random (default: another one each time).")
    private @Nullable Long seed;

    @Option(
            names = "--points",
            paramLabel = "N",
            defaultValue = "0",
            description = "At most so many points of a row, chosen by the seed (default: all).")
    private int points;

    @Option(
            names = "--workers",
            paramLabel = "N",
            defaultValue = "2",
            description = "Points tried side by side where a row allows it (default: ${DEFAULT-VALUE}).")
    private int workers;

    @Option(names = "--json", description = "Write the result to this file.")
    private @Nullable Path json;

    @Option(
            names = "--resume",
            description =
                    "Take over the rows that this file, written by --json of a run with the same seed, has without a mix.")
    private @Nullable Path resume;

    @Option(names = "--markdown", description = "Write the result as a document to this file.")
    private @Nullable Path markdown;

    private final PrintStream out;
    private final PrintStream err;
    private final String command;

    private ProveStore(PrintStream out, PrintStream err, String command) {
        this.out = out;
        this.err = err;
        this.command = command;
    }

    public static void main(String[] arguments) {
        System.exit(run(System.out, System.err, arguments));
    }

    /** The command, with its streams given; answers with the exit code. */
    static int run(PrintStream out, PrintStream err, String... arguments) {
        ProveStore prove = new ProveStore(out, err, "./crab prove store " + String.join(" ", arguments));
        return new CommandLine(prove)
                .setOut(new PrintWriter(out, true, StandardCharsets.UTF_8))
                .setErr(new PrintWriter(err, true, StandardCharsets.UTF_8))
                .setExecutionExceptionHandler((failure, commandLine, parsed) -> {
                    failure.printStackTrace(err);
                    return 1;
                })
                .execute(arguments);
    }

    @Override
    public Integer call() throws IOException {
        long chosen = seed == null ? ThreadLocalRandom.current().nextLong(1L << 40) : seed;
        List<String> rows = only.isEmpty() ? Report.rows() : only;
        if (!Report.rows().containsAll(rows)) {
            err.println("no such row: of " + rows + " there are only " + Report.rows());
            return 2;
        }
        Path data = CrabConfig.resolve().data();
        Path work = Files.createDirectories(data.resolve("proof-of-store"));
        List<Tally> tallies = new ArrayList<>(resume == null ? List.of() : Report.done(resume, chosen));
        Report report = new Report(chosen, tallies);
        try (FileChannel lock =
                FileChannel.open(work.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            if (lock.tryLock() == null) {
                throw new IOException("another run works in " + work);
            }
            Path image = data.resolve("images/debian");
            Plan plan = new Plan(work, image, Shim.install(work), victims(work), chosen, points, workers, err);
            for (String name : rows) {
                if (tallies.stream().anyMatch(done -> done.row().equals(name))) {
                    continue;
                }
                Tally tally = new Tally(name, command);
                err.println(name + ": begins, seed " + chosen);
                row(name).run(plan, tally);
                tallies.add(tally);
                tallies.sort(Comparator.comparing(done -> Report.rows().indexOf(done.row())));
                write(report); // what is done is told even if the rest is interrupted
                out.println(tally.line());
                tally.mixes().forEach(mix -> out.println("        MIX " + mix));
            }
        }
        out.println(report.holds() ? "no mix in any row" : "NOT as it should be: see above");
        return report.holds() ? 0 : 1;
    }

    /** With nothing of an earlier run's, whose classes may have been others. */
    private static AgentJvm victims(Path work) throws IOException {
        Path directory = work.resolve("jvm");
        Place.deleteTree(directory);
        return new AgentJvm(Files.createDirectories(directory), Victim.class, true);
    }

    private void write(Report report) throws IOException {
        if (json != null) {
            report.json(json);
        }
        if (markdown != null) {
            report.markdown(markdown);
        }
    }

    static Row row(String name) {
        return switch (name) {
            case "kill" -> new KillRow();
            case "power" -> new PowerRow();
            case "block" -> new BlockRow();
            case "enospc", "eio" -> new ErrorRow(name);
            case "flip" -> new FlipRow();
            case "two" -> new TwoRow();
            case "clock" -> new ClockRow();
            case "gc" -> new GcRow();
            default -> throw new IllegalArgumentException("no row is called " + name);
        };
    }
}

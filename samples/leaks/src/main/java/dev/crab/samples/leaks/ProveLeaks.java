package dev.crab.samples.leaks;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabConfig;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Counts what is left on the host after many turns, restores and killed JVMs: {@code ./crab prove leaks}. */
@Command(
        name = "leaks",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Runs turns of all kinds, those that fail among them, closes and kills the JVMs they run in, and counts what is left on the"
                    + " host beyond what the kept generations need.",
            "",
            "The sessions lie on a tmpfs of 1 GiB below the data directory, so that a full disk is among the failures.",
            ""
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {"0:nothing is left", "1:something is, or the run could not be carried out", "2:wrong usage"})
public final class ProveLeaks implements Callable<Integer> {
    private static final ObjectMapper JSON = new ObjectMapper();

    @Option(
            names = "--turns",
            paramLabel = "N",
            defaultValue = "500",
            description = "Turns. Default: ${DEFAULT-VALUE}.")
    private int turns;

    @Option(
            names = "--restores",
            paramLabel = "N",
            defaultValue = "50",
            description = "Restores, at least; a third of them after a kill. Default: ${DEFAULT-VALUE}.")
    private int restores;

    @Option(names = "--seed", paramLabel = "N", description = "Seed of the turns. Default: another one each time.")
    private @Nullable Long seed;

    @Option(names = "--json", paramLabel = "FILE", description = "Write the table to this file.")
    private @Nullable Path json;

    private final PrintStream out;
    private final PrintStream err;

    ProveLeaks(PrintStream out, PrintStream err) {
        this.out = out;
        this.err = err;
    }

    public static void main(String[] arguments) {
        System.exit(run(System.out, System.err, arguments));
    }

    /** The command, with its streams given; answers with the exit code. */
    static int run(PrintStream out, PrintStream err, String... arguments) {
        return new CommandLine(new ProveLeaks(out, err))
                .setOut(new PrintWriter(out, true, StandardCharsets.UTF_8))
                .setErr(new PrintWriter(err, true, StandardCharsets.UTF_8))
                .setExecutionExceptionHandler((failure, commandLine, parsed) -> {
                    err.println("prove: " + failure);
                    return 1;
                })
                .execute(arguments);
    }

    @Override
    public Integer call() throws IOException {
        long chosen = seed == null ? ThreadLocalRandom.current().nextInt(1 << 30) : seed;
        Path base = CrabConfig.resolve().data();
        Path place = Files.createDirectories(base.resolve("leaks"));
        try (FileChannel lock =
                FileChannel.open(place.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            if (lock.tryLock() == null) {
                throw new IOException("another run works in " + place);
            }
            return prove(place, base.resolve("images/debian"), chosen);
        }
    }

    private int prove(Path place, Path image, long chosen) throws IOException {
        Path data = Files.createDirectories(place.resolve("data"));
        Path temporary = Files.createTempDirectory(place, "tmp-");
        Path log = place.resolve("log");
        Files.deleteIfExists(log);
        Foreign.run("mount", "-t", "tmpfs", "-o", "mode=700,size=1g", "crab-leaks", data.toString());
        err.println("seed " + chosen + "; what the JVMs say is in " + log);
        try {
            LeakRun run = new LeakRun(data, image, temporary, log, chosen, err::println);
            Findings findings;
            try {
                findings = run.run(turns, restores);
            } catch (RuntimeException | IOException e) {
                run.abort();
                throw e;
            }
            findings.lines().forEach(out::println);
            out.println(run.turns() + " turns " + run.kinds() + ", " + run.restores() + " restores, " + run.kills()
                    + " JVMs killed: " + (findings.clean() ? "nothing is left" : "SOMETHING IS LEFT"));
            if (json != null) {
                Files.writeString(json, report(run, findings, chosen).toPrettyString() + "\n");
            }
            return findings.clean() ? 0 : 1;
        } finally {
            Foreign.run("umount", "--recursive", data.toString());
            LeakRun.delete(temporary);
        }
    }

    private static ObjectNode report(LeakRun run, Findings findings, long seed) {
        ObjectNode root = JSON.createObjectNode();
        root.put("ok", findings.clean()).put("seed", seed).put("turns", run.turns());
        root.put("restores", run.restores()).put("kills", run.kills());
        ObjectNode kinds = root.putObject("kinds");
        run.kinds().forEach(kinds::put);
        ObjectNode rows = root.putObject("rows");
        findings.table().forEach((row, columns) -> {
            ObjectNode one = rows.putObject(row.label());
            columns.forEach((column, number) -> one.put(column.label(), number));
            findings.leaks(row).forEach(one.putArray("leftBehind")::add);
        });
        findings.disturbed().forEach(root.putArray("disturbed")::add);
        return root;
    }
}

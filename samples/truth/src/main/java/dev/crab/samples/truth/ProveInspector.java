package dev.crab.samples.truth;

import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.inspector.TracepointInspector;
import dev.crab.runtime.inspector.TurnInspector;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Compares the inspector with an independent oracle: {@code ./crab prove inspector}. */
@Command(
        name = "inspector",
        mixinStandardHelpOptions = true,
        description =
                "Runs turns in real sandboxes and compares the inspector's judgement with what an independent oracle sees.",
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {"0:no miss", "1:a miss, or author and oracle disagree about a kind", "2:wrong usage"})
public final class ProveInspector implements Callable<Integer> {
    @Option(names = "--turns", defaultValue = "2000", description = "Random turns (default: ${DEFAULT-VALUE}).")
    private int turns;

    @Option(names = "--seed", description = "Seed of the random turns (default: another one each time).")
    private @Nullable Long seed;

    @Option(names = "--kinds-only", description = "Only the hand-written kinds.")
    private boolean kindsOnly;

    @Option(names = "--random-only", description = "Only the random turns.")
    private boolean randomOnly;

    @Option(names = "--kind", description = "Only the hand-written kinds of these names, and no random turns.")
    private List<String> names = List.of();

    @Option(
            names = "--file-systems",
            split = ",",
            defaultValue = "btrfs,ext4,xfs,tmpfs",
            description = "What the writable layers lie on (default: ${DEFAULT-VALUE}).")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private List<String> fileSystems;

    @Option(
            names = "--beside",
            paramLabel = "N",
            defaultValue = "0",
            description =
                    "So many more files in the writable layers; from some thousand on, btrfs is asked what changed.")
    private int beside;

    @Option(names = "--json", description = "Write every labelled turn to this file.")
    private @Nullable Path json;

    @Mixin
    private final RecordedOptions replay = new RecordedOptions();

    private final PrintStream out;
    private final PrintStream err;

    ProveInspector(PrintStream out, PrintStream err) {
        this.out = out;
        this.err = err;
    }

    public static void main(String[] arguments) {
        System.exit(run(System.out, System.err, arguments));
    }

    /** The command, with its streams given; answers with the exit code. */
    static int run(PrintStream out, PrintStream err, String... arguments) {
        return new CommandLine(new ProveInspector(out, err))
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
        List<Ground.Type> types = fileSystems.stream().map(Ground.Type::of).toList();
        long chosen = seed == null ? ThreadLocalRandom.current().nextLong(1L << 40) : seed;
        Path data = CrabConfig.resolve().data();
        Path work = Files.createDirectories(data.resolve("truth"));
        Report report = new Report();
        try (FileChannel lock =
                        FileChannel.open(work.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                TurnInspector inspector = new TracepointInspector()) {
            if (lock.tryLock() == null) {
                throw new IOException("another run works in " + work);
            }
            if (replay.given()) {
                return replay.run(inspector, data.resolve("images/debian"), work, json, out, err);
            }
            TruthRun run = new TruthRun(inspector, Arena.spec(data.resolve("images/debian")), work, beside);
            List<Kind> kinds = KindCatalogue.load().stream()
                    .filter(kind -> names.isEmpty() || names.contains(kind.name()))
                    .toList();
            for (Ground.Type type : randomOnly ? List.<Ground.Type>of() : types) {
                err.println(type.label() + ": " + kinds.size() + " kinds");
                run.run(type, new KindSource(kinds), report::add);
            }
            if (!kindsOnly && names.isEmpty()) {
                for (int i = 0; i < types.size(); i++) {
                    int share = turns / types.size() + (i < turns % types.size() ? 1 : 0);
                    err.println(types.get(i).label() + ": " + share + " random turns, seed " + (chosen + i));
                    run.run(types.get(i), new RandomSource(chosen + i, share, report::addShrunk), report::add);
                }
            }
        }
        report.lines().forEach(out::println);
        if (json != null) {
            Json.write(json, chosen, report);
        }
        return report.misses() + report.disputes() == 0 ? 0 : 1;
    }
}

package dev.crab.samples.search;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.CrabOptions;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabRuntime;
import dev.crab.samples.common.DiskUse;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ./crab bench search}: what searching over an agent's decisions costs by branches, and by running what comes before them again. */
@Command(
        name = "search",
        mixinStandardHelpOptions = true,
        description = {
            "Best of N and a small tree search over a repair task, with a scripted model, in real sandboxes: by branches from the decisions,"
                    + " and by running what comes before them again. Tokens (a token for each four characters), wall time and disk of both.",
            ""
        })
public final class SearchBench implements Callable<Integer> {
    @Option(
            names = "--attempts",
            paramLabel = "N",
            defaultValue = "8",
            description = "N of best of N. Default: ${DEFAULT-VALUE}.")
    private int attempts;

    @Option(
            names = "--think",
            paramLabel = "MS",
            defaultValue = "300",
            description = "What the model takes for an answer. Default: ${DEFAULT-VALUE}.")
    private int think;

    @Option(
            names = "--side-by-side",
            paramLabel = "N",
            defaultValue = "4",
            description = "Attempts that run at a time. Default: ${DEFAULT-VALUE}.")
    private int sideBySide;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Option(
            names = "--data",
            paramLabel = "DIR",
            description = "The data directory. Default: CRAB_DATA, else /var/lib/crab.")
    private @Nullable Path data;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    /** A search that was done. */
    private record Row(String search, String way, int attempts, int score, long tokens, double seconds, long disk) {}

    public static void main(String[] arguments) {
        System.exit(new CommandLine(new SearchBench()).execute(arguments));
    }

    @Override
    public Integer call() {
        if (data != null) {
            System.setProperty(CrabConfig.DATA, data.toAbsolutePath().toString());
        }
        List<Row> rows = new ArrayList<>();
        rows.add(row("best of " + attempts, "branches", "bb", search -> search.bestOfByBranches(attempts)));
        rows.add(row("best of " + attempts, "prefix again", "bp", search -> search.bestOfByPrefixes(attempts)));
        rows.add(row("tree", "branches", "tb", Search::treeByBranches));
        rows.add(row("tree", "prefix again", "tp", Search::treeByPrefixes));
        print(rows);
        return rows.stream().allMatch(row -> row.score() == 6) ? 0 : 1;
    }

    private Row row(String what, String way, String mark, Consumer<Search> how) {
        String name =
                "search-" + mark + "-" + Long.toString(ProcessHandle.current().pid(), 36);
        Crab.configure(CrabOptions.builder().set(CrabConfig.KEEP, "100").build());
        Path directory = CrabConfig.resolve(Map.of()).data();
        long disk = settled(directory);
        long start = System.nanoTime();
        Search search = new Search(name, think * 1_000_000L, sideBySide);
        try {
            how.accept(search);
            double seconds = (System.nanoTime() - start) / 1e9;
            return new Row(
                    what,
                    way,
                    search.attempts().size(),
                    search.best().score(),
                    search.tokens(),
                    seconds,
                    used(directory) - disk);
        } finally {
            Crab.close();
            try (CrabRuntime runtime = CrabRuntime.builder().build()) {
                runtime.sessions().stream()
                        .filter(session -> session.equals(name) || session.startsWith(name + "-"))
                        .forEach(runtime::delete);
            }
        }
    }

    private void print(List<Row> rows) {
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ObjectNode document = new ObjectMapper().createObjectNode();
            ArrayNode array = document.putArray("searches");
            for (Row row : rows) {
                array.addObject()
                        .put("search", row.search())
                        .put("way", row.way())
                        .put("attempts", row.attempts())
                        .put("passed", row.score())
                        .put("tokens", row.tokens())
                        .put("seconds", row.seconds())
                        .put("diskBytes", row.disk());
            }
            document.put("tokensSavedBestOf", saved(rows, 0)).put("tokensSavedTree", saved(rows, 2));
            out.println(document.toPrettyString());
        } else {
            out.printf(
                    Locale.ROOT,
                    "%-12s %-14s %8s %7s %9s %8s %8s%n",
                    "",
                    "",
                    "attempts",
                    "passed",
                    "tokens",
                    "seconds",
                    "MB disk");
            for (Row row : rows) {
                out.printf(
                        Locale.ROOT,
                        "%-12s %-14s %8d %5d/6 %9d %8.1f %8.1f%n",
                        row.search(),
                        row.way(),
                        row.attempts(),
                        row.score(),
                        row.tokens(),
                        row.seconds(),
                        row.disk() / 1e6);
            }
            out.printf(
                    Locale.ROOT,
                    "%nBranches spend %.0f %% fewer tokens in best of %d and %.0f %% fewer in the tree.%n",
                    100 * saved(rows, 0),
                    attempts,
                    100 * saved(rows, 2));
        }
        out.flush();
    }

    /** The share of the tokens that branches spare. */
    private static double saved(List<Row> rows, int branches) {
        return 1 - (double) rows.get(branches).tokens() / rows.get(branches + 1).tokens();
    }

    /** As {@link #used}, once what was deleted before has been given back, which btrfs does by and by. */
    private static long settled(Path data) {
        long deadline = System.nanoTime() + 60_000_000_000L;
        long before = used(data);
        int same = 0;
        while (same < 10 && System.nanoTime() < deadline) {
            LockSupport.parkNanos(500_000_000);
            long now = used(data);
            same = now == before ? same + 1 : 0;
            before = now;
        }
        return before;
    }

    /** Bytes that snapshots and objects take, what they share counted once. */
    private static long used(Path data) {
        long bytes = new DiskUse(file -> true).add(data.resolve("objects")).bytes();
        Path btrfs = data.resolve("btrfs");
        if (!Files.isDirectory(btrfs)) {
            return bytes;
        }
        try {
            FileStore store = Files.getFileStore(btrfs);
            return bytes + store.getTotalSpace() - store.getUnallocatedSpace();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

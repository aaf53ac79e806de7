package dev.crab.samples.langchain4j;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.samples.common.AgentJvm;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code ./crab prove langchain4j}. */
@Command(
        name = "langchain4j",
        mixinStandardHelpOptions = true,
        description = {
            "Every path through LangChain4j's loop: run uncrashed, then killed (SIGKILL) at every turn boundary and inside every tool"
                    + " call and started again; answer, tool executions, tokens, chat memory and sandbox are compared.",
            "",
            "Exit code 0 if every run ended as the uncrashed one, else 1.",
            ""
        })
public final class ProveLangChain4j implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Option(names = "--only", paramLabel = "GLOB", description = "Only the rows whose name matches.")
    private String only = "*";

    @Option(names = "--list", description = "List the rows; run none.")
    private boolean list;

    @Option(
            names = "--workers",
            paramLabel = "N",
            description = "Rows that run side by side. Default: the number of processors, at most 4.")
    private int workers = Math.min(4, Runtime.getRuntime().availableProcessors());

    @Option(
            names = "--image",
            paramLabel = "ROOTFS",
            description = "The sandboxes' root file system. Default: Crab's own.")
    private @Nullable Path image;

    @Option(names = "--json", paramLabel = "FILE", description = "Write the result there, too, as JSON.")
    private @Nullable Path json;

    @Option(
            names = "--data",
            paramLabel = "DIR",
            description = "The data directory. Default: CRAB_DATA, else /var/lib/crab.")
    private @Nullable Path data;

    private final PrintStream out;

    ProveLangChain4j(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] arguments) {
        System.exit(run(System.out, System.err, arguments));
    }

    /** The command, with its streams given; answers with the exit code. */
    static int run(PrintStream out, PrintStream err, String... arguments) {
        return new CommandLine(new ProveLangChain4j(out))
                .setOut(new PrintWriter(out, true, StandardCharsets.UTF_8))
                .setErr(new PrintWriter(err, true, StandardCharsets.UTF_8))
                .setExecutionExceptionHandler((failure, commandLine, parsed) -> {
                    err.println("langchain4j: " + failure);
                    return 1;
                })
                .execute(arguments);
    }

    @Override
    public Integer call() throws Exception {
        PathMatcher matcher = FileSystems.getDefault().getPathMatcher("glob:" + only);
        List<Row> rows = Rows.all().stream()
                .filter(row -> matcher.matches(Path.of(row.name())))
                .toList();
        if (rows.isEmpty() || workers < 1) {
            throw new ParameterException(
                    spec.commandLine(), workers < 1 ? "--workers must be at least 1" : "no row matches " + only);
        }
        if (list) {
            rows.forEach(row -> out.println(row.name()));
            return 0;
        }
        List<String> properties = new ArrayList<>(List.of("org.slf4j.simpleLogger.defaultLogLevel=warn"));
        if (data != null) {
            System.setProperty("crab.data", data.toAbsolutePath().toString());
        }
        if (System.getProperty("crab.data") != null) {
            properties.add("crab.data=" + System.getProperty("crab.data"));
        }
        if (image != null) {
            properties.add("crab.prove.image=" + image.toAbsolutePath());
        }
        Path directory = Files.createTempDirectory("crab-prove-langchain4j");
        try (Stub stub = new Stub();
                Sessions sessions = new Sessions()) {
            AgentJvm jvm = new AgentJvm(directory, RowAgent.class, true);
            return report(run(rows, new Matrix(jvm, stub, directory, properties, sessions)));
        } finally {
            remove(directory);
        }
    }

    private List<Matrix.Outcome> run(List<Row> rows, Matrix matrix) throws Exception {
        out.printf(Locale.ROOT, "%-32s %9s %8s%n", "row", "as usual", "seconds");
        ExecutorService threads = Executors.newFixedThreadPool(workers);
        try {
            // The first one alone: it writes the archive of classes that the others start from.
            List<Matrix.Outcome> outcomes = new ArrayList<>();
            outcomes.add(shown(matrix.run(rows.get(0))));
            List<Future<Matrix.Outcome>> futures = new ArrayList<>();
            for (Row row : rows.subList(1, rows.size())) {
                futures.add(threads.submit(() -> shown(matrix.run(row))));
            }
            for (Future<Matrix.Outcome> future : futures) {
                outcomes.add(future.get());
            }
            return outcomes;
        } catch (ExecutionException e) {
            throw new IOException("a row could not be run: " + e.getCause(), e.getCause());
        } finally {
            threads.shutdownNow();
        }
    }

    private synchronized Matrix.Outcome shown(Matrix.Outcome outcome) {
        out.printf(
                Locale.ROOT,
                "%-32s %9s %8.1f%s%n",
                outcome.row(),
                outcome.held() + "/" + outcome.runs(),
                outcome.seconds(),
                outcome.failures().isEmpty() ? "" : "  FAILED");
        outcome.failures().forEach((run, problems) -> {
            out.println("    " + run);
            problems.forEach(problem -> out.println("        " + problem));
        });
        out.flush();
        return outcome;
    }

    private int report(List<Matrix.Outcome> outcomes) throws IOException {
        int runs = outcomes.stream().mapToInt(Matrix.Outcome::runs).sum();
        int held = outcomes.stream().mapToInt(Matrix.Outcome::held).sum();
        if (json != null) {
            ObjectNode root = Json.object().put("format", 1).put("runs", runs).put("asUncrashed", held);
            ArrayNode rows = root.putArray("rows");
            for (Matrix.Outcome outcome : outcomes) {
                ObjectNode row = rows.addObject().put("name", outcome.row()).put("runs", outcome.runs());
                row.put("asUncrashed", outcome.held()).put("seconds", outcome.seconds());
                row.set("failures", Json.tree(outcome.failures()));
            }
            Files.writeString(json, Json.pretty(root) + "\n");
        }
        out.printf("%n%d rows: %d of %d runs ended as without a kill%n", outcomes.size(), held, runs);
        return held == runs ? 0 : 1;
    }

    private static void remove(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}

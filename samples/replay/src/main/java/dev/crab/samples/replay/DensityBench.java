package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** How protection costs as agents share a host: {@code ./crab bench density}. */
@Command(
        name = "density",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Replays more and more recorded agents side by side, in one JVM and in several, with Crab and without anything saved, and shows what"
                    + " the protection costs them: time, exposed delay, processor time, memory. Ends with what idle sessions take.",
            ""
        })
public final class DensityBench implements Callable<Integer> {
    private static final List<String> POLICIES = List.of(Policies.NONE, Policies.CRAB);

    @Mixin
    private LabOptions options = new LabOptions();

    @Option(
            names = "--sandboxes",
            split = ",",
            paramLabel = "N",
            defaultValue = "1,4,16,32,64",
            description = "Agents side by side. Default: ${DEFAULT-VALUE}.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private List<Integer> counts;

    @Option(
            names = "--jvms",
            split = ",",
            paramLabel = "N",
            defaultValue = "1,4",
            description = "JVMs that they are spread over, as far as there are enough. Default: ${DEFAULT-VALUE}.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private List<Integer> jvms;

    @Option(
            names = "--warm-up",
            paramLabel = "N",
            defaultValue = "0",
            description =
                    "Agents that each JVM runs before, one after the other, as a JVM that has been running. Default: ${DEFAULT-VALUE}.")
    private int warmUp;

    @Option(
            names = "--idle",
            paramLabel = "N",
            defaultValue = "32",
            description = "Idle sessions to measure the memory of; 0 for none. Default: ${DEFAULT-VALUE}.")
    private int idle;

    @Option(names = "--json", paramLabel = "FILE", description = "Write everything that was found to this file.")
    private @Nullable Path json;

    private final PrintStream out;
    private final PrintStream err;

    DensityBench(PrintStream out, PrintStream err) {
        this.out = out;
        this.err = err;
    }

    public static void main(String[] arguments) {
        System.exit(run(System.out, System.err, arguments));
    }

    /** The command, with its streams given; answers with the exit code. */
    static int run(PrintStream out, PrintStream err, String... arguments) {
        return LabOptions.execute(new DensityBench(out, err), out, err, arguments);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (counts.stream().anyMatch(count -> count < 1)
                || jvms.stream().anyMatch(count -> count < 1)
                || idle < 0
                || warmUp < 0) {
            throw new IllegalArgumentException("--sandboxes and --jvms from 1, --idle and --warm-up from 0");
        }
        ObjectNode found = Json.object();
        found.put("speed", options.speed());
        found.put("warmUp", warmUp);
        ArrayNode rows = found.putArray("rows");
        try (Lab lab = options.lab(err)) {
            List<Trajectory> trajectories = options.trajectories(lab);
            found.put("trajectories", trajectories.size());
            for (int count : counts) {
                for (int spread : jvms) {
                    if (spread == 1 || spread <= count) {
                        rows.add(row(lab, trajectories, count, spread));
                    }
                }
            }
            if (idle > 0) {
                found.set("idle", IdleSessions.measure(lab.image(), idle));
            }
        }
        lines(found).forEach(out::println);
        if (json != null) {
            Files.writeString(json, Json.pretty(found) + "\n");
            out.println("written to " + json);
        }
        return 0;
    }

    /** So many agents over so many JVMs, first without protection. */
    private ObjectNode row(Lab lab, List<Trajectory> trajectories, int count, int spread)
            throws IOException, InterruptedException {
        Results results = new Results(POLICIES);
        ObjectNode row = Json.object().put("sandboxes", count).put("jvms", spread);
        for (String policy : POLICIES) {
            lab.say(policy + ": sandboxes " + count + ", JVMs " + spread);
            List<List<Trajectory>> batches = new ArrayList<>();
            for (int i = 0; i < spread; i++) {
                batches.add(new ArrayList<>());
            }
            for (int i = 0; i < count; i++) {
                batches.get(i % spread).add(trajectories.get(i % trajectories.size()));
            }
            List<List<Measured>> measured = run(lab, policy, batches);
            long memory = 0;
            for (int jvm = 0; jvm < spread; jvm++) {
                List<Measured> of = new ArrayList<>();
                for (int i = 0; i < measured.get(jvm).size(); i++) {
                    of.add(measured.get(jvm).get(i).numbered(i * spread + jvm)); // the same agent with and without
                }
                results.addMeasured(of);
                memory += of.stream().mapToLong(Measured::jvmPeak).max().orElse(0);
            }
            row.put(policy + "JvmPeakBytes", memory);
        }
        for (JsonNode summary : results.json().path("summaries")) {
            if (summary.path("category").asText().equals(Results.ALL)) {
                row.set(summary.path("policy").asText(), summary.path("cost"));
            }
        }
        return row;
    }

    private List<List<Measured>> run(Lab lab, String policy, List<List<Trajectory>> batches)
            throws IOException, InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(batches.size());
        // As many agents begin in a second as in one JVM, or the number of JVMs would not be all that differs.
        long stagger = options.staggerMillis() * batches.size();
        try {
            List<Future<List<Measured>>> running = new ArrayList<>();
            for (List<Trajectory> batch : batches) {
                List<Trajectory> before = new ArrayList<>();
                for (int i = 0; i < warmUp; i++) {
                    before.add(batch.get(i % batch.size()));
                }
                running.add(threads.submit(() -> new MeasuredRun(lab, policy).run(before, batch, 1, stagger)));
            }
            List<List<Measured>> all = new ArrayList<>();
            IOException failure = null;
            for (Future<List<Measured>> one : running) {
                try {
                    all.add(one.get());
                } catch (ExecutionException e) {
                    failure = new IOException(e.getCause());
                }
            }
            if (failure != null) {
                throw failure;
            }
            return all;
        } finally {
            threads.shutdown();
        }
    }

    private static List<String> lines(ObjectNode found) {
        List<String[]> rows = new ArrayList<>();
        rows.add(new String[] {
            "sandboxes",
            "JVMs",
            "wall/none",
            "min..max",
            "exposed ms p50",
            "p95",
            "p99",
            "of task p95",
            "capture ms p50",
            "p95",
            "CPU ms/turn",
            "without",
            "machine busy",
            "without",
            "JVMs MB",
            "without"
        });
        for (JsonNode row : found.path("rows")) {
            JsonNode crab = row.path(Policies.CRAB);
            rows.add(new String[] {
                row.path("sandboxes").asText(),
                row.path("jvms").asText(),
                ReportTable.number(crab.path("wallOverNone"), 4),
                ReportTable.range(crab.path("wallOverNoneEach")),
                ReportTable.number(crab.path("exposedMillis").path("median"), 1),
                ReportTable.number(crab.path("exposedMillis").path("p95"), 1),
                ReportTable.number(crab.path("exposedMillis").path("p99"), 1),
                ReportTable.percent(crab.path("exposedShare").path("p95"), 2),
                ReportTable.number(crab.path("captureMillis").path("median"), 1),
                ReportTable.number(crab.path("captureMillis").path("p95"), 1),
                cpu(crab),
                cpu(row.path(Policies.NONE)),
                ReportTable.percent(crab.path("machineShare").path("mean"), 0),
                ReportTable.percent(row.path(Policies.NONE).path("machineShare").path("mean"), 0),
                ReportTable.format(0, row.path("crabJvmPeakBytes").asDouble() / 1e6),
                ReportTable.format(0, row.path("noneJvmPeakBytes").asDouble() / 1e6)
            });
        }
        List<String> lines = new ArrayList<>();
        lines.add("speed " + found.path("speed").asText() + ", "
                + found.path("trajectories").asText() + " trajectories");
        ReportTable.add(lines, "Density", rows);
        JsonNode idle = found.path("idle");
        if (!idle.isMissingNode()) {
            lines.add(String.format(
                    Locale.ROOT,
                    "An idle session takes %.2f MB of a JVM's heap, %.1f descriptors, %.2f threads, and %.2f MB beside the JVM"
                            + " (%d sessions, each with bash and a web server)",
                    idle.path("heapBytes").asDouble() / 1e6,
                    idle.path("descriptors").asDouble(),
                    idle.path("threads").asDouble(),
                    idle.path("besideBytes").asDouble() / 1e6,
                    idle.path("sessions").asInt()));
        }
        return lines;
    }

    private static String cpu(JsonNode cost) {
        return ReportTable.format(
                1,
                cost.path("jvmCpuMillisPerTurn").asDouble()
                        + cost.path("sandboxCpuMillisPerTurn").asDouble());
    }
}

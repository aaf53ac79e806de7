package dev.crab.samples.replay;

import dev.crab.runtime.error.CrabException;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Replays recorded agents under several policies of recovery, and kills them: {@code ./crab bench replay}. */
@Command(
        name = "replay",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Replays recorded agents through LangChain4j, with a model that answers as it was recorded and tools that run for real, under"
                    + " several policies of recovery beside each other; then kills them and compares what comes back with what was.",
            ""
        },
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {
            "0:every run came to its end, and crab came back right from every crash",
            "1:a run failed or could not be saved, or crab came back wrong",
            "2:wrong usage"
        })
public final class ReplayBench implements Callable<Integer> {
    @Mixin
    private LabOptions options = new LabOptions();

    @Option(
            names = "--policies",
            split = ",",
            paramLabel = "NAME",
            defaultValue = "none,chat,files,full,crab",
            description = {
                "What is kept of an agent: none; chat (its chat memory); files (chat, and a snapshot each turn); full (chat, a CRIU dump"
                        + " and a snapshot each turn); crab; podman (chat, and podman's checkpoint each turn), where podman is there.",
                "Default: all but podman."
            })
    @SuppressWarnings("NullAway.Init") // set by picocli
    private List<String> policies;

    @Option(
            names = "--sandboxes",
            paramLabel = "N",
            defaultValue = "1",
            description = "Agents side by side in one JVM in undisturbed runs. Default: ${DEFAULT-VALUE}.")
    private int sandboxes;

    @Option(
            names = "--runs",
            paramLabel = "N",
            defaultValue = "1",
            description =
                    "Undisturbed runs of each trajectory with each policy, interleaved; 0 for none. Default: ${DEFAULT-VALUE}.")
    private int runs;

    @Option(
            names = "--crash",
            split = ",",
            paramLabel = "WHERE",
            defaultValue = "every",
            description = {
                "Where agents are killed: every (behind each turn), tool (while tools run, in each turn), capture (while a turn is saved,"
                        + " each turn), random:K (at K turns, anywhere), none. Default: ${DEFAULT-VALUE}."
            })
    @SuppressWarnings("NullAway.Init") // set by picocli
    private List<String> crash;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "Of what is drawn at random. Default: ${DEFAULT-VALUE}.")
    private long seed;

    @Option(names = "--json", paramLabel = "FILE", description = "Write everything that was found to this file.")
    private @Nullable Path json;

    @Option(names = "--html", paramLabel = "FILE", description = "Write a page with charts, one file, to this one.")
    private @Nullable Path html;

    private final PrintStream out;
    private final PrintStream err;

    ReplayBench(PrintStream out, PrintStream err) {
        this.out = out;
        this.err = err;
    }

    public static void main(String[] arguments) {
        System.exit(run(System.out, System.err, arguments));
    }

    /** The command, with its streams given; answers with the exit code. */
    static int run(PrintStream out, PrintStream err, String... arguments) {
        return LabOptions.execute(new ReplayBench(out, err), out, err, arguments);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        List<CrashPlan> plans = crash.stream()
                .filter(label -> !label.equals("none"))
                .map(CrashPlan::new)
                .toList();
        Results results = new Results(policies);
        List<String> here = Policies.here(policies, System.getenv("PATH"), results);
        if (sandboxes < 1 || runs < 0) {
            throw new IllegalArgumentException("--sandboxes from 1, --runs from 0");
        }
        try (Lab lab = options.lab(err)) {
            List<Trajectory> trajectories = options.trajectories(lab);
            results.circumstance("trajectories", trajectories.size());
            results.circumstance("speed", options.speed());
            results.circumstance("sandboxes", sandboxes);
            results.circumstance("runs", runs);
            results.circumstance("crash", String.join(",", crash));
            results.circumstance("seed", seed);
            measure(lab, here, trajectories, results);
            if (runs == 0 && !plans.isEmpty()) {
                // One that ends by itself keeps its classes for the others: some hundred JVMs start in half the time.
                new MeasuredRun(lab, here.get(here.size() - 1))
                        .run(Trajectory.below(lab.shipped(), Trajectory.QUICKEST), 0, 0);
            }
            crash(lab, here, trajectories, plans, results);
        }
        var found = results.json();
        ReportTable.lines(found).forEach(out::println);
        if (json != null) {
            Files.writeString(json, Json.pretty(found) + "\n");
            out.println("written to " + json);
        }
        if (html != null) {
            Files.writeString(html, ReportPage.of(found));
            out.println("written to " + html);
        }
        return results.isClean() ? 0 : 1;
    }

    private void measure(Lab lab, List<String> here, List<Trajectory> trajectories, Results results)
            throws InterruptedException {
        for (int run = 1; run <= runs; run++) {
            for (int first = 0; first < trajectories.size(); first += sandboxes) {
                List<Trajectory> batch = new ArrayList<>();
                for (int i = 0; i < sandboxes; i++) {
                    batch.add(trajectories.get((first + i) % trajectories.size()));
                }
                for (int i = 0; i < here.size(); i++) {
                    String policy = here.get((i + run) % here.size()); // none is always the first, or the last
                    lab.say("run " + run + ", " + policy + ": " + names(batch));
                    try {
                        results.addMeasured(new MeasuredRun(lab, policy).run(batch, run, options.staggerMillis()));
                    } catch (Refusal e) {
                        results.refused(names(batch) + " with " + policy + ": " + CrabException.reason(e));
                    } catch (IOException e) {
                        results.failed(names(batch) + " with " + policy + ": " + CrabException.reason(e));
                    }
                }
            }
        }
    }

    private static String names(List<Trajectory> batch) {
        return batch.get(0).id() + (batch.size() > 1 ? " and " + (batch.size() - 1) + " beside it" : "");
    }

    private void crash(
            Lab lab, List<String> here, List<Trajectory> trajectories, List<CrashPlan> plans, Results results)
            throws IOException, InterruptedException {
        for (Trajectory trajectory : trajectories) {
            for (CrashPlan plan : plans) {
                for (String policy : here) {
                    Map<Integer, CrashPlan.Stop> stops = plan.stops(trajectory.turns(), seed);
                    List<Crash> crashes = new ArrayList<>();
                    String failure = "";
                    while (!stops.isEmpty() && failure.isEmpty()) {
                        CrashRun run = new CrashRun(lab, policy, trajectory, plan, stops);
                        try {
                            run.run();
                        } catch (Refusal e) {
                            failure = ", then refused";
                            results.refused(trajectory.id() + " with " + policy + ": " + CrabException.reason(e));
                        } catch (IOException e) {
                            failure = ", then " + CrabException.reason(e);
                            results.failed(trajectory.id() + " with " + policy + ", killed at " + plan.label() + ": "
                                    + CrabException.reason(e));
                        }
                        crashes.addAll(run.crashes());
                    }
                    results.addCrashes(crashes);
                    lab.say(policy + ", " + plan.label() + ": " + trajectory.id() + ": "
                            + crashes.stream().filter(Crash::correct).count() + " of " + crashes.size()
                            + " came back as before" + failure);
                }
            }
        }
    }
}

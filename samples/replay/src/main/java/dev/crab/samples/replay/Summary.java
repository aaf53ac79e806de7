package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import java.util.stream.DoubleStream;

/** Figures of one policy over the trajectories of one category. Times are in milliseconds, sizes in bytes. */
final class Summary {
    private static final double MS = 1e6;

    private Summary() {}

    static void crashes(ObjectNode into, List<Crash> crashes) {
        if (crashes.isEmpty()) {
            return;
        }
        ObjectNode node = into.putObject("recovery");
        long correct = crashes.stream().filter(Crash::correct).count();
        node.put("crashes", crashes.size());
        node.put("correct", correct);
        node.put("share", (double) correct / crashes.size());
        node.put(
                "sandbox",
                crashes.stream()
                        .filter(crash ->
                                crash.failure().isEmpty() && crash.state().isEmpty())
                        .count());
        node.put(
                "chat",
                crashes.stream()
                        .filter(crash -> crash.failure().isEmpty()
                                && crash.chat().isEmpty()
                                && crash.recovered() == crash.target())
                        .count());
        node.put("probed", crashes.stream().filter(Crash::probed).count());
        node.put(
                "probe",
                crashes.stream()
                        .filter(crash -> crash.probed()
                                && crash.failure().isEmpty()
                                && crash.probe().isEmpty())
                        .count());
        node.put(
                "comparedByProbe",
                crashes.stream().filter(crash -> !crash.moved().isEmpty()).count());
        node.put(
                "directoryTimes",
                crashes.stream().filter(crash -> !crash.directories().isEmpty()).count());
        for (CrashKind kind : CrashKind.values()) {
            List<Crash> of =
                    crashes.stream().filter(crash -> crash.kind() == kind).toList();
            if (!of.isEmpty()) {
                node.putObject(kind.label())
                        .put("crashes", of.size())
                        .put("correct", of.stream().filter(Crash::correct).count());
            }
        }
        List<Crash> back =
                crashes.stream().filter(crash -> crash.failure().isEmpty()).toList();
        quantiles(node, "restoreMillis", back.stream().mapToDouble(Crash::restoreMillis));
        quantiles(node, "downMillis", back.stream().mapToDouble(Crash::downMillis));
    }

    /**
     * Adds what undisturbed runs cost.
     *
     * @param full runs of the policy that saves everything, none: of that which saves nothing; empty where there are none to compare with
     */
    static void measured(ObjectNode into, List<Measured> runs, List<Measured> full, List<Measured> none) {
        if (runs.isEmpty()) {
            return;
        }
        List<TurnRow> turns = runs.stream().flatMap(run -> run.turns().stream()).toList();
        ObjectNode node = into.putObject("cost");
        node.put("runs", runs.size());
        node.put("turns", turns.size());
        ObjectNode classes = node.putObject("effects");
        ObjectNode saved = node.putObject("saved");
        for (TurnRow turn : turns) {
            if (!turn.effect().isEmpty()) {
                classes.put(turn.effect(), classes.path(turn.effect()).asInt() + 1);
            }
            saved.put(turn.saved(), saved.path(turn.saved()).asInt() + 1);
        }
        node.put("skippedShare", (double) saved.path("NOTHING").asInt() / Math.max(1, turns.size()));
        long bytes = bytes(runs);
        node.put("bytes", bytes);
        node.put(
                "plainBytes",
                runs.stream().mapToLong(run -> sum(run, TurnRow::plain)).sum());
        traffic(node, runs, full);
        ratios(node, runs, none);
        quantiles(node, "exposedMillis", millis(turns, TurnRow::exposed));
        quantiles(
                node,
                "exposedShare",
                runs.stream().mapToDouble(run -> (double) sum(run, TurnRow::exposed) / Math.max(1, run.wall())));
        quantiles(node, "windowMillis", millis(turns, TurnRow::window));
        List<TurnRow> captured =
                turns.stream().filter(turn -> turn.capture() > 0).toList();
        quantiles(node, "captureMillis", millis(captured, TurnRow::capture));
        quantiles(
                node,
                "freezeMillis",
                millis(captured.stream().filter(turn -> turn.freeze() > 0).toList(), TurnRow::freeze));
        quantiles(node, "persistMillis", millis(captured, TurnRow::persist));
        long all = Math.max(1, turns.size());
        node.put(
                "jvmCpuMillisPerTurn", runs.stream().mapToLong(Measured::jvmCpu).sum() / MS / all);
        node.put(
                "sandboxCpuMillisPerTurn",
                runs.stream().mapToLong(Measured::sandboxCpu).sum() / MS / all);
        quantiles(node, "machineShare", runs.stream().mapToDouble(Measured::machineShare));
        node.put(
                "jvmPeakBytes", runs.stream().mapToLong(Measured::jvmPeak).max().orElse(0));
        node.put(
                "sandboxPeakBytes",
                runs.stream().mapToLong(Measured::sandboxPeak).max().orElse(0));
    }

    /** What was written beside what whole dumps come to, compressed and as CRIU makes them; of the runs that both policies ended. */
    private static void traffic(ObjectNode node, List<Measured> runs, List<Measured> full) {
        Map<String, Measured> others = byKey(full);
        List<Measured> paired =
                runs.stream().filter(run -> others.containsKey(key(run))).toList();
        if (paired.isEmpty()) {
            return;
        }
        List<Measured> beside = paired.stream().map(run -> others.get(key(run))).toList();
        double bytes = bytes(paired);
        node.put("bytesOverFull", bytes / Math.max(1, bytes(beside)));
        node.put(
                "bytesOverImages",
                bytes
                        / Math.max(
                                1,
                                beside.stream()
                                        .mapToLong(run -> sum(run, TurnRow::plain))
                                        .sum()));
    }

    private static Map<String, Measured> byKey(List<Measured> runs) {
        Map<String, Measured> byKey = new HashMap<>();
        runs.forEach(run -> byKey.put(key(run), run));
        return byKey;
    }

    /** Each run beside the one of the same trajectory, place and repetition without protection; and all of a repetition. */
    private static void ratios(ObjectNode node, List<Measured> runs, List<Measured> none) {
        Map<String, Measured> others = byKey(none);
        long own = 0;
        long other = 0;
        List<Double> each = new ArrayList<>();
        Map<Integer, long[]> repetitions = new HashMap<>();
        for (Measured run : runs) {
            Measured beside = others.get(key(run));
            if (beside != null) {
                own += run.wall();
                other += beside.wall();
                each.add((double) run.wall() / beside.wall());
                long[] both = repetitions.computeIfAbsent(run.run(), number -> new long[2]);
                both[0] += run.wall();
                both[1] += beside.wall();
            }
        }
        if (!each.isEmpty()) {
            node.put("wallOverNone", (double) own / other);
            quantiles(node, "wallOverNoneEach", each.stream().mapToDouble(Double::doubleValue));
            quantiles(
                    node,
                    "wallOverNoneRuns",
                    repetitions.values().stream().mapToDouble(both -> (double) both[0] / both[1]));
        }
    }

    private static String key(Measured run) {
        return run.trajectory() + " " + run.run() + " " + run.place();
    }

    private static long bytes(List<Measured> runs) {
        return runs.stream().mapToLong(run -> sum(run, TurnRow::bytes)).sum();
    }

    private static long sum(Measured run, ToLongFunction<TurnRow> part) {
        return run.turns().stream().mapToLong(part).sum();
    }

    private static DoubleStream millis(List<TurnRow> turns, ToLongFunction<TurnRow> part) {
        return turns.stream().mapToLong(part).mapToDouble(nanos -> nanos / MS);
    }

    private static void quantiles(ObjectNode node, String name, DoubleStream values) {
        double[] sorted = values.sorted().toArray();
        if (sorted.length == 0) {
            return;
        }
        node.putObject(name)
                .put("min", sorted[0])
                .put("median", quantile(sorted, 0.5))
                .put("p95", quantile(sorted, 0.95))
                .put("p99", quantile(sorted, 0.99))
                .put("max", sorted[sorted.length - 1])
                .put("mean", Arrays.stream(sorted).average().orElse(0));
    }

    /** The smallest value that so large a share of all does not exceed. */
    static double quantile(double[] sorted, double share) {
        return sorted[Math.max(0, (int) Math.ceil(share * sorted.length) - 1)];
    }
}

package dev.crab.samples.truth;

import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.inspector.EffectReason;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** What the inspector got right and wrong, as text. */
final class Report {
    private static final int SHOWN = 40;
    private static final int EVIDENCE_SHOWN = 4;
    private static final int LINE = 300;

    private final List<LabelledTurn> turns = new ArrayList<>();
    private final List<String> shrunk = new ArrayList<>();

    void add(LabelledTurn turn) {
        turns.add(turn);
    }

    /** Adds the smallest program that still shows a miss. */
    void addShrunk(String program) {
        shrunk.add(program);
    }

    List<LabelledTurn> turns() {
        return List.copyOf(turns);
    }

    long misses() {
        return turns.stream().filter(LabelledTurn::isMiss).count();
    }

    long disputes() {
        return turns.stream().filter(LabelledTurn::isDisputed).count();
    }

    List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add(turns.size() + " turns: " + misses() + " misses, " + disputes() + " disputed by the oracle; "
                + millis(turns) + " ms a turn");
        lines.add("");
        confusion(lines);
        table(lines, "category", LabelledTurn::category);
        table(lines, "file system", turn -> turn.fileSystem().label());
        reasons(lines);
        lines.add("");
        RuleNeeds.lines(turns).forEach(line -> lines.add(cut(line)));
        each(lines, "Misses", LabelledTurn::isMiss);
        each(lines, "Disputed: author and oracle disagree", LabelledTurn::isDisputed);
        if (!shrunk.isEmpty()) {
            lines.add("");
            lines.add("Shrunk");
            lines.addAll(shrunk);
        }
        return lines;
    }

    /** Turns by truth and judgement. */
    private void confusion(List<String> lines) {
        lines.add(String.format(
                Locale.ROOT, "%-24s %9s %9s %9s %9s", "truth \\ judged", "NONE", "FILES", "PROCESSES", "FULL"));
        for (Effect truth : Effect.values()) {
            StringBuilder line = new StringBuilder(String.format(Locale.ROOT, "%-24s", truth));
            for (Effect judged : Effect.values()) {
                line.append(String.format(
                        Locale.ROOT,
                        " %9d",
                        count(
                                turns,
                                turn -> turn.truth().effect() == truth
                                        && turn.judgement().effect() == judged)));
            }
            lines.add(line.toString());
        }
    }

    private void table(List<String> lines, String heading, Function<LabelledTurn, String> by) {
        lines.add("");
        lines.add(String.format(
                Locale.ROOT,
                "%-24s %7s %7s %13s %17s %8s",
                heading,
                "turns",
                "misses",
                "false: files",
                "false: processes",
                "ms"));
        Map<String, List<LabelledTurn>> groups =
                turns.stream().collect(Collectors.groupingBy(by, TreeMap::new, Collectors.toList()));
        groups.forEach((name, group) -> lines.add(String.format(
                Locale.ROOT,
                "%-24s %7d %7d %13s %17s %8s",
                name,
                group.size(),
                count(group, LabelledTurn::isMiss),
                share(group, turn -> turn.falselyClaimed().files()),
                share(group, turn -> turn.falselyClaimed().processes()),
                millis(group))));
    }

    /** Which rules gave a false alarm, and how often. */
    private void reasons(List<String> lines) {
        Map<String, Integer> rules = new TreeMap<>();
        Map<String, String> example = new TreeMap<>();
        for (LabelledTurn turn : turns) {
            for (EffectReason reason : turn.judgement().reasons()) {
                for (String component : falseComponents(reason.effect(), turn.falselyClaimed())) {
                    String key = component + " by " + reason.rule();
                    rules.merge(key, 1, Integer::sum);
                    example.putIfAbsent(key, turn.name());
                }
            }
        }
        if (rules.isEmpty()) {
            return;
        }
        lines.add("");
        lines.add("False alarms by rule");
        rules.forEach((rule, count) -> lines.add(
                cut(String.format(Locale.ROOT, "%7d %-45s for instance %s", count, rule, example.get(rule)))));
    }

    private static List<String> falseComponents(Effect claimed, Effect falsely) {
        List<String> components = new ArrayList<>();
        if (claimed.files() && falsely.files()) {
            components.add("files");
        }
        if (claimed.processes() && falsely.processes()) {
            components.add("processes");
        }
        return components;
    }

    private void each(List<String> lines, String heading, Predicate<LabelledTurn> which) {
        List<LabelledTurn> some = turns.stream().filter(which).toList();
        if (some.isEmpty()) {
            return;
        }
        lines.add("");
        lines.add(heading);
        for (LabelledTurn turn : some.subList(0, Math.min(SHOWN, some.size()))) {
            lines.add(cut("- " + turn.fileSystem().label() + ", " + turn.category() + ": " + turn.name()));
            lines.add("    truth " + turn.truth().effect()
                    + (turn.declared() == null ? "" : ", declared " + turn.declared()) + ", judged "
                    + turn.judgement().effect() + (turn.isLate() ? " (seen under the freeze)" : ""));
            turn.judgement().reasons().forEach(reason -> lines.add(cut("    reason " + reason)));
            turn.truth().evidence().stream()
                    .limit(EVIDENCE_SHOWN)
                    .forEach(evidence -> lines.add(cut("    " + evidence)));
        }
        if (some.size() > SHOWN) {
            lines.add("- and " + (some.size() - SHOWN) + " more");
        }
    }

    private static long count(List<LabelledTurn> turns, Predicate<LabelledTurn> which) {
        return turns.stream().filter(which).count();
    }

    private static String share(List<LabelledTurn> turns, Predicate<LabelledTurn> which) {
        return String.format(Locale.ROOT, "%.1f %%", 100.0 * count(turns, which) / turns.size());
    }

    private static String millis(List<LabelledTurn> turns) {
        return String.format(
                Locale.ROOT,
                "%.1f",
                turns.stream().mapToLong(LabelledTurn::nanos).average().orElse(0) / 1e6);
    }

    private static String cut(String line) {
        return line.length() > LINE ? line.substring(0, LINE) + "..." : line;
    }
}

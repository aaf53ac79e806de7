package dev.crab.samples.truth;

import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.inspector.EffectReason;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Which of the inspector's rules is needed. A judgement's effect is the union of its reasons' effects, so that a rule could be left out of
 * a turn wherever others cover what is true of it.
 */
final class RuleNeeds {
    /** Counts of one rule. */
    static final class Need {
        private int held;
        private int alone;
        private String example = "";

        /** Turns in which it held. */
        int held() {
            return held;
        }

        /** Turns in which it was the only rule that covered a component of the truth: misses if there were no such rule. */
        int alone() {
            return alone;
        }
    }

    private RuleNeeds() {}

    /** By rule that held in some turn. */
    static Map<String, Need> of(List<LabelledTurn> turns) {
        Map<String, Need> needs = new TreeMap<>();
        for (LabelledTurn turn : turns) {
            List<EffectReason> reasons = turn.judgement().reasons();
            Effect truth = turn.truth().effect();
            Set<String> alone = sole(reasons, truth.files(), Effect::files);
            alone.addAll(sole(reasons, truth.processes(), Effect::processes));
            for (String rule : reasons.stream().map(EffectReason::rule).collect(Collectors.toSet())) {
                Need need = needs.computeIfAbsent(rule, name -> new Need());
                need.held++;
                if (alone.contains(rule)) {
                    need.alone++;
                    need.example = need.example.isEmpty() ? turn.name() : need.example;
                }
            }
        }
        return needs;
    }

    /** The rule that alone covers that component of the truth, or none. */
    private static Set<String> sole(List<EffectReason> reasons, boolean isTrue, Predicate<Effect> component) {
        Set<String> rules = reasons.stream()
                .filter(reason -> isTrue && component.test(reason.effect()))
                .map(EffectReason::rule)
                .collect(Collectors.toSet());
        if (rules.size() > 1) {
            rules.clear();
        }
        return rules;
    }

    /** The table, as text. */
    static List<String> lines(List<LabelledTurn> turns) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(Locale.ROOT, "%-36s %7s %7s", "rule", "held", "alone"));
        of(turns)
                .forEach((rule, need) ->
                        lines.add(String.format(Locale.ROOT, "%-36s %7d %7d", rule, need.held, need.alone)
                                + (need.example.isEmpty() ? "" : " for instance " + need.example)));
        return lines;
    }
}

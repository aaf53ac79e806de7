package dev.crab.runtime.inspector;

import java.util.List;

/**
 * One rule of the inspector that held, and on what evidence.
 *
 * @param rule stable kebab-case name of the rule, for instance {@code process-set-differs}
 * @param effect what this rule alone demands to be saved
 * @param evidence paths ("/srv/app.py"), processes ("pid 12 (python3)") or counters; at most {@link #MAX_EVIDENCE} of them
 */
public record EffectReason(String rule, Effect effect, List<String> evidence) {
    /** The rule that holds where a process that lives on between turns was scheduled. */
    public static final String SURVIVOR_RAN = "survivor-ran";

    /** More evidence than this is cut: the reason is for reading, the judgement does not depend on it. */
    public static final int MAX_EVIDENCE = 20;

    /** Evidence longer than this is cut as well: a path in a sandbox has no bound of its own. */
    private static final int MAX_LENGTH = 1 << 12;

    public EffectReason {
        evidence = evidence.stream()
                .limit(MAX_EVIDENCE)
                .map(text -> text.length() <= MAX_LENGTH ? text : text.substring(0, MAX_LENGTH) + "…")
                .toList();
    }
}

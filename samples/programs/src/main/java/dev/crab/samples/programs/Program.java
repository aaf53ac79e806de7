package dev.crab.samples.programs;

import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A program and how it is asked for what it knows: docs/programs.md describes the fields. Commands are lines of bash that run in {@code /srv}
 * with the cycle's number, from 1, as {@code $n}, and end at the first failure. Immutable.
 *
 * @param name what {@code --only} takes
 * @param memory what is nowhere but in its processes or the kernel
 * @param packages Debian packages that it needs beside those of Crab's own image
 * @param files resources that are put into {@code /srv}
 * @param prepare carried out once, before anything runs
 * @param start starts it and returns once it serves; must be able to do so again after everything was killed
 * @param work changes what is only in memory; ends in the commit
 * @param spoil changes it further, after the commit: what the crash must take back
 * @param probe prints what is expected
 * @param expect what the probe prints, with {@code {n}}, {@code {3n+1}} and the like for numbers
 * @param comeAndGo names of processes that need not be the same after the restore
 * @param restless beginnings of the paths of files that it may write at any time, as through a mapping
 * @param passes whether what the probe asks for passes by itself within seconds, so that nothing may come between
 * @param limit why it is known that it cannot be checkpointed; null if it can
 */
record Program(
        String name,
        String memory,
        List<String> packages,
        List<String> files,
        List<String> prepare,
        List<String> start,
        List<String> work,
        List<String> spoil,
        List<String> probe,
        List<String> expect,
        List<String> comeAndGo,
        List<String> restless,
        boolean passes,
        @Nullable Limit limit) {
    /** The cycle's number in a command: {@code $n}, {@code ${#n}} or {@code $((2 * n))}. */
    private static final Pattern CYCLE = Pattern.compile("\\$n\\b|\\$\\{#?n}|\\$\\(\\([^)]*\\bn\\b");

    Program {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(memory, "memory");
        packages = orEmpty(packages);
        files = orEmpty(files);
        prepare = orEmpty(prepare);
        start = given(start, "start");
        work = given(work, "work");
        spoil = orEmpty(spoil);
        probe = given(probe, "probe");
        expect = given(expect, "expect");
        comeAndGo = orEmpty(comeAndGo);
        restless = orEmpty(restless);
    }

    /** What the probe must print in that cycle. */
    String expected(int cycle) {
        return Expectation.of(String.join("\n", expect), cycle);
    }

    /** Whether the probe tells by the number of the cycle what the program has come to, so that one that is further answers otherwise. */
    boolean tellsCyclesApart() {
        return !expected(1).equals(expected(2))
                || CYCLE.matcher(String.join("\n", probe)).find();
    }

    private static List<String> orEmpty(@Nullable List<String> lines) {
        return lines == null ? List.of() : List.copyOf(lines);
    }

    private static List<String> given(@Nullable List<String> lines, String field) {
        if (lines == null || lines.isEmpty()) {
            throw new IllegalArgumentException("a program needs the field " + field);
        }
        return List.copyOf(lines);
    }
}

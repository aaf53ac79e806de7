package dev.crab.samples.programs;

import java.util.regex.Pattern;

/** Text with numbers in it that follow from the cycle's: {@code {n}}, {@code {2n}}, {@code {3n+1}}, {@code {n-1}}. */
final class Expectation {
    private static final Pattern NUMBER = Pattern.compile("\\{(\\d*)n([+-]\\d+)?}");

    private Expectation() {}

    static String of(String template, int cycle) {
        return NUMBER.matcher(template).replaceAll(match -> {
            long factor = match.group(1).isEmpty() ? 1 : Long.parseLong(match.group(1));
            long more = match.group(2) == null ? 0 : Long.parseLong(match.group(2));
            return Long.toString(factor * cycle + more);
        });
    }
}

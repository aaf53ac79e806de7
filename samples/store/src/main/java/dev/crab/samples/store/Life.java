package dev.crab.samples.store;

import java.util.List;

/**
 * A victim's life, as it told it.
 *
 * @param lines everything it said
 * @param status its exit status; 137 if it was killed
 */
record Life(List<String> lines, int status) {
    private static final String COMMITTED = "committed ";

    Life {
        lines = List.copyOf(lines);
    }

    /** The last turn that it said to be committed. */
    long acknowledged() {
        return lines.stream()
                .filter(line -> line.startsWith(COMMITTED))
                .mapToLong(line -> Long.parseLong(line.split(" ", -1)[1]))
                .max()
                .orElse(0);
    }

    boolean finished() {
        return status == 0 && lines.contains("finished");
    }

    boolean killed() {
        return status == 137;
    }

    /** The rest of the lines that begin so. */
    List<String> told(String word) {
        return lines.stream()
                .filter(line -> line.startsWith(word + " "))
                .map(line -> line.substring(word.length() + 1))
                .toList();
    }

    /** Operations on the store until that turn was committed. */
    long operationsUntil(int turn) {
        return told("committed").stream()
                .map(line -> line.split(" ", -1))
                .filter(words -> words[0].equals(Integer.toString(turn)))
                .mapToLong(words -> Long.parseLong(words[2]))
                .findFirst()
                .orElseThrow();
    }
}

package dev.crab.samples.quickstart;

import java.util.ArrayList;
import java.util.List;

/** Names for the sessions of one invocation, which no other invocation uses. Thread-safe. */
final class SessionNames {
    private final String prefix =
            "quickstart-" + Long.toString(ProcessHandle.current().pid(), 36) + "-"
                    + Long.toString(System.currentTimeMillis(), 36) + "-";
    private final List<String> given = new ArrayList<>();

    synchronized String next() {
        String name = prefix + (given.size() + 1);
        given.add(name);
        return name;
    }

    /** All names given so far. */
    synchronized List<String> given() {
        return List.copyOf(given);
    }
}

package dev.crab.samples.langchain4j;

import dev.crab.runtime.CrabRuntime;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Names of sessions that no other program uses, and their removal. Thread-safe. */
final class Sessions implements AutoCloseable {
    private final String prefix =
            "prove-lc-" + Long.toString(ProcessHandle.current().pid(), 36) + "-"
                    + Long.toString(System.currentTimeMillis(), 36) + "-";
    private final Set<String> present = new LinkedHashSet<>();
    private int given;
    private @Nullable CrabRuntime runtime;

    synchronized String next() {
        String name = prefix + ++given;
        present.add(name);
        return name;
    }

    /** Removes what a row made under that name. */
    synchronized void remove(String name, int sessions) {
        if (!present.remove(name)) {
            return;
        }
        CrabRuntime current = runtime;
        if (current == null) {
            current = CrabRuntime.builder().build();
            runtime = current;
        }
        Set<String> known = Set.copyOf(current.sessions());
        for (int i = 1; i <= sessions; i++) {
            String one = i == 1 ? name : name + "-" + i;
            if (known.contains(one)) {
                current.delete(one);
            }
        }
    }

    @Override
    public synchronized void close() {
        for (String name : List.copyOf(present)) {
            remove(name, 2);
        }
        if (runtime != null) {
            runtime.close();
            runtime = null;
        }
    }
}

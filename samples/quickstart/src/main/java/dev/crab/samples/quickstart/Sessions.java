package dev.crab.samples.quickstart;

import dev.crab.runtime.CrabRuntime;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of one invocation: names that no other uses, and their removal from the data directory, also when the driver is interrupted.
 * Thread-safe.
 */
final class Sessions implements AutoCloseable {
    private final String prefix =
            "quickstart-" + Long.toString(ProcessHandle.current().pid(), 36) + "-"
                    + Long.toString(System.currentTimeMillis(), 36) + "-";
    private final boolean keep;
    private final Set<String> present = new LinkedHashSet<>();
    private final Thread interruption = new Thread(this::interrupted, "quickstart-clean-up");
    private int given;
    private @Nullable CrabRuntime runtime;

    /**
     * None yet.
     *
     * @param keep whether to leave the sessions in the data directory
     */
    Sessions(boolean keep) {
        this.keep = keep;
        Runtime.getRuntime().addShutdownHook(interruption);
    }

    synchronized String next() {
        String name = prefix + ++given;
        present.add(name);
        return name;
    }

    /** Names of those that are still there. */
    synchronized List<String> names() {
        return List.copyOf(present);
    }

    /** Removes a session that is over, unless it is to be kept. */
    void remove(String name) {
        if (!keep && forget(name)) {
            runtime().delete(name);
        }
    }

    private synchronized boolean forget(String name) {
        return present.remove(name);
    }

    private synchronized CrabRuntime runtime() {
        if (runtime == null) {
            runtime = CrabRuntime.builder().build();
        }
        return runtime;
    }

    /** Removes what is left. */
    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(interruption);
        } catch (IllegalStateException e) {
            return; // The JVM is being ended, and the hook at work.
        }
        removeAll();
    }

    private void interrupted() {
        AgentProcess.stopAll();
        removeAll();
    }

    private void removeAll() {
        List<String> left;
        synchronized (this) {
            left = List.copyOf(present);
        }
        left.forEach(this::remove);
        synchronized (this) {
            if (runtime != null) {
                runtime.close();
                runtime = null;
            }
        }
    }
}

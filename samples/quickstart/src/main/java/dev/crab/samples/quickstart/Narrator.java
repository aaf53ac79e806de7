package dev.crab.samples.quickstart;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Tells people what happens. Plain text, 80 columns; on a terminal, progress overwrites its own line. Thread-safe. */
final class Narrator {
    private final PrintStream out;
    private final boolean terminal;
    private String progress = "";

    /**
     * A narrator.
     *
     * @param out where people read
     * @param terminal whether that is a terminal
     */
    Narrator(PrintStream out, boolean terminal) {
        this.out = out;
        this.terminal = terminal;
    }

    /** Whether that file descriptor of this process is a terminal. */
    static boolean isTerminal(int descriptor) {
        try {
            String target = Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor))
                    .toString();
            return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty") || target.equals("/dev/console");
        } catch (IOException e) {
            return false;
        }
    }

    synchronized void say(String line) {
        clear();
        out.println(line);
        out.flush();
    }

    synchronized void say(List<String> lines) {
        lines.forEach(this::say);
    }

    /** Shows how far something is. Where there is no terminal, only when {@code milestone} says so. */
    synchronized void progress(String line, boolean milestone) {
        if (terminal) {
            clear();
            progress = TurnTable.fit(line);
            out.print(progress);
            out.flush();
        } else if (milestone) {
            say(line);
        }
    }

    void checks(List<Check> checks) {
        for (Check check : checks) {
            String line = String.format("  %-6s %s: %s", check.held() ? "ok" : "FAILED", check.name(), check.detail());
            say(check.held() ? TurnTable.fit(line) : line);
        }
    }

    private void clear() {
        if (!progress.isEmpty()) {
            out.print("\r" + " ".repeat(progress.length()) + "\r");
            progress = "";
        }
    }
}

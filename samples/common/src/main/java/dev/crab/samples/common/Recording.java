package dev.crab.samples.common;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A recorded session of an agent: what it had run in its sandbox, reply by reply. docs/labelled-turns.md describes the format. Immutable.
 *
 * @param id names it in reports
 * @param category groups it in reports
 * @param shell runs each command
 * @param directory in which each command starts
 * @param timeout after which a command is killed with its process group
 * @param setup lines of bash that make the sandbox what it was when the session began
 * @param turns the replies of the model that called tools, in order
 * @param probe a line of bash that asks for what the session left in processes and files, where there is one
 * @param expected what the probe's answer contains at the end, as a regular expression; null if that is not known
 */
public record Recording(
        String id,
        String category,
        Shell shell,
        String directory,
        Duration timeout,
        List<String> setup,
        List<Turn> turns,
        @Nullable String probe,
        @Nullable String expected) {
    public Recording {
        setup = List.copyOf(setup);
        turns = List.copyOf(turns);
    }

    /** What a session's commands are given to. */
    public enum Shell {
        SH("sh", "/bin/sh", "-c"),
        BASH("bash", "/bin/bash", "-c"),
        LOGIN_BASH("bash-l", "/bin/bash", "-lc");

        private final String label;
        private final String program;
        private final String option;

        Shell(String label, String program, String option) {
            this.label = label;
            this.program = program;
            this.option = option;
        }

        public String label() {
            return label;
        }

        /** Program and arguments that run that line. */
        public String[] running(String line) {
            return new String[] {program, option, line};
        }
    }

    /**
     * All calls of one reply.
     *
     * @param thinking how long the model took to give it
     */
    public record Turn(Duration thinking, List<Call> calls) {
        public Turn {
            calls = List.copyOf(calls);
        }

        /** The first line of the first call. */
        public String title() {
            String title = calls.get(0).title();
            return title.lines().findFirst().orElse(title) + (calls.size() > 1 ? " (+" + (calls.size() - 1) + ")" : "");
        }
    }

    /** A call of a tool. */
    public sealed interface Call {
        String title();
    }

    /**
     * A line for the shell.
     *
     * @param exitStatus what it exited with when it was recorded, where that is known
     */
    public record Command(String line, @Nullable Integer exitStatus) implements Call {
        @Override
        public String title() {
            return line;
        }
    }

    /** An edit of a file: the sandbox's file operations make it. */
    public sealed interface Edit extends Call {
        String path();

        @Override
        default String title() {
            return getClass().getSimpleName() + " " + path();
        }
    }

    /** Writes a whole file. */
    public record Create(String path, String text) implements Edit {}

    /** Reads a file, or lists a directory. */
    public record View(String path) implements Edit {}

    /** Replaces the only occurrence of a text. */
    public record Replace(String path, String old, String text) implements Edit {}

    /** Puts text behind a line; line 0 is the beginning. */
    public record Insert(String path, int line, String text) implements Edit {}
}

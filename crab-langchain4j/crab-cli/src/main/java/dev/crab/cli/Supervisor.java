package dev.crab.cli;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs a program and starts it again after a crash, with a growing pause and up to a limit. An agent's program goes on from its last
 * committed turn when it is started again, so all that is needed after a crash is this.
 *
 * <p>A crash is an exit status other than 0, or the end by a signal. A program that ended by itself with status 0, or with {@value
 * #HOPELESS}, which says that a restart mends nothing, and one that was told to end by {@link #stop}, are not started again. The program's
 * input and output are this process's own.
 *
 * <p>{@link #run} is called once, by one thread; {@link #stop} by any, for instance by a shutdown hook: so that SIGTERM and SIGINT reach
 * the program, and it has time to commit its turn.
 */
public final class Supervisor {
    /**
     * How a program ended for good.
     *
     * @param status its last exit status, as a shell has it: 128 + n by signal n; -1 if it was never started
     * @param starts how often it was started
     * @param stopped whether it was told to end
     */
    public record Outcome(int status, int starts, boolean stopped) {
        /** Whether it ended by itself, well. */
        public boolean isDone() {
            return status == 0 && !stopped;
        }
    }

    /** Exit status of a program that must not be started again: EX_CONFIG of sysexits.h. */
    public static final int HOPELESS = 78;

    private static final Path SETPRIV = Path.of("/usr/bin/setpriv");

    private final Builder settings;
    private final CountDownLatch stop = new CountDownLatch(1);
    private final Object lock = new Object();

    // Guarded by lock.
    private @Nullable Process process;

    private Supervisor(Builder settings) {
        this.settings = settings;
    }

    /**
     * A builder. Defaults: the working directory and the environment of this process; 10 restarts in a row; pauses from 1 s, doubled up to
     * 60 s; a program that stayed up for 5 minutes has used up none of either; 60 s from {@link Supervisor#stop} to SIGKILL; nothing said.
     *
     * @param command the program and its arguments; not empty
     */
    public static Builder builder(List<String> command) {
        return new Builder(command);
    }

    /**
     * Runs the program to its end, however often it has to be started for that.
     *
     * @throws IOException if it cannot be started at all
     * @throws InterruptedException if this thread is interrupted; the program is told to end before
     */
    public Outcome run() throws IOException, InterruptedException {
        int starts = 0;
        int crashes = 0;
        int status = -1;
        try {
            while (true) {
                long began = settings.clock.getAsLong();
                Process started = start();
                if (started == null) {
                    return new Outcome(status, starts, true);
                }
                starts++;
                settings.log.accept("started, process " + started.pid());
                status = started.waitFor();
                if (stop.getCount() == 0) {
                    return new Outcome(status, starts, true);
                }
                if (status == 0) {
                    return new Outcome(0, starts, false);
                }
                if (status == HOPELESS) {
                    settings.log.accept(how(status) + ": what stopped it, no restart mends");
                    return new Outcome(status, starts, false);
                }
                if (settings.clock.getAsLong() - began >= settings.steady.toNanos()) {
                    crashes = 0;
                }
                crashes++;
                if (crashes > settings.maxRestarts) {
                    settings.log.accept(
                            how(status) + "; not started again after " + settings.maxRestarts + " restarts");
                    return new Outcome(status, starts, false);
                }
                Duration pause = pause(crashes);
                settings.log.accept(how(status) + "; restart " + crashes + " of " + settings.maxRestarts + " in "
                        + pause.toMillis() + " ms");
                if (stop.await(pause.toNanos(), TimeUnit.NANOSECONDS)) {
                    return new Outcome(status, starts, true);
                }
            }
        } catch (InterruptedException e) {
            terminate();
            throw e;
        }
    }

    private @Nullable Process start() throws IOException {
        synchronized (lock) {
            if (stop.getCount() == 0) {
                return null;
            }
            ProcessBuilder builder = new ProcessBuilder(command()).inheritIO();
            if (settings.directory != null) {
                builder.directory(settings.directory);
            }
            builder.environment().putAll(settings.environment);
            Process started = builder.start();
            process = started;
            return started;
        }
    }

    /** The kernel tells the program that the thread that started it is gone, which waits for it as long as this process lives. */
    private List<String> command() {
        if (!settings.endsWithParent || !Files.isExecutable(SETPRIV)) {
            return settings.command;
        }
        List<String> command = new ArrayList<>(List.of(SETPRIV.toString(), "--pdeathsig", "TERM"));
        command.addAll(settings.command);
        return command;
    }

    private Duration pause(int crashes) {
        Duration pause = settings.firstPause;
        for (int i = 1; i < crashes && pause.compareTo(settings.longestPause) < 0; i++) {
            pause = pause.multipliedBy(2);
        }
        return pause.compareTo(settings.longestPause) < 0 ? pause : settings.longestPause;
    }

    private static String how(int status) {
        return status > 128 ? "ended by signal " + (status - 128) : "ended with status " + status;
    }

    /**
     * Tells the program to end (SIGTERM) and waits until it has; after the grace it is killed. It is not started again.
     */
    public void stop() {
        stop.countDown();
        terminate();
    }

    private void terminate() {
        Process current;
        synchronized (lock) {
            current = process;
        }
        if (current == null) {
            return;
        }
        // Through the handle: Process.destroy would close the streams as well.
        current.toHandle().destroy();
        boolean interrupted = Thread.interrupted();
        try {
            if (!current.waitFor(settings.grace.toNanos(), TimeUnit.NANOSECONDS)) {
                settings.log.accept("still there " + settings.grace.toSeconds() + " s after SIGTERM: killed");
                current.toHandle().destroyForcibly();
            }
        } catch (InterruptedException e) {
            interrupted = true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Collects settings. Not thread-safe. */
    public static final class Builder {
        private final List<String> command;
        private @Nullable File directory;
        private Map<String, String> environment = Map.of();
        private int maxRestarts = 10;
        private Duration firstPause = Duration.ofSeconds(1);
        private Duration longestPause = Duration.ofSeconds(60);
        private Duration steady = Duration.ofMinutes(5);
        private Duration grace = Duration.ofSeconds(60);
        private boolean endsWithParent;
        private Consumer<String> log = line -> {};
        private LongSupplier clock = System::nanoTime;

        private Builder(List<String> command) {
            if (command.isEmpty()) {
                throw new IllegalArgumentException("no command");
            }
            this.command = List.copyOf(command);
        }

        /** The program's working directory. */
        public Builder directory(File value) {
            directory = value;
            return this;
        }

        /** Variables that are added to this process's own. */
        public Builder environment(Map<String, String> value) {
            environment = Map.copyOf(value);
            return this;
        }

        /** How many crashes in a row are followed by a restart; 0 for none. */
        public Builder maxRestarts(int value) {
            if (value < 0) {
                throw new IllegalArgumentException("maxRestarts must not be negative: " + value);
            }
            maxRestarts = value;
            return this;
        }

        /**
         * The pause before a restart.
         *
         * @param first before the first; doubled with each further crash in a row
         * @param longest what it grows to at most
         */
        public Builder pause(Duration first, Duration longest) {
            if (first.isNegative() || longest.compareTo(first) < 0) {
                throw new IllegalArgumentException("no pause from " + first + " to " + longest);
            }
            firstPause = first;
            longestPause = longest;
            return this;
        }

        /** A program that stayed up that long begins anew with restarts and pauses when it crashes. */
        public Builder steady(Duration value) {
            steady = value;
            return this;
        }

        /** How long a program that was told to end has for it, before it is killed. */
        public Builder grace(Duration value) {
            grace = value;
            return this;
        }

        /**
         * The program is told to end (SIGTERM), too, if this process is killed (SIGKILL) and can tell it nothing any more. Needs
         * {@code setpriv} of util-linux; without it the program lives on then. Default: it lives on.
         */
        public Builder endsWithParent() {
            endsWithParent = true;
            return this;
        }

        /** Where it is said what happens, a line at a time. */
        public Builder log(Consumer<String> value) {
            log = value;
            return this;
        }

        /** Monotonic time in nanoseconds. */
        Builder clock(LongSupplier value) {
            clock = value;
            return this;
        }

        public Supervisor build() {
            return new Supervisor(this);
        }
    }
}

package dev.crab.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real programs of the shell. */
class SupervisorTest {
    private static final Duration NONE = Duration.ZERO;

    @TempDir
    Path directory;

    private final BlockingQueue<String> log = new LinkedBlockingQueue<>();

    private Supervisor.Builder shell(String script) {
        return Supervisor.builder(List.of("sh", "-c", script))
                .directory(directory.toFile())
                .pause(NONE, NONE)
                .log(log::add);
    }

    /** A process that supervises a shell, which says whether it was told to end. */
    public static final class Parent {
        private Parent() {}

        public static void main(String[] arguments) throws Exception {
            String script = "trap 'touch told; exit 0' TERM; touch runs; while true; do sleep 0.05; done";
            Supervisor.builder(List.of("sh", "-c", script))
                    .directory(new File(arguments[0]))
                    .endsWithParent()
                    .build()
                    .run();
        }
    }

    @Test
    void programThatNoRestartMends_isNotStartedAgain() throws Exception {
        Supervisor.Outcome outcome = shell("echo run >> runs; exit 78").build().run();
        assertThat(outcome).isEqualTo(new Supervisor.Outcome(78, 1, false));
        assertThat(directory.resolve("runs")).hasContent("run");
    }

    @Test
    void supervisorKilled_programIsToldToEnd() throws Exception {
        Process parent = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElse("java"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Parent.class.getName(),
                        directory.toString())
                .inheritIO()
                .start();
        awaitFile("runs");
        ProcessHandle program = parent.descendants().findFirst().orElseThrow();

        parent.destroyForcibly().waitFor();

        awaitFile("told");
        program.onExit().get(60, TimeUnit.SECONDS);
    }

    private String said(String start) throws InterruptedException {
        while (true) {
            String line = log.poll(60, TimeUnit.SECONDS);
            assertThat(line).as("a line that begins with " + start).isNotNull();
            if (line.startsWith(start)) {
                return line;
            }
        }
    }

    @Test
    void run_endsWell_isStartedOnce() throws Exception {
        Supervisor.Outcome outcome = shell("exit 0").build().run();

        assertThat(outcome).isEqualTo(new Supervisor.Outcome(0, 1, false));
        assertThat(outcome.isDone()).isTrue();
    }

    @Test
    void run_crashesByStatusAndBySignal_isStartedAgainUntilItEndsWell() throws Exception {
        Supervisor.Outcome outcome = shell(
                        "echo x >> starts; case $(wc -l < starts) in 1) exit 3;; 2) kill -KILL $$;; esac")
                .build()
                .run();

        assertThat(outcome).isEqualTo(new Supervisor.Outcome(0, 3, false));
        assertThat(log).anyMatch(line -> line.startsWith("ended with status 3"));
        assertThat(log).anyMatch(line -> line.startsWith("ended by signal 9"));
    }

    @Test
    void run_crashesEachTime_givesUpAtTheLimitWithTheLastStatus() throws Exception {
        assertThat(shell("exit 7").maxRestarts(2).build().run()).isEqualTo(new Supervisor.Outcome(7, 3, false));
        assertThat(shell("exit 7").maxRestarts(0).build().run()).isEqualTo(new Supervisor.Outcome(7, 1, false));
    }

    @Test
    void run_pausesGrowToTheLongest() throws Exception {
        shell("exit 1")
                .maxRestarts(4)
                .pause(Duration.ofMillis(10), Duration.ofMillis(35))
                .build()
                .run();

        assertThat(log.stream().filter(line -> line.contains("restart ")).map(line -> line.replaceAll(".* in ", "")))
                .containsExactly("10 ms", "20 ms", "35 ms", "35 ms");
    }

    @Test
    void run_programStayedUpBeforeEachCrash_countsEachAsTheFirst() throws Exception {
        AtomicLong minutes = new AtomicLong();

        Supervisor.Outcome outcome = shell("echo x >> starts; test $(wc -l < starts) -eq 4")
                .maxRestarts(1)
                .steady(Duration.ofMinutes(5))
                .clock(() -> TimeUnit.MINUTES.toNanos(minutes.addAndGet(5)))
                .build()
                .run();

        assertThat(outcome).isEqualTo(new Supervisor.Outcome(0, 4, false));
    }

    @Test
    void stop_programGetsSigtermAndTimeForItsEnd_andIsNotStartedAgain() throws Exception {
        Supervisor supervisor = shell(
                        "trap 'echo saved > saved; exit 143' TERM; echo > ready; while :; do sleep 0.05; done")
                .build();
        CompletableFuture<Supervisor.Outcome> run = supply(supervisor);
        awaitFile("ready");

        supervisor.stop();

        assertThat(run.get(60, TimeUnit.SECONDS)).isEqualTo(new Supervisor.Outcome(143, 1, true));
        assertThat(directory.resolve("saved")).exists();
    }

    @Test
    void stop_programIgnoresIt_isKilledAfterTheGrace() throws Exception {
        Supervisor supervisor = shell("trap '' TERM; echo > ready; while :; do sleep 0.05; done")
                .grace(Duration.ofMillis(200))
                .build();
        CompletableFuture<Supervisor.Outcome> run = supply(supervisor);
        awaitFile("ready");

        supervisor.stop();

        assertThat(run.get(60, TimeUnit.SECONDS)).isEqualTo(new Supervisor.Outcome(137, 1, true));
    }

    @Test
    void stop_duringThePause_endsIt() throws Exception {
        Supervisor supervisor =
                shell("exit 1").pause(Duration.ofHours(1), Duration.ofHours(1)).build();
        CompletableFuture<Supervisor.Outcome> run = supply(supervisor);
        said("ended with status 1; restart 1 of 10");

        supervisor.stop();

        assertThat(run.get(60, TimeUnit.SECONDS)).isEqualTo(new Supervisor.Outcome(1, 1, true));
    }

    @Test
    void stop_beforeTheStart_startsNothing() throws Exception {
        Supervisor supervisor = shell("exit 0").build();
        supervisor.stop();

        assertThat(supervisor.run()).isEqualTo(new Supervisor.Outcome(-1, 0, true));
    }

    @Test
    void run_environmentIsAdded_andAProgramThatIsNotThereIsRefused() throws Exception {
        assertThat(shell("test \"$CRAB_PROBE\" = yes && test -n \"$PATH\"")
                        .environment(Map.of("CRAB_PROBE", "yes"))
                        .build()
                        .run()
                        .isDone())
                .isTrue();
        assertThatThrownBy(() ->
                        Supervisor.builder(List.of("/no/such/program")).build().run())
                .isInstanceOf(IOException.class);
    }

    private static CompletableFuture<Supervisor.Outcome> supply(Supervisor supervisor) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return supervisor.run();
            } catch (IOException | InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }

    private void awaitFile(String name) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!Files.exists(directory.resolve(name))) {
            assertThat(System.nanoTime()).as("the program must come up").isLessThan(deadline);
            Thread.onSpinWait();
        }
    }
}

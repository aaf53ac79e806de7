package dev.crab.maven;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;

/** The real {@code mvn} in a project that knows nothing of this one. */
class FreshProjectIT {
    private static final String PLUGIN = "dev.crab:crab-maven-plugin:";
    private static final int LINES = 7;
    private static final long LATENCY_MILLIS = 150;

    private volatile IntConsumer onRequest = results -> {};

    @SuppressWarnings("NullAway.Init") // before anybody asks for the agent
    private volatile Process maven;

    private static String answer() {
        StringBuilder log = new StringBuilder("done: " + LINES + " lines, count " + LINES + "; log");
        for (int line = 1; line <= LINES; line++) {
            log.append(" line-").append(line);
        }
        return log.toString();
    }

    private static void await(Process process, FreshProject project, String log) throws Exception {
        if (!process.waitFor(120, TimeUnit.SECONDS)) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
            throw new AssertionError("Maven does not end:\n" + project.read(log));
        }
    }

    private ProcessHandle agent() {
        return maven.children().findFirst().orElseThrow(() -> new IllegalStateException("no agent runs"));
    }

    @Test
    void run_agentIsKilledThreeTimes_thenToldToLeave_endsWithTheRightAnswer() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        TreeMap<Integer, Long> kills = new TreeMap<>();
        for (int block = 0; block < 3; block++) {
            kills.put(block * 2 + (block < 2 ? random.nextInt(2) : 0), (long) random.nextInt((int) LATENCY_MILLIS));
        }
        CompletableFuture<Void> told = new CompletableFuture<>();
        try (ScriptedModel model = new ScriptedModel(LINES, LATENCY_MILLIS, results -> onRequest.accept(results));
                FreshProject project = new FreshProject(model.baseUrl())) {
            onRequest = results -> {
                Long delay = kills.get(results);
                if (delay != null) {
                    later(delay, () -> assertThat(agent().destroyForcibly()).isTrue());
                } else if (results == 5) {
                    later(0, () -> {
                        while (!project.holds("executions", "line-6")) {
                            Thread.onSpinWait();
                        }
                        maven.toHandle().destroy(); // inside the sixth tool
                        told.complete(null);
                    });
                }
            };
            maven = project.maven("first.log", PLUGIN + "run");
            await(maven, project, "first.log");

            String first = project.read("first.log");
            assertThat(told)
                    .as(() -> "kills " + kills + ", seed " + seed + "\n" + first)
                    .isCompleted();
            assertThat(maven.exitValue()).as(first).isEqualTo(143);
            assertThat(first.lines().filter(line -> line.contains("agent.Agent started, process")))
                    .as(first)
                    .hasSize(4);
            assertThat(first.lines().filter(line -> line.contains("ended by signal 9")))
                    .as(first)
                    .hasSize(3);
            assertThat(project.read("executions").lines().filter("line-6"::equals))
                    .as(first)
                    .hasSize(1);

            maven = project.maven(
                    "second.log",
                    PLUGIN + "doctor",
                    PLUGIN + "sessions",
                    PLUGIN + "run",
                    "-Dcrab.data=" + project.data());
            await(maven, project, "second.log");

            String second = project.read("second.log");
            assertThat(maven.exitValue()).as(second).isZero();
            assertThat(second)
                    .containsPattern("ok +criu ")
                    .containsPattern("writer +7 "); // six turns and the preparation
            assertThat(project.read("answer")).as(first + second).isEqualTo(answer());
            List<String> executions = project.read("executions").lines().toList();
            assertThat(executions.stream().filter("line-6"::equals))
                    .as("it was committed on leaving")
                    .hasSize(1);
            assertThat(executions.size()).isBetween(LINES, LINES + 3);
        }
    }

    private static void later(long millis, Runnable work) {
        Thread thread = new Thread(() -> {
            try {
                TimeUnit.MILLISECONDS.sleep(millis);
                work.run();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}

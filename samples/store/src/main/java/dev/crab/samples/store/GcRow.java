package dev.crab.samples.store;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.session.GarbageCollector;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** A second JVM collects garbage in a loop while sessions of the same data directory capture, drop generations and are restored. */
final class GcRow implements Row {
    private static final int RUNS = 12;

    @Override
    public void run(Plan plan, Tally tally) throws IOException {
        int runs = plan.limit() == 0 ? RUNS : Math.min(RUNS, plan.limit());
        try (Place place = plan.place(tally.row())) {
            place.judge("first", 0, 0); // makes the data directory
            place.clear("first");
            Process collector = collector(place);
            try {
                race(plan, tally, place, runs);
            } finally {
                Files.createFile(place.stash().resolve("stop"));
            }
            try (BufferedReader out = collector.inputReader(StandardCharsets.UTF_8)) {
                List<String> lines = out.lines().toList();
                int status = collector.waitFor();
                String last = lines.isEmpty() ? "nothing" : lines.get(lines.size() - 1);
                tally.note("the collector: " + last);
                if (status != 0) {
                    plan.told(tally, "collector", Verdict.mix("it ended with " + status + ": " + lines), runs);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    private static void race(Plan plan, Tally tally, Place place, int runs) throws IOException, InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(plan.workers());
        try {
            List<Callable<@Nullable Void>> lives = new ArrayList<>();
            for (int i = 0; i < runs; i++) {
                String session = place.nextSession(tally.row());
                lives.add(() -> {
                    plan.told(tally, session, live(tally, place, session), runs);
                    return null;
                });
            }
            for (Future<@Nullable Void> ended : threads.invokeAll(lives)) {
                ended.get();
            }
        } catch (ExecutionException e) {
            throw new IOException(e.getCause());
        } finally {
            threads.shutdownNow();
        }
    }

    private static Verdict live(Tally tally, Place place, String session) throws IOException {
        Life life = new VictimJvm(place, session).run();
        life.told("refused").forEach(line -> tally.saw(line.split(" ", 2)[0]));
        return life.finished()
                ? place.judge(session, Script.TURNS, Script.TURNS)
                : Verdict.mix("the victim did not get to its end: " + life.lines());
    }

    private static Process collector(Place place) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        VictimJvm.classPath(),
                        Collector.class.getName(),
                        place.data().toString(),
                        place.stash().resolve("stop").toString())
                .redirectError(ProcessBuilder.Redirect.appendTo(place.log().toFile()))
                .start();
    }

    /** Collects until a file is there, or whoever started it is gone. */
    static final class Collector {
        private Collector() {}

        public static void main(String[] arguments) throws InterruptedException {
            long passes = 0;
            long freed = 0;
            try (CrabRuntime runtime = CrabRuntime.builder()
                    .dataDirectory(Path.of(arguments[0]))
                    .keepGenerations(Place.KEPT)
                    .build()) {
                while (!Files.exists(Path.of(arguments[1])) && hasParent()) {
                    GarbageCollector.Report report = runtime.collectGarbage(false);
                    passes++;
                    freed += report.garbage().size();
                    Thread.sleep(20); // the others must come to their locks, too
                }
            }
            System.out.println(passes + " passes, " + freed + " things freed");
        }

        private static boolean hasParent() {
            return ProcessHandle.current().parent().map(ProcessHandle::isAlive).orElse(false);
        }
    }
}

package dev.crab.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.session.SandboxSession.Recovery;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Ends a JVM by SIGKILL at every fault point that a session passes, each in a run of its own, and looks at what the next opening finds:
 * the state of the last commit, whole, or (where the record had reached the disk but its writer had not been told yet) that of the turn
 * that was being committed.
 *
 * <p>Which points there are is found out by a run that only counts them; so a point that is added is crashed at without being listed.
 */
class CrashTest {
    private static final SessionFixture FIXTURE = new SessionFixture();

    @AfterAll
    static void remove() {
        FIXTURE.close();
    }

    @TestFactory
    Stream<DynamicTest> killedAtAnyPointOfItsTurns_isBackAtACommit() {
        return points("counted-turns", 0).stream()
                .map(point -> DynamicTest.dynamicTest(point, () -> crash(name("turns", point), point, 0)));
    }

    @TestFactory
    Stream<DynamicTest> killedAtAnyPointOfARestore_isBackAtTheSameCommit() {
        return points("counted-restore", Workload.TURNS).stream()
                .filter(point -> point.startsWith("restore."))
                .map(point ->
                        DynamicTest.dynamicTest(point, () -> crash(name("restore", point), point, Workload.TURNS)));
    }

    private static String name(String kind, String point) {
        return kind + "-" + point.replace('.', '-').replace('@', '-');
    }

    /** Every point that a run passes, in order, each with how often it was passed by then. */
    private static List<String> points(String session, int before) {
        try (SandboxSession prepared = FIXTURE.open(session)) {
            Workload.run(prepared, before, line -> {});
        }
        List<String> points = Collections.synchronizedList(new ArrayList<>());
        FaultPoints.handler((name, times) -> points.add(name + "@" + times));
        try (SandboxSession counted = FIXTURE.open(session)) {
            Workload.run(counted, Workload.TURNS, line -> {});
        } finally {
            FaultPoints.handler(null);
        }
        List<String> steps = points.stream().filter(CrashTest::isStep).toList();
        assertThat(steps).as("points of %s", session).isNotEmpty();
        return steps;
    }

    /** Whether a point stands for a step of a turn; those inside of single writes and deletions are left to {@code ./crab prove store}. */
    private static boolean isStep(String point) {
        return !point.matches("(file|directory|lock|open|close|sweep|retention|journal\\.(?!flush@))\\b.*");
    }

    private static void crash(String session, String point, int before) throws IOException {
        if (before > 0) {
            try (SandboxSession prepared = FIXTURE.open(session)) {
                Workload.run(prepared, before, line -> {});
            }
        }
        long committed = killAt(session, point, before);
        try (SandboxSession session2 = FIXTURE.open(session)) {
            Commit last = session2.lastCommit();
            long turn = last == null ? 0 : last.turn();
            assertThat(turn).as("what was told to be committed is").isBetween(committed, committed + 1);
            if (turn > 0) {
                assertThat(session2.recovery()).isInstanceOf(Recovery.Restored.class);
            }
            Workload.assertStateAfter(session2, turn);
            Workload.run(session2, Workload.TURNS, line -> {});
            Workload.assertStateAfter(session2, Workload.TURNS);
        }
        assertThat(FIXTURE.stored(session))
                .as("nothing is left of turns that never committed")
                .allMatch(belongsToAManifest(session));
    }

    private static Predicate<String> belongsToAManifest(String session) {
        List<String> stored = FIXTURE.stored(session);
        List<Long> generations = stored.stream()
                .filter(name -> name.endsWith(".json"))
                .map(name -> Long.parseLong(name.substring(0, name.indexOf('.'))))
                .toList();
        return name -> name.endsWith(".json")
                || generations.stream().anyMatch(generation -> {
                    String own = session + ".g" + generation;
                    String bare = name.startsWith("snapshot ") ? name.substring("snapshot ".length()) : name;
                    return bare.equals(own) || bare.startsWith(own + ".") || bare.startsWith(own + "-");
                });
    }

    /** Runs the workload in a JVM of its own and kills it at the point; gives the number of the last turn it said to be committed. */
    private static long killAt(String session, String point, int before) throws IOException {
        Process child = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-Xmx256m",
                        "-D" + FaultPoints.PROPERTY + "=" + point,
                        "-cp",
                        System.getProperty("java.class.path"),
                        Workload.class.getName(),
                        FIXTURE.data().toString(),
                        session)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        long committed = before;
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
            String line;
            while ((line = lines.readLine()) != null) {
                if (line.startsWith("committed ")) {
                    committed = Long.parseLong(line.substring("committed ".length()));
                } else if (line.equals("crab-fault " + point)) {
                    return committed;
                }
            }
            throw new AssertionError("the workload ended without passing " + point);
        } finally {
            child.destroyForcibly().onExit().join();
        }
    }

    /** Some turns, each of which leaves a state that can be told from all others, in memory, in files and by value. */
    static final class Workload {
        static final int TURNS = 3;

        private Workload() {}

        public static void main(String[] arguments) {
            try (CrabRuntime runtime = CrabRuntime.builder()
                            .dataDirectory(Path.of(arguments[0]))
                            .keepGenerations(100)
                            .build();
                    SandboxSession session = runtime.open(arguments[1], SessionFixture.spec())) {
                run(session, TURNS, line -> {
                    System.out.println(line);
                    System.out.flush();
                });
            }
        }

        /** Goes on from wherever the session is until that many turns are committed. */
        static void run(SandboxSession session, int turns, Consumer<String> told) {
            while (true) {
                Commit last = session.lastCommit();
                long next = last == null ? 1 : last.turn() + 1;
                if (next > turns) {
                    return;
                }
                Turn turn = session.beginTurn();
                step(session, next);
                turn.commit(SessionFixture.position(next));
                told.accept("committed " + next);
            }
        }

        private static void step(SandboxSession session, long turn) {
            session.sandbox().attributes().put("turn", Long.toString(turn));
            switch ((int) turn) {
                case 1 -> SessionFixture.startCounter(session.sandbox());
                case 2 -> session.sandbox().writeFile("/srv/file", "two".getBytes(StandardCharsets.UTF_8));
                default -> {
                    SessionFixture.ask(session.sandbox());
                    session.sandbox().writeFile("/srv/file", "three".getBytes(StandardCharsets.UTF_8));
                }
            }
        }

        /** Everything that tells the turns apart must be that of one and the same turn. */
        static void assertStateAfter(SandboxSession session, long turn) {
            Map<String, String> expected = new LinkedHashMap<>();
            Map<String, String> found = new LinkedHashMap<>();
            expected.put("file", turn < 2 ? "none" : turn == 2 ? "two" : "three");
            found.put("file", SessionFixture.run(session.sandbox(), "cat /srv/file 2>/dev/null || echo none"));
            expected.put("attribute", turn == 0 ? "null" : Long.toString(turn));
            found.put("attribute", String.valueOf(session.sandbox().attributes().get("turn")));
            boolean service = SessionFixture.run(session.sandbox(), "pgrep -c python3 || true")
                    .equals("1");
            expected.put("count", turn == 0 ? "none" : turn < 3 ? "1" : "2");
            found.put("count", service ? Integer.toString(SessionFixture.peek(session.sandbox())) : "none");
            expected.put("position", turn == 0 ? "null" : Long.toString(turn));
            Commit last = session.lastCommit();
            found.put(
                    "position",
                    last == null ? "null" : last.position().path("message").asText());
            assertThat(found).as("state after turn %d", turn).isEqualTo(expected);
        }
    }
}

package dev.crab.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.session.CrashTest.Workload;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Ends a JVM by SIGKILL at every step of a rollback and of a branch: the session is then at the newest turn or at the one that it was to go
 * back to, whole; and each branch is whole or is not there.
 */
class RollbackCrashTest {
    private static final SessionFixture FIXTURE = new SessionFixture();
    private static final long BACK = 1;

    @AfterAll
    static void remove() {
        FIXTURE.close();
    }

    /** What the killed program does. */
    enum Deed {
        ROLLBACK,
        BRANCH;

        void run(SandboxSession session) {
            if (this == ROLLBACK) {
                session.rollbackTo(BACK);
            } else {
                session.branch(2, List.of(session.id() + "-x", session.id() + "-y"))
                        .forEach(SandboxSession::close);
            }
        }
    }

    @TestFactory
    Stream<DynamicTest> killedAtAnyStepOfARollback_isAtTheOneTurnOrTheOther() {
        return points(Deed.ROLLBACK).stream()
                .map(point -> DynamicTest.dynamicTest(point, () -> {
                    String session = "roll-" + point.replaceAll("[.@]", "-");
                    killAt(session, Deed.ROLLBACK, point);
                    boolean recorded = point.startsWith("rollback.recorded");
                    try (SandboxSession again = FIXTURE.open(session)) {
                        Commit last = Objects.requireNonNull(again.lastCommit());
                        assertThat(last.turn()).isEqualTo(recorded ? BACK : Workload.TURNS);
                        Workload.assertStateAfter(again, last.turn());
                        Workload.run(again, Workload.TURNS, line -> {});
                        Workload.assertStateAfter(again, Workload.TURNS);
                    }
                    nothingIsLeft(session);
                }));
    }

    @TestFactory
    Stream<DynamicTest> killedAtAnyStepOfABranch_eachIsWholeOrIsNotThere() {
        return points(Deed.BRANCH).stream()
                .map(point -> DynamicTest.dynamicTest(point, () -> {
                    String session = "branch-" + point.replaceAll("[.@]", "-");
                    killAt(session, Deed.BRANCH, point);
                    FIXTURE.runtime().collectGarbage(false);
                    int whole = 0;
                    for (String name : List.of(session + "-x", session + "-y")) {
                        if (FIXTURE.runtime().sessions().contains(name)) {
                            whole++;
                            try (SandboxSession branch = FIXTURE.runtime().resume(name)) {
                                Workload.assertStateAfter(branch, 2);
                            }
                        } else {
                            assertThat(FIXTURE.stored(name)).isEmpty();
                        }
                    }
                    long recorded = point.startsWith("branch.recorded")
                            ? Long.parseLong(point.substring(point.indexOf('@') + 1))
                            : 0;
                    assertThat((long) whole).isGreaterThanOrEqualTo(recorded);
                    try (SandboxSession parent = FIXTURE.open(session)) {
                        Workload.assertStateAfter(parent, Workload.TURNS);
                    }
                    nothingIsLeft(session);
                }));
    }

    private static void nothingIsLeft(String session) {
        assertThat(FIXTURE.runtime().collectGarbage(true).garbage())
                .filteredOn(garbage -> garbage.session().equals(session))
                .as("what is left of %s", session)
                .isEmpty();
    }

    /** The steps of the deed itself; those of the restore within it are those of every restore. */
    private static List<String> points(Deed deed) {
        List<String> points = Collections.synchronizedList(new ArrayList<>());
        try (SandboxSession session = FIXTURE.open("counted-" + deed.name().toLowerCase(java.util.Locale.ROOT))) {
            Workload.run(session, Workload.TURNS, line -> {});
            FaultPoints.handler((name, times) -> points.add(name + "@" + times));
            deed.run(session);
        } finally {
            FaultPoints.handler(null);
        }
        List<String> steps = points.stream()
                .filter(point -> point.matches(
                        deed == Deed.ROLLBACK ? "(rollback\\..*|restore\\.(processes|verified)@1)" : "branch\\..*"))
                .toList();
        assertThat(steps).hasSizeGreaterThan(deed == Deed.ROLLBACK ? 4 : 8);
        return steps;
    }

    private static void killAt(String session, Deed deed, String point) throws IOException {
        try (SandboxSession prepared = FIXTURE.open(session)) {
            Workload.run(prepared, Workload.TURNS, line -> {});
        }
        Process child = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-Xmx256m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Victim.class.getName(),
                        FIXTURE.data().toString(),
                        session,
                        deed.name(),
                        point)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
            String line = lines.readLine();
            while (line != null && !line.equals("at " + point)) {
                line = lines.readLine();
            }
            assertThat(line).as("the point is passed").isNotNull();
        } finally {
            child.destroyForcibly().onExit().join();
        }
    }

    /** Opens the session, and does the deed until that point. */
    static final class Victim {
        private Victim() {}

        public static void main(String[] arguments) {
            try (CrabRuntime runtime = CrabRuntime.builder()
                            .dataDirectory(Path.of(arguments[0]))
                            .keepGenerations(100)
                            .build();
                    SandboxSession session = runtime.open(arguments[1], SessionFixture.spec())) {
                FaultPoints.handler((name, times) -> {
                    if (arguments[3].equals(name + "@" + times)) {
                        System.out.println("at " + arguments[3]);
                        System.out.flush();
                        while (true) {
                            java.util.concurrent.locks.LockSupport.park();
                        }
                    }
                });
                Deed.valueOf(arguments[2]).run(session);
            }
        }
    }
}

package dev.crab.runtime.session;

import static dev.crab.runtime.session.SessionFixture.ask;
import static dev.crab.runtime.session.SessionFixture.peek;
import static dev.crab.runtime.session.SessionFixture.position;
import static dev.crab.runtime.session.SessionFixture.run;
import static dev.crab.runtime.session.SessionFixture.spec;
import static dev.crab.runtime.session.SessionFixture.startCounter;
import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.runtime.session.TurnOutcome.Saved;
import dev.crab.runtime.snapshot.SnapshotKind;
import dev.crab.runtime.snapshot.Snapshotters;
import dev.crab.runtime.store.SmallDisk;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A session's files and processes come back, go back and are branched from snapshots of each kind, on the file systems that have no btrfs below. */
class SnapshotKindsTest {
    private static final String SCENE = """
            set -e
            mkdir -p /srv/d/e; echo one > /srv/d/e/f; ln /srv/d/e/f /srv/link; ln -s nowhere /srv/dangling; mkfifo -m 600 /srv/fifo
            truncate -s 1G /srv/sparse; echo end >> /srv/sparse; chmod 4755 /srv/d/e/f; rm -rf /usr/share/doc /etc/issue
            touch -d @1000000000.123456789 /srv/d/e /srv/d/e/f
            """;
    private static final String PROBE = """
            cd /srv; find . -printf '%P %y %m %n %s %T@ %l\\n' | grep -v '^d/late' | sort; cat d/e/f; tail -c 4 sparse; ls /etc/issue /usr/share/doc 2>&1; true
            """;

    private static final int BRANCHES = 3;

    private static SmallDisk disk(String type, Path at) throws Exception {
        return type.equals("tmpfs") ? SmallDisk.tmpfs(at, 900 << 10) : SmallDisk.formatted(at, type, 900);
    }

    @ParameterizedTest
    @CsvSource({"REFLINK, xfs", "COPY, ext4", "COPY, tmpfs", "BTRFS, ext4"})
    void filesAndProcesses_comeBack(SnapshotKind kind, String type) throws Exception {
        on(type, data -> turns(data, kind));
    }

    @ParameterizedTest
    @CsvSource({"REFLINK, xfs", "COPY, ext4", "COPY, tmpfs"})
    void rollbackAndBranches_areAsOnBtrfs(SnapshotKind kind, String type) throws Exception {
        on(type, data -> branches(data, kind));
    }

    private static void on(String type, Consumer<Path> test) throws Exception {
        Path place = Files.createTempDirectory(Path.of("/var/tmp"), "crab-kinds-");
        try (SmallDisk disk = disk(type, place)) {
            Path data = disk.root().resolve("data");
            try {
                test.accept(data);
            } finally {
                Snapshotters.release(data);
            }
        }
        for (Path made : listed(place)) {
            Files.delete(made);
        }
        Files.delete(place);
    }

    private static List<Path> listed(Path place) throws Exception {
        try (var files = Files.list(place)) {
            return new ArrayList<>(files.toList());
        }
    }

    private static void turns(Path data, SnapshotKind kind) {
        String scene;
        try (CrabRuntime runtime = runtime(data, kind);
                SandboxSession session = runtime.open("s", spec())) {
            Turn files = session.beginTurn();
            run(session.sandbox(), SCENE);
            assertThat(files.commit(position(1)).saved()).isEqualTo(Saved.FILES);
            scene = run(session.sandbox(), PROBE);
            session.beginTurn();
            run(session.sandbox(), "rm -rf /srv/d; echo lost > /srv/lost");
        }
        try (CrabRuntime runtime = runtime(data, kind);
                SandboxSession session = runtime.open("s", spec())) {
            assertThat(session.recovery()).isInstanceOf(Recovery.Restored.class);
            assertThat(run(session.sandbox(), PROBE)).isEqualTo(scene);
            Turn full = session.beginTurn();
            startCounter(session.sandbox());
            run(session.sandbox(), "echo kept > /srv/d/late");
            assertThat(full.commit(position(2)).saved()).isEqualTo(Saved.PROCESSES_AND_FILES);
            assertThat(ask(session.sandbox())).isEqualTo(2);
            session.beginTurn();
            run(session.sandbox(), "echo lost > /srv/d/late");
            ask(session.sandbox());
        }
        List<SessionArchive.Finding> findings = new ArrayList<>();
        try (CrabRuntime runtime = runtime(data, SnapshotKind.AUTO);
                SandboxSession session = runtime.open("s", spec())) {
            assertThat(ask(session.sandbox())).as("as committed, and one on").isEqualTo(2);
            assertThat(run(session.sandbox(), "cat /srv/d/late; ls -A /srv/lost 2>/dev/null || true"))
                    .isEqualTo("kept");
            runtime.verify("s", findings::add);
            assertThat(findings)
                    .isNotEmpty()
                    .allSatisfy(f -> assertThat(f.problem()).isNull());
        }
        try (CrabRuntime runtime = runtime(data, kind)) {
            runtime.delete("s");
        }
    }

    private static void branches(Path data, SnapshotKind kind) {
        try (CrabRuntime runtime = runtime(data, kind)) {
            String scene;
            try (SandboxSession parent = runtime.open("s", spec())) {
                Turn first = parent.beginTurn();
                run(parent.sandbox(), SCENE);
                startCounter(parent.sandbox());
                first.commit(position(1));
                scene = run(parent.sandbox(), PROBE);
                Turn second = parent.beginTurn();
                ask(parent.sandbox());
                run(parent.sandbox(), "rm -rf /srv/d; echo own > /srv/d");
                second.commit(position(2));

                parent.rollbackTo(1);
                assertAt(parent, scene, 1);
                List<SandboxSession> branches = parent.branch(1, BRANCHES);
                for (int i = 0; i < BRANCHES; i++) {
                    assertAt(branches.get(i), scene, 1);
                    diverge(branches.get(i), i);
                }
                for (int i = 0; i < BRANCHES; i++) {
                    assertDiverged(branches.get(i), i);
                }
                assertAt(parent, scene, 1);
                branches.forEach(SandboxSession::close);
            }
            // What is left of one does not need the others.
            runtime.delete("s");
            runtime.delete("s-b1");
            for (int i = 1; i < BRANCHES; i++) {
                try (SandboxSession again = runtime.resume("s-b" + (i + 1))) {
                    assertDiverged(again, i);
                    again.rollbackTo(1);
                    assertAt(again, scene, 1);
                }
                runtime.verify(
                        "s-b" + (i + 1),
                        finding -> assertThat(finding.problem()).isNull());
                runtime.delete("s-b" + (i + 1));
            }
            assertThat(runtime.sessions()).isEmpty();
            assertThat(runtime.collectGarbage(true).garbage()).isEmpty();
        }
    }

    private static void assertAt(SandboxSession session, String scene, int count) {
        assertThat(run(session.sandbox(), PROBE)).isEqualTo(scene);
        assertThat(peek(session.sandbox())).isEqualTo(count);
    }

    private static void diverge(SandboxSession branch, int number) {
        Turn turn = branch.beginTurn();
        for (int i = 0; i <= number; i++) {
            ask(branch.sandbox());
        }
        run(branch.sandbox(), "echo " + number + " > /srv/own-" + number + "; echo " + number + " > /srv/d/e/f");
        turn.commit(position(2));
    }

    private static void assertDiverged(SandboxSession branch, int number) {
        assertThat(peek(branch.sandbox())).isEqualTo(2 + number);
        assertThat(run(branch.sandbox(), "cat /srv/own-*; cat /srv/link")).isEqualTo(number + "\n" + number);
    }

    private static CrabRuntime runtime(Path data, SnapshotKind kind) {
        return CrabRuntime.builder().dataDirectory(data).snapshotter(kind).build();
    }
}

package dev.crab.runtime.session;

import static dev.crab.runtime.session.SessionFixture.position;
import static dev.crab.runtime.session.SessionFixture.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.Sandbox;
import java.io.IOException;
import java.io.InputStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Turns that checkpointers lose or break, each through its whole way: a state is committed, a turn changes it and is committed, the sandbox is
 * destroyed and restored, and a probe finds what the turn left.
 */
class PairingTest {
    private static final String FILE = "seq 2000 > f; touch -d @1000000000 f";

    /** Appends to the log that it has open, whenever it gets SIGUSR1. */
    private static final String WRITER = """
            cat > writer.py <<'END'
            import os, signal
            log = os.open('log', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            signal.signal(signal.SIGUSR1, lambda *unused: os.write(log, b'written\\n'))
            open('/scene/survivor', 'w').write(str(os.getpid()))
            while True:
                signal.pause()
            END
            rm -f /scene/survivor; setsid python3 writer.py >/dev/null 2>&1 </dev/null &
            until [ -s /scene/survivor ]; do sleep 0.02; done; sleep 0.1""";

    private static SessionFixture fixture;
    private static byte[] kinds;
    private static int sessions;

    /**
     * One case.
     *
     * @param before bash that is committed first; its background processes are survivors
     * @param turn bash that is the turn; {@code $S} is the survivor's pid
     * @param probe bash that tells what the turn left, and changes nothing
     */
    private record Case(String name, String before, String turn, String probe) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Case> cases() {
        return Stream.of(
                new Case("touchAlone", FILE, "touch -d @900000000 f", "stat -c %Y f"),
                new Case("overwriteInPlace", FILE, "printf 9 | dd of=f conv=notrunc status=none", "md5sum f"),
                new Case("fileInDevShm", "true", "echo x > /dev/shm/a", "cat /dev/shm/a"),
                new Case("backgroundSleep", "true", "sleep infinity > /dev/null 2>&1 &", "pgrep -x sleep"),
                new Case("survivorStopped", "K idle", "kill -STOP $S", "cut -d' ' -f3 /proc/$S/stat"),
                new Case("survivorSignalled", WRITER, "kill -USR1 $S; sleep 0.1", "cat log"),
                new Case("limitOfSurvivor", "K idle", "prlimit --pid $S --nofile=99:99", "grep files /proc/$S/limits"),
                new Case("priorityOfSurvivor", "K idle", "renice -n 5 -p $S", "cut -d' ' -f19 /proc/$S/stat"),
                new Case("logRotatedUnderSurvivor", WRITER, "mv log log.1; touch log", "readlink /proc/$S/fd/3"),
                new Case(
                        "writeAfterRotation",
                        WRITER + "; mv log log.1; touch log",
                        "kill -USR1 $S; sleep 0.1",
                        "cat log.1; stat -c %s log"),
                new Case("openFileRemoved", FILE + "; K hold f r", "rm f", "md5sum < /proc/$S/fd/3; ls"),
                new Case("workingDirectoryRemoved", "mkdir d; K cwd d", "rmdir d", "readlink /proc/$S/cwd"),
                new Case("workingDirectoryMoved", "mkdir -p d/e; K cwd d/e", "mv d g", "readlink /proc/$S/cwd"),
                new Case("sharedMappingWritten", FILE + "; K map f", "kill -USR1 $S; sleep 0.1", "md5sum f"),
                new Case(
                        "sharedMappingWrittenAgain",
                        FILE + "; K map f; kill -USR1 $S; sleep 0.1",
                        "kill -USR1 $S; sleep 0.1",
                        "md5sum f"),
                new Case("copyFileRange", FILE + "; echo abcdef > g", "K copy-file-range g f", "md5sum f"),
                new Case("sendfile", FILE + "; echo abcdef > g", "K sendfile g f", "md5sum f"),
                new Case("fallocate", FILE, "fallocate -l 1M f", "stat -c %s f"),
                new Case("punchHole", FILE, "fallocate -p -o 0 -l 4096 f", "md5sum f"),
                new Case("futimens", FILE, "K futimens f", "stat -c %Y f"),
                new Case("fchmodat2", FILE, "K fchmodat2 f", "stat -c %a f"),
                new Case("dataLeftInFifo", "mkfifo p; K fifo p", "echo left > p", "K peek-fifo p"),
                new Case("hardLink", FILE, "ln f g", "stat -c %h f g"),
                new Case("renameOverAnother", FILE + "; echo x > g", "mv g f", "cat f; ls"));
    }

    @BeforeAll
    static void make() throws IOException {
        fixture = new SessionFixture();
        try (InputStream in = PairingTest.class.getResourceAsStream("/dev/crab/runtime/inspector/kinds.py")) {
            kinds = in.readAllBytes();
        }
    }

    @AfterAll
    static void remove() {
        fixture.close();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("cases")
    void turn_comesBack(Case one) {
        String id = "pair" + ++sessions;
        String left;
        try (SandboxSession session = fixture.open(id)) {
            Sandbox sandbox = session.sandbox();
            sandbox.writeFile("/scene/kinds.py", kinds);
            Turn turn = session.beginTurn();
            run(sandbox, shell(one.before()));
            turn.commit(position(1));
            String before = run(sandbox, shell(one.probe()) + " || true");
            // The probe is a turn's work, too: what it may have woken is not the next one's doing.
            session.beginTurn().commit(position(2));

            Turn next = session.beginTurn();
            run(sandbox, shell(one.turn()));
            TurnOutcome outcome = next.commit(position(3));
            assertThat(outcome.effects().effect()).isNotEqualTo(Effect.NONE);
            left = run(sandbox, shell(one.probe()));
            assertThat(left).as("the probe must see what the turn does").isNotEqualTo(before);
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(run(session.sandbox(), shell(one.probe()))).isEqualTo(left);
            assertThat(run(session.sandbox(), "cut -d' ' -f19 /proc/1/stat"))
                    .as("nobody inherits the priority of a dump")
                    .isEqualTo("0");
            // And it can be saved and brought back again.
            session.beginTurn().commit(position(4));
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(run(session.sandbox(), shell(one.probe()))).isEqualTo(left);
        }
    }

    private static String shell(String bash) {
        return "mkdir -p /scene/here && cd /scene/here; K() { python3 -B /scene/kinds.py \"$@\"; }\n"
                + "S=$(cat /scene/survivor 2>/dev/null)\n"
                + bash.replace("; kill", "; S=$(cat /scene/survivor 2>/dev/null); kill");
    }
}

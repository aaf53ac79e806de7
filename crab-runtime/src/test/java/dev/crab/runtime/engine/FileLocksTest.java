package dev.crab.runtime.engine;

import static dev.crab.runtime.engine.EngineFixture.NO_HOOK;
import static dev.crab.runtime.engine.EngineFixture.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.criu.CriuClient;
import dev.crab.runtime.criu.TestCriu;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.os.Cgroup;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.store.CheckpointImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Locks of files come back, or are refused where they would not. */
class FileLocksTest {
    /** Two processes with locks of every kind, most of them on files that they have mapped; all of them, on a descriptor each. */
    private static final String ALL_KINDS = """
            cat > /root/locks.py <<'EOF'
            import fcntl, mmap, os, sqlite3, struct, time
            file = open('/root/shared', 'w+b'); file.truncate(8192)
            os.fork()
            pid = os.getpid()
            shared = open('/root/shared', 'r+b'); one = mmap.mmap(shared.fileno(), 8192)
            fcntl.lockf(shared, fcntl.LOCK_SH, 10, 5)
            own = open('/root/own-%d' % pid, 'w+b'); own.truncate(65536); two = mmap.mmap(own.fileno(), 65536)
            for i in range(500):
                fcntl.lockf(own, fcntl.LOCK_EX if i % 2 else fcntl.LOCK_SH, 1, i * 3)
            again = open('/root/own-%d' % pid, 'r+b')
            gone = open('/root/gone-%d' % pid, 'w+b'); gone.truncate(4096); three = mmap.mmap(gone.fileno(), 4096)
            fcntl.lockf(gone, fcntl.LOCK_EX); os.unlink('/root/gone-%d' % pid)
            ofd = open('/root/ofd-%d' % pid, 'w+b')
            fcntl.fcntl(ofd, 37, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 2, 4, 0))
            whole = open('/root/flock-%d' % pid, 'w'); fcntl.flock(whole, fcntl.LOCK_EX)
            writer = sqlite3.connect('/root/db-%d' % pid, isolation_level=None)
            writer.execute('pragma journal_mode=wal'); writer.execute('create table t(x)')
            reader = sqlite3.connect('/root/db-%d' % pid, isolation_level=None)
            reader.execute('begin'); reader.execute('select * from t').fetchall()
            writer.execute('begin immediate'); writer.execute('insert into t values(1)')
            open('/root/ready-%d' % pid, 'w'); time.sleep(1000000)
            EOF
            setsid python3 /root/locks.py > /root/said 2>&1 < /dev/null &
            until [ "$(ls /root/ready-* 2> /dev/null | wc -l)" = 2 ]; do sleep 0.1; done""";

    private static final String LIST = "for p in $(pgrep -x python3); do for f in /proc/$p/fdinfo/*; do"
            + " link=$(readlink /proc/$p/fd/${f##*/});"
            + " grep ^lock: $f | awk -v p=$p -v l=\"$link\" '{ print p, l, $3, $4, $5, $8, $9 }'; done; done | sort";

    private static EngineFixture fixture;
    private RunningSandbox sandbox;

    @BeforeAll
    static void open() throws IOException {
        fixture = new EngineFixture();
    }

    @AfterAll
    static void close() throws IOException {
        fixture.close();
    }

    @BeforeEach
    void start() {
        sandbox = fixture.start();
    }

    @AfterEach
    void destroy() {
        fixture.destroy(sandbox);
    }

    private void bringBack(CheckpointImage image) {
        String id = sandbox.id();
        fixture.destroy(sandbox);
        sandbox = fixture.restore(id, image).sandbox();
    }

    @Test
    void locksOfEveryKind_comeBackOrAreRefusedWhereCriuWouldLoseThem() {
        run(sandbox, ALL_KINDS);
        String locks = run(sandbox, LIST);
        assertThat(locks)
                .contains(" POSIX ", " OFDLCK ", " FLOCK ", "db-", "-shm", "(deleted)")
                .hasLineCount(2020);
        if (keepsAll()) {
            bringBack(fixture.checkpoint(sandbox, Effect.FULL, null));
            assertThat(run(sandbox, LIST)).isEqualTo(locks);
        } else {
            refused(
                    ErrorCode.CAPTURE_FAILED,
                    "which it has also mapped",
                    () -> fixture.capture(sandbox, Effect.FULL, null, NO_HOOK));
        }
    }

    private static boolean keepsAll() {
        try (CriuClient criu = CriuClient.open(TestCriu.binary())) {
            return criu.features().locksAfterMappings();
        }
    }

    /** A POSIX lock on what is mapped, too: a descriptor of it that is closed while it is mapped again takes the lock away. */
    private static final String LOCKED_AND_MAPPED = """
            cat > /root/lock.py <<'EOF'
            import fcntl, mmap, time
            file = open('/root/locked', 'w+b'); file.truncate(4096)
            memory = mmap.mmap(file.fileno(), 4096)
            fcntl.lockf(file, fcntl.LOCK_EX, 100, 7)
            open('/root/ready', 'w'); time.sleep(1000000)
            EOF
            setsid python3 /root/lock.py > /dev/null 2>&1 < /dev/null &
            until [ -e /root/ready ]; do sleep 0.05; done""";

    @Test
    void lockOfAFileThatIsMappedToo_isRefusedForACriuThatWouldLoseIt(@TempDir Path images) throws Exception {
        Files.createFile(images.resolve("filelocks.img"));
        run(sandbox, LOCKED_AND_MAPPED);
        refused(ErrorCode.CAPTURE_FAILED, "holds a POSIX lock on /root/locked", () -> checkHeldStill(images));
        run(sandbox, "pkill -x python3; while pgrep -x python3; do sleep 0.05; done");
        checkHeldStill(images);
    }

    private void checkHeldStill(Path images) throws IOException {
        Cgroup cgroup = Cgroups.detect().group(sandbox.id());
        cgroup.freeze();
        try {
            FileLocks.check(
                    sandbox.id(),
                    images,
                    ProcessTable.members(sandbox.processes().cgroup()));
        } finally {
            cgroup.thaw();
        }
    }

    private static void refused(ErrorCode code, String reason, ThrowingCallable call) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(call)
                .satisfies(e -> assertThat(e.code()).isEqualTo(code))
                .withMessageContaining(reason);
    }
}

package dev.crab.samples.truth;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.RuncSandboxFactory;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The oracle on a real sandbox's files and processes: it sees each change, and nothing where there is none. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OracleTest {
    private static final Duration QUIET = Duration.ofMillis(10);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    static Path work;

    @SuppressWarnings("NullAway.Init")
    private Ground ground;

    @SuppressWarnings("NullAway.Init")
    private Arena arena;

    @SuppressWarnings("NullAway.Init")
    private Oracle oracle;

    @BeforeAll
    void start() throws IOException {
        ground = new Ground(Ground.Type.BTRFS, work);
        arena = new Arena(ground, TestImage.directory(), new RuncSandboxFactory(work));
        oracle = new Oracle(NativeProgram.ORACLE.install(work), arena.processes());
    }

    @AfterAll
    void stop() {
        oracle.close();
        arena.close();
        ground.close();
    }

    @BeforeEach
    void set() throws IOException {
        Scene.set(arena);
    }

    private SystemState observe() throws IOException {
        arena.awaitRest(QUIET);
        return arena.frozen(oracle::observe);
    }

    private Truth truthOf(String... operations) throws IOException {
        SystemState before = observe();
        ExecResult result = arena.puppet(Scene.DIRECTORY, List.of(operations));
        assertThat(result.isSuccess()).as(result.text()).isTrue();
        return observe().since(before);
    }

    @Test
    void nothing_isNoDifference() throws IOException {
        assertThat(truthOf("child", "read a", "openrw /etc/issue").evidence()).isEmpty();
    }

    @Test
    void readingAgainAndAgain_isNoDifference() throws IOException {
        SystemState first = observe();
        for (int i = 0; i < 5; i++) {
            assertThat(observe().since(first).evidence()).isEmpty();
        }
    }

    @Test
    void relativeSleepThatTheFreezeInterrupts_isNoDifference() throws IOException {
        arena.bash("/", "sleep 1000 < /dev/null > /dev/null 2>&1 &");
        SystemState before = observe();
        assertThat(observe().since(before).evidence()).isEmpty();
    }

    @Test
    void socketWithAnErrorThatNobodyHasAskedFor_keepsItAndIsNoDifference() throws IOException {
        arena.bash("/", """
                rm -f /scene/reset; python3 -c '
                import signal, socket, struct, time
                listener = socket.create_server(("127.0.0.1", 4799))
                client = socket.create_connection(("127.0.0.1", 4799))
                server, _ = listener.accept()
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close()
                time.sleep(0.05)
                open("/scene/reset", "w").close()
                signal.pause()' < /dev/null > /dev/null 2>&1 &
                until [ -e /scene/reset ]; do sleep 0.02; done; sleep 0.1""");
        SystemState before = observe();
        assertThat(observe().since(before).evidence()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "write a 3 zz,file /scene/a:",
        "chmod a 600,file /scene/a:",
        "chown a 5 6,file /scene/a:",
        "utime a 77,file /scene/a:",
        "setxattr a user.x 1,file /scene/a:",
        "chattr a 0x40,file /scene/a:",
        "mmap a 1 Z,file /scene/a:",
        "unlink a,file /scene/a:",
        "mkdir new,file /scene/new:",
        "link a new,file /scene/new:",
        "unlink h,file /scene/h:",
        "mkfifo new,file /scene/new:",
        "append /etc/issue x,file /etc/issue:",
        "unlink /usr/share/tabset/vt100,file /usr/share/tabset/vt100:",
    })
    void changedFile_isSeen(String operation, String key) throws IOException {
        Truth truth = truthOf(operation);
        assertThat(truth.effect()).isEqualTo(Effect.FILES);
        assertThat(truth.evidence()).anyMatch(line -> line.startsWith(key));
    }

    @ParameterizedTest
    @CsvSource({
        "spawn C,crab-C",
        "kill A 9,-> nothing",
        "kill A 19,stopped",
        "tgkill B 10,SigPnd",
        "kill B 10,ShdPnd",
        "limit A 77,limits",
        "nice A 3,nice=3",
        "affinity A 1,Cpus_allowed",
        "proc A oom_score_adj 9,oom_score_adj",
        "write-vm A Z,memory",
        "@A mem 100 z,memory",
        "@A release 0, fd ",
        "@A seek 0 5,pos:",
        "@A flock 0 2,FLOCK",
        "@A posix-lock 0 1,POSIX",
        "@A map 8 a p, map ",
        "@A cwd /,cwd",
        "put p x,queued=1",
        "send-udp 4711 x,queued=1",
        "send-unix u x,queued=1",
        "send-stream v x,waiting=1",
        "send-tcp 4712 x,queues=",
        "proc-mmap A fd/7 Z,memfd",
        "shmget 5,ipc shm",
        "semget 5,ipc sem",
        "msgget 5,ipc msg",
    })
    void changedProcess_isSeen(String operation, String words) throws IOException {
        arena.bash("/", "ipcrm -a");
        Truth truth = truthOf(operation);
        assertThat(truth.effect()).isEqualTo(Effect.PROCESSES);
        assertThat(truth.evidence()).anyMatch(line -> line.contains(words));
    }

    @Test
    void copyUpAndWhiteoutOfNothing_areNoDifference() throws IOException {
        assertThat(truthOf("openrw /etc/debian_version", "create /etc/new", "unlink /etc/new")
                        .evidence())
                .isEmpty();
    }

    @Test
    void directoryRemovedAndCopiedBack_isNoDifference() throws IOException {
        SystemState before = observe();
        arena.bash(
                "/",
                "cp -a /usr/share/tabset /saved/t; rm -r /usr/share/tabset; cp -a /saved/t /usr/share/tabset; rm -r /saved/t");
        assertThat(observe().since(before).evidence()).isEmpty();
    }

    @Test
    void directoryMadeAnewInPlaceOfTheImages_hidesItsFiles() throws IOException {
        SystemState before = observe();
        arena.bash("/", "rm -r /usr/share/tabset; mkdir /usr/share/tabset");
        assertThat(observe().since(before).evidence())
                .anyMatch(line -> line.startsWith("file /usr/share/tabset/vt100:") && line.endsWith("-> absent"));
    }
}

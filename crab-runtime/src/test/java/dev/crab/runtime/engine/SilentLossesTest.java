package dev.crab.runtime.engine;

import static dev.crab.runtime.engine.EngineFixture.NO_HOOK;
import static dev.crab.runtime.engine.EngineFixture.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What CRIU would leave out of a dump without a word stops the capture. */
class SilentLossesTest {
    /** Reads its events only when it is told to. */
    private static final String WATCHER = """
            cat > /root/watcher.py <<'EOF'
            import ctypes, os, signal
            c = ctypes.CDLL(None)
            watch = c.inotify_init1(0)
            c.inotify_add_watch(watch, b'/srv', 0x100)
            def read(*_):
                os.read(watch, 4096)
                open('/root/read', 'w').close()
            signal.signal(signal.SIGUSR1, read)
            with open('/root/starting', 'w') as file: file.write(str(os.getpid()))
            os.rename('/root/starting', '/root/ready')
            while True: signal.pause()
            EOF
            setsid python3 /root/watcher.py > /dev/null 2>&1 < /dev/null &
            until [ -e /root/ready ]; do sleep 0.01; done""";

    private static final String LISTENER = """
            cat > /root/listener.py <<'EOF'
            import os, socket, sys, time
            listener = socket.socket(socket.AF_UNIX)
            listener.bind('/var/run/bound')
            listener.listen()
            open('/root/ready', 'w').close()
            while True: time.sleep(1000)
            EOF
            setsid python3 /root/listener.py > /dev/null 2>&1 < /dev/null &
            until [ -e /root/ready ]; do sleep 0.01; done""";

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

    private void refused(String why) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> fixture.capture(sandbox, Effect.FULL, null, NO_HOOK))
                .withMessageContaining(why)
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.CAPTURE_FAILED));
        assertThat(run(sandbox, "echo alive")).isEqualTo("alive");
    }

    private void captured() {
        Captured captured = fixture.capture(sandbox, Effect.FULL, null, NO_HOOK);
        assertThat(captured.hasDump()).isTrue();
        fixture.engine.discard(captured);
    }

    @Test
    void unreadEventsOfAWatcher_areRefusedUntilTheyAreRead() {
        run(sandbox, WATCHER);
        captured();
        run(sandbox, "touch /srv/new");
        refused("has not read all events");
        run(sandbox, "kill -USR1 $(cat /root/ready); until [ -e /root/read ]; do sleep 0.01; done");
        captured();
    }

    @Test
    void watchedDirectory_isFoundWhereverItIs() {
        for (String directory : List.of("/app/in", "/data", "/run/here", "/usr/share/perl5", "/")) {
            run(sandbox, "mkdir -p " + directory + "; rm -f /root/ready");
            run(sandbox, WATCHER.replace("b'/srv'", "b'" + directory + "'"));
            captured();
            run(sandbox, "kill $(cat /root/ready)");
        }
    }

    @Test
    void renamedSocket_isRefused_andOneThatKeptOrLostItsNameIsNot() {
        run(sandbox, LISTENER);
        captured();
        run(sandbox, "mv /run/bound /run/other");
        refused("linked or renamed");
        run(sandbox, "mv /run/other /run/bound");
        captured();
        run(sandbox, "ln /run/bound /run/second");
        refused("linked or renamed");
        run(sandbox, "rm /run/second");
        captured();
        run(sandbox, "rm /run/bound");
        captured();
    }
}

package dev.crab.runtime.engine;

import static dev.crab.runtime.engine.EngineFixture.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.store.CheckpointImage;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Pairs of connected sockets come back, whichever of the processes that share them has the lower pid. */
class SocketPairTest {
    /**
     * Two processes that share a pair, orphans both: the one with the higher pid became pid 1's child first, so that CRIU meets it first. Each
     * keeps the ends that the arguments name. What was sent and not yet read waits in the pair; if the third argument says so, a descriptor
     * of it is in flight, as in a server that tells its workers of a new one.
     */
    private static final String PROGRAM = """
            cat > /root/pair.py <<'EOF'
            import os, socket, sys, time
            def until(condition):
                while not condition(): time.sleep(0.02)
            ends = dict(zip('ab', socket.socketpair()))
            ends['a'].send(b'to b'); ends['b'].send(b'to a')
            if sys.argv[3] == 'flight':
                other = socket.socketpair()
                socket.send_fds(other[0], [b'x'], [ends['a'].fileno()])
            if os.fork():
                until(lambda: os.path.exists('/root/ready-higher'))
                os._exit(0)
            between = os.fork()
            higher = not between and not os.fork()
            if not between and not higher: os._exit(0)
            if between: os.waitpid(between, 0)
            until(lambda: os.getppid() == 1)
            keeps = sys.argv[2] if higher else sys.argv[1]
            for name in 'ab':
                if name not in keeps: ends.pop(name).close()
            open('/root/ready-' + ('higher' if higher else 'lower'), 'w')
            until(lambda: os.path.exists('/root/go'))
            if higher:
                for name in sorted(ends): open('/root/got-' + name, 'wb').write(ends[name].recv(100))
                if sys.argv[3] == 'flight':
                    data, fds, flags, address = socket.recv_fds(other[1], 10, 1)
                    socket.socket(fileno=fds[0]).send(b' and more')
                    open('/root/got-flight', 'wb').write(data)
                open('/root/done', 'w')
            time.sleep(1000000)
            EOF
            setsid python3 /root/pair.py %s %s %s > /root/said 2>&1 < /dev/null &
            until [ -e /root/ready-lower ] && [ -e /root/ready-higher ]; do sleep 0.02; done""";

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

    @ParameterizedTest
    @CsvSource({
        "a, ab, none",
        "b, ab, none",
        "ab, a, none",
        "ab, b, none",
        "ab, ab, none",
        "a, ab, flight",
        "b, ab, flight",
        "ab, b, flight"
    })
    void aPairIsBack_withWhatWasSentAndNotYetRead(String lower, String higher, String flight) {
        run(sandbox, PROGRAM.formatted(lower, higher, flight));
        CheckpointImage image = fixture.checkpoint(sandbox, Effect.FULL, null);
        String id = sandbox.id();
        fixture.destroy(sandbox);

        sandbox = fixture.restore(id, image).sandbox();

        run(sandbox, "touch /root/go; for i in $(seq 500); do [ -e /root/done ] && break; sleep 0.02; done");
        for (String end : List.of("a", "b")) {
            if (!higher.contains(end)) {
                continue;
            }
            assertThat(run(sandbox, "cat /root/got-" + end + " /root/said")).isEqualTo("to " + end);
        }
        if (flight.equals("flight")) {
            assertThat(run(sandbox, "cat /root/got-flight")).isEqualTo("x");
        }
    }
}

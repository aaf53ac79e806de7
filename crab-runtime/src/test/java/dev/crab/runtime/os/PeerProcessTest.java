package dev.crab.runtime.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.os.PeerProcess.Listener;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PeerProcessTest {
    private final int own = (int) ProcessHandle.current().pid();

    private List<Listener> listeners() throws IOException {
        List<Listener> listeners = new ArrayList<>();
        try (PeerProcess process = PeerProcess.open(own)) {
            for (Map.Entry<Integer, String> descriptor : ProcFs.descriptors(own).entrySet()) {
                if (descriptor.getValue().startsWith("socket:")) {
                    process.listener(descriptor.getKey()).ifPresent(listeners::add);
                }
            }
        }
        return listeners;
    }

    @Test
    void listeningSockets_tellWhatTheyListenOn_connectedOnesDoNotListen(@TempDir Path directory) throws IOException {
        List<Listener> before = listeners();
        Path path = directory.resolve("socket");
        try (ServerSocketChannel tcp4 = ServerSocketChannel.open(StandardProtocolFamily.INET);
                ServerSocketChannel tcp6 = ServerSocketChannel.open(StandardProtocolFamily.INET6);
                ServerSocketChannel unix = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            tcp4.bind(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0));
            tcp6.bind(new InetSocketAddress(0));
            unix.bind(UnixDomainSocketAddress.of(path));
            try (SocketChannel client = SocketChannel.open(unix.getLocalAddress())) {
                assertThat(client.isConnected()).isTrue();
                List<Listener> found = listeners();
                before.forEach(found::remove);
                assertThat(found)
                        .containsExactlyInAnyOrder(
                                new Listener("tcp", "0100007F", ((InetSocketAddress) tcp4.getLocalAddress()).getPort()),
                                new Listener(
                                        "tcp6", "0".repeat(32), ((InetSocketAddress) tcp6.getLocalAddress()).getPort()),
                                new Listener("unix", path.toString(), 0));
            }
        }
    }

    @Test
    void abstractName_isShownWithAnAtSignAndKeepsWhateverItHolds() throws Exception {
        Process python = new ProcessBuilder(
                        "python3",
                        "-c",
                        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(chr(0) + 'crab' + chr(10) + '1: 2');"
                                + " s.listen(); print(s.fileno(), flush=True); sys.stdin.read()")
                .start();
        try (PeerProcess process = PeerProcess.open((int) python.pid())) {
            int descriptor = Integer.parseInt(python.inputReader().readLine().strip());
            assertThat(process.listener(descriptor)).contains(new Listener("unix", "@crab\n1: 2", 0));
            assertThatThrownBy(() -> process.listener(0)).isInstanceOf(IOException.class); // a pipe
            assertThatThrownBy(() -> process.listener(999)).isInstanceOf(IOException.class);
        } finally {
            python.destroyForcibly().waitFor();
        }
    }

    @Test
    void processThatIsGone_cannotBeOpened() throws Exception {
        Process process = new ProcessBuilder("true").start();
        process.waitFor();
        assertThatThrownBy(() -> PeerProcess.open((int) process.pid())).isInstanceOf(IOException.class);
    }
}

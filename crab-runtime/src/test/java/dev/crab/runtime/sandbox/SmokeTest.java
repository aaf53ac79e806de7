package dev.crab.runtime.sandbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.snapshot.Volume;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SmokeTest {
    @TempDir
    Path dir;

    @Test
    void sandbox_runsCommand() throws Exception {
        RuncSandboxFactory factory = new RuncSandboxFactory(Path.of("/var/lib/crab"));
        Volume volume = new Volume("smoke", dir.resolve("v"));
        Files.createDirectories(volume.upper());
        Files.createDirectories(volume.work());
        factory.sweep("smoke");
        long t0 = System.nanoTime();
        try (SandboxFactory.Place place = factory.prepare("smoke", SandboxSpec.defaults(), volume);
                SandboxFactory.RunningSandbox sandbox = place.start()) {
            System.out.println("start ms " + (System.nanoTime() - t0) / 1e6);
            ExecResult result = sandbox.exec(
                    "id -u; pwd; ls /proc/self/fd; cat /proc/1/status | grep -E 'Seccomp|NoNew|Cap'; ps axf -o pid,ppid,pgid,sid,args; echo err >&2; exit 3");
            System.out.println(result.text());
            assertThat(result.status()).isEqualTo(3);
            long[] t = new long[300];
            for (int i = 0; i < t.length; i++) {
                long a = System.nanoTime();
                assertThat(sandbox.exec(ExecRequest.of("true")).status()).isZero();
                t[i] = System.nanoTime() - a;
            }
            java.util.Arrays.sort(t);
            System.out.println("true median us " + t[t.length / 2] / 1000 + " p99 " + t[296] / 1000);
        }
    }
}

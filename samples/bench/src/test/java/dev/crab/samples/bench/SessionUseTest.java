package dev.crab.samples.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SessionUseTest {
    @Test
    void whatHasSeveralNames_countsOnce_andOthersDoNot(@TempDir Path data) throws Exception {
        Path session = Files.createDirectories(data.resolve("sessions/bench-one-x"));
        Files.write(session.resolve("journal"), new byte[10]);
        Path objects = Files.createDirectories(data.resolve("objects/aa"));
        Path dump = Files.write(objects.resolve("bench-one-x.g1.dump"), new byte[5000]);
        Files.createLink(objects.resolve("bench-one-x-b1.g1.dump"), dump);
        Files.write(objects.resolve("another.g1.dump"), new byte[5000]);
        SessionUse before = SessionUse.of(data, "bench-one-x");
        assertThat(before).isEqualTo(new SessionUse(4096 + 8192, 0));
        Files.write(objects.resolve("bench-one-x-b1.g2.dump"), new byte[1]);
        assertThat(SessionUse.of(data, "bench-one-x").minus(before).bytes()).isEqualTo(4096);
    }

    @Test
    void memory_isThatOfItsSandboxesOnly() {
        assertThat(SessionUse.memory("bench-nobody-has-this-name")).isZero();
    }
}

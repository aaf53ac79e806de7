package dev.crab.runtime.snapshot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.store.SmallDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ReflinkSnapshotterTest extends TreeSnapshotterSuite {
    @Override
    SnapshotKind kind() {
        return SnapshotKind.REFLINK;
    }

    @Override
    SmallDisk disk(Path at) throws IOException {
        return SmallDisk.formatted(at, "xfs", 400);
    }

    @Test
    void snapshots_shareWhatDidNotChange() throws Exception {
        Volume volume = snapshotter().createVolume("v");
        Path file = volume.upper().resolve("big");
        run("dd", "if=/dev/urandom", "of=" + file, "bs=1M", "count=100", "status=none");
        long before = Files.getFileStore(file).getUsableSpace();
        for (int i = 0; i < 20; i++) {
            snapshotter().makeDurable(snapshotter().snapshot(volume, "s" + i));
        }
        assertThat(before - Files.getFileStore(file).getUsableSpace()).isLessThan(20 << 20);
    }
}

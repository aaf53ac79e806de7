package dev.crab.runtime.snapshot;

import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.store.SmallDisk;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CopySnapshotterOnExt4Test extends TreeSnapshotterSuite {
    @Override
    SnapshotKind kind() {
        return SnapshotKind.COPY;
    }

    @Override
    SmallDisk disk(Path at) throws IOException {
        return SmallDisk.formatted(at, "ext4", 400);
    }

    @Test
    void reflinks_areRefusedWhereThereAreNone(@TempDir Path elsewhere) throws IOException {
        try (SmallDisk other = disk(elsewhere)) {
            refuses(ErrorCode.REFLINK_MISSING, other.root().resolve("data"), SnapshotKind.REFLINK);
        }
    }
}

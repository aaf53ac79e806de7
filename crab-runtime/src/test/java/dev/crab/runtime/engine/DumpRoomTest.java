package dev.crab.runtime.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.store.SmallDisk;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DumpRoomTest {
    private static final long MEGABYTE = 1 << 20;

    @TempDir
    private Path disk;

    private SmallDisk tmpfs;
    private Path memory;

    @BeforeEach
    void make() throws Exception {
        tmpfs = SmallDisk.tmpfs(disk.resolve("memory"), 16 << 10);
        memory = tmpfs.root();
    }

    @AfterEach
    void remove() throws Exception {
        tmpfs.close();
    }

    @Test
    void smallDumps_goIntoMemory_largeOnesAndSecondAttemptsToTheDisk() {
        try (DumpRoom room = new DumpRoom(disk.resolve("work"), memory)) {
            assertThat(room.forDump("s", MEGABYTE, false)).startsWith(memory).isEmptyDirectory();
            assertThat(room.forDump("s", MEGABYTE, true))
                    .startsWith(disk.resolve("work"))
                    .isEmptyDirectory();
            assertThat(room.forDump("s", DumpRoom.IN_MEMORY + 1, false)).startsWith(disk.resolve("work"));
            assertThat(room.forRestore()).startsWith(disk.resolve("work"));
        }
    }

    @Test
    void tmpfsThatCannotBeUsed_isPassedOver() throws Exception {
        tmpfs.readOnly();
        assertThatDumpsGoToTheDisk();
    }

    @Test
    void tmpfsWithOtherThingsInIt_isPassedOver() throws Exception {
        memory = Files.createDirectory(memory.resolve("dumps"));
        assertThatDumpsGoToTheDisk();
    }

    private void assertThatDumpsGoToTheDisk() {
        Path work = disk.resolve("work");
        try (DumpRoom room = new DumpRoom(work, memory)) {
            assertThat(room.forDump("s", MEGABYTE, false)).startsWith(work);
        }
    }

    @Test
    void withoutATmpfs_allDumpsGoToTheDisk() {
        memory = disk.resolve("missing");
        assertThatDumpsGoToTheDisk();
        assertThat(memory).doesNotExist();
    }
}

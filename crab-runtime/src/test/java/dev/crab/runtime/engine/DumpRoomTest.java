package dev.crab.runtime.engine;

import static org.assertj.core.api.Assertions.assertThat;

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

    private Path memory;

    @BeforeEach
    void make() throws Exception {
        memory = Files.createTempDirectory(Path.of("/dev/shm"), "crab-room-");
    }

    @AfterEach
    void remove() throws Exception {
        Files.deleteIfExists(memory.resolve("dumps"));
        Files.delete(memory);
    }

    @Test
    void smallDumps_goIntoMemory_largeOnesAndSecondAttemptsToTheDisk() {
        try (DumpRoom room = new DumpRoom(disk.resolve("work"), memory)) {
            assertThat(room.forDump("s", MEGABYTE, false)).startsWith(memory).isEmptyDirectory();
            assertThat(room.forDump("s", MEGABYTE, true)).startsWith(disk).isEmptyDirectory();
            assertThat(room.forDump("s", DumpRoom.IN_MEMORY + 1, false)).startsWith(disk);
            assertThat(room.forRestore()).startsWith(disk);
        }
    }

    @Test
    void tmpfsThatCannotBeUsed_isPassedOver() throws Exception {
        Path obstacle = Files.createFile(memory.resolve("dumps")); // where a directory has to be
        try (DumpRoom room = new DumpRoom(disk.resolve("work"), memory)) {
            assertThat(room.forDump("s", MEGABYTE, false)).startsWith(disk);
        } finally {
            Files.delete(obstacle);
        }
    }

    @Test
    void withoutATmpfs_allDumpsGoToTheDisk() {
        Path elsewhere = disk.resolve("missing");
        try (DumpRoom room = new DumpRoom(disk.resolve("work"), elsewhere)) {
            assertThat(room.forDump("s", MEGABYTE, false)).startsWith(disk);
        }
        assertThat(elsewhere).doesNotExist();
    }
}

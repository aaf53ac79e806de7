package dev.crab.runtime.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class StoreLockTest {
    @TempDir
    Path directory;

    @Test
    void secondOpeningInThisProcess_isRefusedWithoutLosingTheLock() throws IOException {
        Path file = directory.resolve("lock");
        try (StoreLock lock = StoreLock.acquire(file, "s")) {
            assertThat(lock).isNotNull();
            assertLocked(file, ProcessHandle.current().pid());
            assertThat(StoreLock.owner(file)).hasValue(ProcessHandle.current().pid());
            // Neither look may have dropped the kernel's lock, as closing any descriptor of the file would.
            assertThat(inAnotherProcess(file))
                    .isEqualTo("refused " + ProcessHandle.current().pid());
        }
        assertThat(StoreLock.owner(file)).isEmpty();
        assertThat(inAnotherProcess(file)).isEqualTo("acquired");
    }

    @Test
    void livingOwner_isNamedAndADeadOneIsSucceeded() throws IOException {
        Path file = directory.resolve("lock");
        Process owner = child("hold", file);
        try {
            assertThat(line(owner)).isEqualTo("acquired");
            assertLocked(file, owner.pid());
            assertThat(StoreLock.owner(file)).hasValue(owner.pid());
        } finally {
            owner.destroyForcibly().onExit().join();
        }
        assertThat(Files.readString(file)).startsWith(owner.pid() + " ");
        assertThat(StoreLock.owner(file)).isEmpty();
        try (StoreLock lock = StoreLock.acquire(file, "s")) {
            assertThat(lock).isNotNull();
            assertThat(Files.readString(file))
                    .startsWith(ProcessHandle.current().pid() + " ");
        }
    }

    @Test
    void linkInPlaceOfTheLock_isRefusedAndItsTargetUntouched() throws IOException {
        Path target = Files.writeString(directory.resolve("target"), "precious");
        Path file = Files.createSymbolicLink(directory.resolve("lock"), target);
        assertThatThrownBy(() -> StoreLock.acquire(file, "s"))
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DATA_DIRECTORY_UNUSABLE));
        assertThat(target).hasContent("precious");
    }

    @Test
    void removedLock_isNeverHeldBesideTheOneOfItsName() throws Exception {
        Path file = directory.resolve("lock");
        List<Process> others = List.of(child("remove", file), child("remove", file));
        try {
            LockHolder.takeAndRemove(file);
            for (Process other : others) {
                assertThat(other.inputReader().lines()).containsExactly("begins", "ends");
            }
        } finally {
            others.forEach(other -> other.destroyForcibly().onExit().join());
        }
    }

    @Test
    void fifoInPlaceOfTheLock_isRefused() throws Exception {
        Path file = directory.resolve("lock");
        assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor())
                .isZero();
        assertThatThrownBy(() -> StoreLock.acquire(file, "s"))
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DATA_DIRECTORY_UNUSABLE));
    }

    @Test
    void interruptedCaller_getsTheLockAndKeepsItsFlag() {
        Thread.currentThread().interrupt();
        try (StoreLock lock = StoreLock.acquire(directory.resolve("lock"), "s")) {
            assertThat(lock).isNotNull();
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    private static void assertLocked(Path file, long pid) {
        assertThatThrownBy(() -> StoreLock.acquire(file, "s")).isInstanceOfSatisfying(CrabException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.SESSION_LOCKED);
            assertThat(e.why()).contains(Long.toString(pid));
        });
    }

    private static String inAnotherProcess(Path file) throws IOException {
        Process process = child("try", file);
        String line = line(process);
        process.onExit().join();
        return line;
    }

    private static Process child(String mode, Path file) throws IOException {
        return new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        LockHolder.class.getName(),
                        mode,
                        file.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static String line(Process process) throws IOException {
        return new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
    }

    /** The other process: takes the lock and tells; with {@code hold} it waits until it is killed. */
    static final class LockHolder {
        private LockHolder() {}

        /** Takes the lock again and again and removes it, as the removal of a session does. Fails if another one has it meanwhile. */
        static void takeAndRemove(Path file) throws IOException {
            Path sole = file.resolveSibling("sole");
            for (int round = 0; round < 2000; ) {
                try (StoreLock lock = StoreLock.acquire(file, "s")) {
                    assertThat(lock).isNotNull();
                    Files.createFile(sole);
                    Files.delete(sole);
                    Files.delete(file);
                    round++;
                } catch (CrabException e) {
                    assertThat(e.code()).isEqualTo(ErrorCode.SESSION_LOCKED);
                }
            }
        }

        public static void main(String[] arguments) throws IOException {
            if (arguments[0].equals("remove")) {
                System.out.println("begins");
                takeAndRemove(Path.of(arguments[1]));
                System.out.println("ends");
                return;
            }
            try (StoreLock lock = StoreLock.acquire(Path.of(arguments[1]), "s")) {
                System.out.println(lock == null ? "nothing" : "acquired");
                if (arguments[0].equals("hold")) {
                    System.in.read();
                }
            } catch (CrabException e) {
                System.out.println("refused " + e.why().replaceAll("[^0-9]", ""));
            }
        }
    }
}

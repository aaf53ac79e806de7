package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.store.ProcessEntry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Locks of files. A POSIX lock goes when its process closes any descriptor of the file, and CRIU as it is released opens and closes one for each
 * mapping of a file, after it has taken the locks again (4.2, criu/file-lock.c and criu/pie/restorer.c). So of a file that is both locked and
 * mapped, as those of SQLite in WAL mode are, the locks would be gone without a word: that is refused, where CRIU is not the one that setup
 * builds ({@link dev.crab.runtime.criu.CriuFeatures#locksAfterMappings}).
 */
final class FileLocks {
    /** CRIU writes it only if there are locks. */
    private static final String IMAGE = "filelocks.img";

    private static final int MAPS_PATH = 6;
    private static final int LOCK_FIELDS = 9;

    private FileLocks() {}

    /** Whether a dump has locks. */
    static boolean areIn(Path images) {
        return Files.exists(images.resolve(IMAGE));
    }

    /** Whether one of the processes holds a lock. */
    static boolean areIn(List<ProcessEntry> processes) {
        return processes.stream().anyMatch(entry -> !entry.locks().isEmpty());
    }

    /**
     * Looks at processes that are held still.
     *
     * @param images of the dump that is being made of them
     * @param members host pids of the processes
     * @throws CrabException CAPTURE_FAILED if one has locked a file that it has mapped
     * @throws IOException if a process cannot be read, which does not happen to those that are held still
     */
    static void check(String sandboxId, Path images, List<Integer> members) throws IOException {
        if (!areIn(images)) {
            return;
        }
        for (int pid : members) {
            Map<Path, String> locked = locked(pid);
            if (!locked.isEmpty()) {
                Set<String> mapped = mapped(pid);
                for (Map.Entry<Path, String> lock : locked.entrySet()) {
                    if (mapped.contains(lock.getValue())) {
                        throw refusal(sandboxId, pid, lock.getValue());
                    }
                }
            }
        }
    }

    private static CrabException refusal(String sandboxId, int pid, String file) throws IOException {
        String name = Files.readString(Path.of("/proc/" + pid + "/comm"), StandardCharsets.ISO_8859_1)
                .strip();
        return CrabException.of(
                ErrorCode.CAPTURE_FAILED,
                "sandbox " + sandboxId + " cannot be captured",
                "a process (" + name + ") holds a POSIX lock on " + file
                        + ", which it has also mapped: CRIU would lose the lock at a restore",
                "use the CRIU that ./crab setup builds, which keeps it (unset CRAB_CRIU; delete /usr/local/lib/crab/criu), or have it close"
                        + " the file before the turn ends (a SQLite database in WAL mode: close it, or use another journal_mode)");
    }

    /**
     * The locks that a process holds, in words: whose they are by kind, and how far they go. Sorted. Format of {@code lock:} lines: proc(5),
     * /proc/pid/fdinfo.
     *
     * @param descriptors those that are open on files
     */
    static List<String> held(int pid, Collection<Integer> descriptors) throws IOException {
        Set<String> held = new TreeSet<>();
        for (int descriptor : descriptors) {
            Path info = Path.of("/proc/" + pid + "/fdinfo/" + descriptor);
            for (String line : Files.readAllLines(info, StandardCharsets.ISO_8859_1)) {
                if (line.startsWith("lock:")) {
                    // lock: NUMBER: POSIX ADVISORY WRITE PID DEVICE:INODE START END
                    String[] fields = line.split("\\s+", -1);
                    if (fields.length == LOCK_FIELDS && !fields[2].equals("LEASE")) {
                        held.add(fields[2] + " " + fields[4] + " " + fields[7] + " " + fields[8]);
                    }
                }
            }
        }
        return List.copyOf(held);
    }

    /** Files with POSIX locks of a process, by descriptor. */
    private static Map<Path, String> locked(int pid) throws IOException {
        Map<Path, String> locked = new TreeMap<>();
        Path process = Path.of("/proc/" + pid);
        try (Stream<Path> descriptors = Files.list(process.resolve("fdinfo"))) {
            for (Path info : descriptors.toList()) {
                boolean posix = Files.readAllLines(info, StandardCharsets.ISO_8859_1).stream()
                        .anyMatch(line -> line.startsWith("lock:") && line.contains(" POSIX "));
                if (posix) {
                    Path link = process.resolve("fd").resolve(info.getFileName());
                    locked.put(link, Files.readSymbolicLink(link).toString());
                }
            }
        }
        return locked;
    }

    private static Set<String> mapped(int pid) throws IOException {
        Set<String> mapped = new TreeSet<>();
        for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/maps"), StandardCharsets.UTF_8)) {
            String[] fields = line.split(" +", MAPS_PATH);
            if (fields.length == MAPS_PATH && fields[MAPS_PATH - 1].startsWith("/")) {
                mapped.add(fields[MAPS_PATH - 1]);
            }
        }
        return mapped;
    }
}

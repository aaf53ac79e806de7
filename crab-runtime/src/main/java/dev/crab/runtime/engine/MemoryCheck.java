package dev.crab.runtime.engine;

import dev.crab.runtime.criu.MemorySample;
import dev.crab.runtime.store.SampledPage;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Compares the memory of processes that are held still with the sample that was taken of it. */
final class MemoryCheck {
    private static final int PAGE = 4096;
    private static final int MAX_DIFFERENCES = 10;

    private MemoryCheck() {}

    /**
     * What differs, in words; empty if nothing does.
     *
     * @param hostPids pids inside the sandbox to those outside
     */
    static List<String> differences(List<SampledPage> sample, Map<Integer, Integer> hostPids) throws IOException {
        List<String> differences = new ArrayList<>();
        byte[] page = new byte[PAGE];
        for (SampledPage expected : sample) {
            Integer pid = hostPids.get(expected.pid());
            if (pid == null) {
                differences.add("process " + expected.pid() + " is missing");
            } else if (!MemorySample.digest(read(pid, expected.address(), page)).equals(expected.sha256())) {
                differences.add("memory of process " + expected.pid() + " at 0x" + Long.toHexString(expected.address())
                        + " is not what was saved");
            }
            if (differences.size() == MAX_DIFFERENCES) {
                break;
            }
        }
        return differences;
    }

    private static byte[] read(int pid, long address, byte[] page) throws IOException {
        try (RandomAccessFile memory = new RandomAccessFile("/proc/" + pid + "/mem", "r")) {
            memory.seek(address);
            memory.readFully(page);
            return page;
        }
    }
}

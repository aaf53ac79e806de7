package dev.crab.runtime.store;

import java.util.List;
import java.util.Objects;

/**
 * One process as it was when it was captured. All ids are those inside the sandbox's pid namespace.
 *
 * @param pid process id
 * @param ppid its parent's id; 0 for pid 1
 * @param pgid process group
 * @param sid session
 * @param comm the kernel's name of it, at most 15 bytes, other than printable ASCII escaped
 * @param state {@code Z} for a zombie, {@code L} for one that lives: whether it sleeps or is stopped is not told apart
 * @param fdKinds {@code number:kind} for each open descriptor, ascending; kinds are {@code file}, {@code dir}, {@code chr}, {@code pipe},
 *     {@code fifo}, {@code socket} and {@code anon:NAME}
 * @param listening {@code protocol address port} of each listening socket that it holds, sorted
 * @param locks {@code kind mode start end} of each lock of a file that it holds (leases left out), sorted
 */
public record ProcessEntry(
        int pid,
        int ppid,
        int pgid,
        int sid,
        String comm,
        String state,
        List<String> fdKinds,
        List<String> listening,
        List<String> locks) {
    public ProcessEntry {
        Objects.requireNonNull(comm, "comm");
        Objects.requireNonNull(state, "state");
        fdKinds = List.copyOf(fdKinds);
        listening = List.copyOf(listening);
        locks = List.copyOf(locks);
    }
}

package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.PeerProcess;
import dev.crab.runtime.os.ProcFs;
import dev.crab.runtime.store.ProcessEntry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Reads what a sandbox's processes are from {@code /proc} while they are held still. Formats: proc(5), pid_namespaces(7).
 *
 * <p>What is read was partly chosen by the processes (names, paths of sockets), so it is read as bytes and bounded.
 */
final class ProcessTable {
    /** Descriptors listed for one process; of more than these only their number is kept. */
    private static final int MAX_DESCRIPTORS = 1024;

    private static final String SOCKET = "socket:";

    private final Map<Integer, Map<String, String>> statuses = new LinkedHashMap<>();

    private final List<ProcessEntry> entries = new ArrayList<>();

    private ProcessTable() {}

    /**
     * Reads the tree below a pid 1.
     *
     * @param init host pid of the sandbox's pid 1
     * @param withLocks whether one of them may hold a lock of a file: only then their locks are read, which takes as long as all the rest
     * @throws IOException if something of it vanishes meanwhile, which does not happen to processes that are held still
     */
    static ProcessTable of(int init, boolean withLocks) throws IOException {
        ProcessTable table = new ProcessTable();
        Deque<Integer> open = new ArrayDeque<>(List.of(init));
        while (!open.isEmpty()) {
            int pid = open.remove();
            table.statuses.put(pid, ProcFs.status(pid));
            open.addAll(children(pid));
        }
        for (int pid : table.statuses.keySet()) {
            table.entries.add(table.entry(pid, descriptors(pid), withLocks));
        }
        table.entries.sort(Comparator.comparingInt(ProcessEntry::pid));
        return table;
    }

    /** Sorted by pid. */
    List<ProcessEntry> entries() {
        return entries;
    }

    /** Pids inside the sandbox to those outside. */
    Map<Integer, Integer> hostPids() throws IOException {
        Map<Integer, Integer> pids = new HashMap<>();
        for (Map.Entry<Integer, Map<String, String>> process : statuses.entrySet()) {
            pids.put(inner(process.getValue(), "NSpid"), process.getKey());
        }
        return pids;
    }

    /** Host pids of the processes in a cgroup that have not ended. */
    static List<Integer> members(Path cgroup) throws IOException {
        return Files.readAllLines(cgroup.resolve("cgroup.procs"), StandardCharsets.US_ASCII).stream()
                .map(Integer::valueOf)
                .toList();
    }

    /**
     * Refuses processes that are traced: CRIU, which has to trace them itself, would hold the sandbox still for seconds until it gave up.
     *
     * @return bytes of memory that the processes have for themselves or share among them: what a dump of them holds at most, but for
     *     deleted files
     */
    static long checkNotTraced(String sandboxId, List<Integer> members) {
        long memory = 0;
        for (int pid : members) {
            try {
                Map<String, String> status = ProcFs.status(pid);
                if (!value(status, "TracerPid").equals("0")) {
                    throw CrabException.of(
                            ErrorCode.CAPTURE_FAILED,
                            "processes of sandbox " + sandboxId + " cannot be captured",
                            "process " + inner(status, "NSpid") + " (" + value(status, "Name")
                                    + ") is being traced (ptrace)",
                            "end the debugger or tracer that holds it");
                }
                for (String part : List.of("RssAnon", "RssShmem", "VmSwap")) {
                    memory += bytes(status.getOrDefault(part, "0 kB")); // one that is ending has none
                }
            } catch (IOException e) {
                // Ended since it was listed.
            }
        }
        return memory;
    }

    private static long bytes(String kilobytes) {
        return 1024 * Long.parseLong(kilobytes.substring(0, kilobytes.indexOf(' ')));
    }

    private ProcessEntry entry(int pid, Map<Integer, String> links, boolean withLocks) throws IOException {
        Map<String, String> status = field(pid);
        List<String> kinds = new ArrayList<>();
        List<Integer> files = new ArrayList<>();
        for (Map.Entry<Integer, String> link : links.entrySet()) {
            if (kinds.size() < MAX_DESCRIPTORS) {
                String kind = kind(pid, link.getKey(), link.getValue());
                kinds.add(link.getKey() + ":" + kind);
                if (kind.equals("file")) {
                    files.add(link.getKey());
                }
            }
        }
        if (links.size() > MAX_DESCRIPTORS) {
            kinds.add("and " + (links.size() - MAX_DESCRIPTORS) + " more");
        }
        int parent = Integer.parseInt(value(status, "PPid"));
        return new ProcessEntry(
                inner(status, "NSpid"),
                statuses.containsKey(parent) ? inner(field(parent), "NSpid") : 0,
                inner(status, "NSpgid"),
                inner(status, "NSsid"),
                value(status, "Name"),
                value(status, "State").startsWith("Z") ? "Z" : "L",
                kinds,
                List.copyOf(listening(pid, links)),
                withLocks ? FileLocks.held(pid, files) : List.of());
    }

    private Map<String, String> field(int pid) throws IOException {
        Map<String, String> status = statuses.get(pid);
        if (status == null) {
            throw new NoSuchFileException("/proc/" + pid);
        }
        return status;
    }

    private static String value(Map<String, String> status, String field) throws IOException {
        String value = status.get(field);
        if (value == null) {
            throw new IOException("the kernel does not tell a process's " + field);
        }
        return value;
    }

    /** The id in the innermost namespace, which stands last. */
    private static int inner(Map<String, String> status, String field) throws IOException {
        return ProcFs.innermost(value(status, field));
    }

    private static List<Integer> children(int pid) throws IOException {
        List<Integer> children = new ArrayList<>();
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/" + pid + "/task"))) {
            for (Path thread : threads) {
                String list = Files.readString(thread.resolve("children"), StandardCharsets.US_ASCII);
                for (String child : list.trim().split(" ", -1)) {
                    if (!child.isEmpty()) {
                        children.add(Integer.valueOf(child));
                    }
                }
            }
        }
        return children;
    }

    private static Map<Integer, String> descriptors(int pid) throws IOException {
        Map<Integer, String> links = new TreeMap<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(Path.of("/proc/" + pid + "/fd"))) {
            for (Path entry : entries) {
                links.put(
                        Integer.valueOf(entry.getFileName().toString()),
                        Files.readSymbolicLink(entry).toString());
            }
        }
        return links;
    }

    /** A link that starts with a slash is a path, whatever the file is called; all others are the kernel's own words. */
    private static String kind(int pid, int fd, String link) {
        if (link.startsWith("pipe:")) {
            return "pipe";
        }
        if (link.startsWith(SOCKET)) {
            return "socket";
        }
        if (link.startsWith("anon_inode:")) {
            return "anon:" + link.substring("anon_inode:".length());
        }
        try {
            int mode = (int) Files.getAttribute(Path.of("/proc/" + pid + "/fd/" + fd), "unix:mode");
            return switch (mode & 0170000) {
                case 0040000 -> "dir";
                case 0020000 -> "chr";
                case 0060000 -> "blk";
                case 0010000 -> "fifo";
                default -> "file";
            };
        } catch (IOException e) {
            return "file"; // what it was opened from is gone: a file of /proc of a process that ended
        }
    }

    /** What a process listens on. */
    private static Set<String> listening(int pid, Map<Integer, String> links) throws IOException {
        Set<String> sockets = new TreeSet<>();
        if (links.values().stream().noneMatch(link -> link.startsWith(SOCKET))) {
            return sockets;
        }
        try (PeerProcess process = PeerProcess.open(pid)) {
            for (Map.Entry<Integer, String> link : links.entrySet()) {
                if (link.getValue().startsWith(SOCKET)) {
                    process.listener(link.getKey())
                            .ifPresent(it -> sockets.add(it.protocol() + " " + it.address() + " " + it.port()));
                }
            }
        }
        return sockets;
    }

    /**
     * Refuses a tree that CRIU would dump and could not restore: one with a process whose session can no longer be entered. CRIU
     * recreates sessions by having processes born in the right order, so that, but for children of pid 1, whose session it can make up,
     * a process's session has to be its own, its parent's, or that of an ancestor which led it after it had been born; and no process
     * can have been born in two sessions ({@code prepare_pstree_ids} in CRIU's pstree.c).
     */
    static void checkSessions(String sandboxId, List<ProcessEntry> table) {
        Map<Integer, ProcessEntry> byPid = new HashMap<>();
        table.forEach(entry -> byPid.put(entry.pid(), entry));
        Map<Integer, Integer> bornIn = new HashMap<>();
        for (ProcessEntry entry : table) {
            if (entry.ppid() == 0 || entry.ppid() == 1 || entry.sid() == entry.pid()) {
                continue;
            }
            ProcessEntry ancestor = byPid.get(entry.ppid());
            if (ancestor != null && ancestor.sid() == entry.sid()) {
                continue;
            }
            while (ancestor != null && ancestor.pid() != entry.sid()) {
                Integer other = bornIn.put(ancestor.pid(), entry.sid());
                if (other != null && other != entry.sid()) {
                    throw notRestorable(sandboxId, entry, "it and a sibling were born in different sessions");
                }
                ancestor = byPid.get(ancestor.ppid());
            }
            if (ancestor == null) {
                throw notRestorable(sandboxId, entry, "the leader of its session " + entry.sid() + " has ended");
            }
        }
    }

    private static CrabException notRestorable(String sandboxId, ProcessEntry entry, String why) {
        return CrabException.of(
                ErrorCode.CAPTURE_FAILED,
                "processes of sandbox " + sandboxId + " cannot be captured",
                "process " + entry.pid() + " (" + entry.comm() + ") could not be restored: " + why,
                "end that process, or start it with setsid");
    }

    /** What differs between two tables, in words; empty if nothing does. At most ten lines. */
    static List<String> differences(List<ProcessEntry> expected, List<ProcessEntry> found) {
        Map<Integer, ProcessEntry> left = new TreeMap<>();
        found.forEach(entry -> left.put(entry.pid(), entry));
        List<String> differences = new ArrayList<>();
        for (ProcessEntry entry : expected) {
            ProcessEntry other = left.remove(entry.pid());
            if (other == null) {
                differences.add("process " + entry.pid() + " (" + entry.comm() + ") is missing");
            } else if (!other.equals(entry)) {
                differences.add("process " + entry.pid() + " is " + other + ", not " + entry);
            }
        }
        left.values().forEach(entry -> differences.add("process " + entry.pid() + " (" + entry.comm() + ") is extra"));
        return differences.size() > 10 ? differences.subList(0, 10) : differences;
    }
}

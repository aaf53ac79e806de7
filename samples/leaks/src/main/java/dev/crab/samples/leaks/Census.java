package dev.crab.samples.leaks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.regex.Pattern;

/**
 * Looks at everything on the host that belongs to one data directory or to the JVMs that worked in it: in {@code /proc}, {@code /sys} and
 * on the disk, never by asking Crab.
 */
final class Census {
    /** Generations that the sessions keep. */
    static final int KEPT = 3;

    /** In the environment of every process that the JVMs start, and so known of those that lost their parent. */
    static final String MARK = "CRAB_LEAKS";

    private static final Path RUN = Path.of("/run/crab");
    private static final Pattern JVMS_OWN_FILE =
            Pattern.compile(".*(\\.jar|/lib/modules|/lib/.*\\.so|\\.jsa|/dev/u?random|\\.log)");
    private static final Pattern JVMS_OWN_THREAD =
            Pattern.compile("(java|C[12] CompilerThre.*|VM .*|GC .*|G1 .*|Signal Dispatch.*|Finalizer|Reference Handl.*"
                    + "|Common-Cleaner|Service Thread|Monitor Deflati.*|Notification Th.*|process reaper.*|Sweeper thread"
                    + "|Serial .*|DestroyJavaVM|Cleaner-.*)");

    private final Path data;
    private final Path temporary;
    private final String mark;
    private final String hash;
    private final Set<Long> workers = new ConcurrentSkipListSet<>();

    /**
     * A census.
     *
     * @param data the data directory, a real path
     * @param temporary the JVMs' directory for temporary files
     * @param mark value of {@link #MARK} in their environment
     * @param hash how Crab tells the names of this data directory on the host from those of others
     */
    Census(Path data, Path temporary, String mark, String hash) {
        this.data = data;
        this.temporary = temporary;
        this.mark = mark;
        this.hash = hash;
    }

    /** That JVM is one of those looked after; its end is not for this class to notice. */
    void worker(long pid) {
        workers.add(pid);
    }

    /** Looks at everything, and into one living JVM, or none where its pid is 0. */
    Counts take(long jvm) {
        Counts counts = new Counts();
        try {
            List<Long> ours = processes(counts);
            mounts(counts);
            namespaces(counts, ours);
            cgroups(counts);
            loops(counts);
            locks(counts);
            ipc(counts);
            staged(counts);
            temporary(counts);
            new StoreCensus(data).take(counts);
            if (jvm != 0) {
                counts.addAlike(Row.DESCRIPTORS, descriptors(jvm));
                counts.addAlike(Row.THREADS, threads(jvm));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return counts;
    }

    private List<Long> processes(Counts counts) throws IOException {
        List<Long> ours = new ArrayList<>();
        for (Path process : list(Path.of("/proc"))) {
            String name = String.valueOf(process.getFileName());
            if (!Character.isDigit(name.charAt(0)) || (workers.contains(Long.valueOf(name)) && isRunning(process))) {
                continue;
            }
            String stat = read(process.resolve("stat"));
            boolean zombieOfOurs = stat.contains(") Z ") && workers.contains(parent(stat));
            if (zombieOfOurs
                    || read(process.resolve("environ")).contains(MARK + "=" + mark + "\0")
                    || read(process.resolve("cgroup")).contains("." + hash)) {
                ours.add(Long.valueOf(name));
                counts.add(
                        Row.PROCESSES,
                        name + "@" + started(stat) + " "
                                + read(process.resolve("comm")).strip());
            }
        }
        return ours;
    }

    private static boolean isRunning(Path process) {
        return !read(process.resolve("stat")).contains(") Z ");
    }

    private static long parent(String stat) {
        return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1)[1]);
    }

    private static String started(String stat) {
        return stat.isEmpty() ? "?" : stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1)[19];
    }

    private void mounts(Counts counts) {
        for (String line : read(Path.of("/proc/self/mountinfo")).split("\n", -1)) {
            String[] fields = line.split(" ", -1);
            if (fields.length > 5 && (isBelow(fields[4], data) || isBelow(fields[4], RUN.resolve(hash)))) {
                counts.add(Row.MOUNTS, fields[4]);
                if (fields[3].startsWith("net:")) {
                    counts.add(Row.NETWORK_NAMESPACES, fields[3]);
                }
            }
        }
    }

    private static boolean isBelow(String path, Path directory) {
        return path.startsWith(directory + "/");
    }

    private void namespaces(Counts counts, List<Long> processes) {
        String hosts = link(Path.of("/proc/self/ns/net"));
        for (long process : processes) {
            counts.add(Row.NETWORK_NAMESPACES, link(Path.of("/proc/" + process + "/ns/net")));
        }
        for (long worker : workers) {
            for (Path descriptor : list(Path.of("/proc/" + worker + "/fd"))) {
                String target = link(descriptor);
                if (target.startsWith("net:[")) {
                    counts.add(Row.NETWORK_NAMESPACES, target);
                }
            }
        }
        counts.of(Row.NETWORK_NAMESPACES).removeAll(List.of(hosts, ""));
    }

    private void cgroups(Counts counts) throws IOException {
        for (String line : read(Path.of("/proc/self/mountinfo")).split("\n", -1)) {
            if (line.contains(" - cgroup")) {
                Path top = Path.of(line.split(" ", -1)[4]);
                Files.walkFileTree(top, new Walk(directory -> {
                    if (String.valueOf(directory.getFileName()).endsWith("." + hash)) {
                        counts.add(Row.CGROUPS, directory.toString());
                    }
                }));
            }
        }
    }

    private void loops(Counts counts) {
        for (Path device : list(Path.of("/sys/block"))) {
            String backing = read(device.resolve("loop/backing_file")).strip();
            if (isBelow(backing, data)) {
                counts.add(Row.LOOP_DEVICES, device.getFileName() + " " + backing);
            }
        }
    }

    private void locks(Counts counts) throws IOException {
        String held = read(Path.of("/proc/locks"));
        List<Path> files = new ArrayList<>(list(data));
        list(data.resolve("sessions")).forEach(session -> files.addAll(list(session)));
        files.addAll(list(data.resolve("trees/unfinished")));
        for (Path file : files) {
            if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                long device = (Long) Files.getAttribute(file, "unix:dev", LinkOption.NOFOLLOW_LINKS);
                long inode = (Long) Files.getAttribute(file, "unix:ino", LinkOption.NOFOLLOW_LINKS);
                String id = String.format(
                        " %02x:%02x:%d ", (device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00), inode);
                if (held.contains(id)) {
                    counts.add(Row.LOCKS, file.toString());
                }
            }
        }
    }

    private static void ipc(Counts counts) {
        for (String kind : List.of("shm", "sem", "msg")) {
            read(Path.of("/proc/sysvipc/" + kind))
                    .lines()
                    .skip(1)
                    .forEach(line ->
                            counts.add(Row.IPC, kind + " " + line.strip().split(" +", 3)[1]));
        }
        list(Path.of("/dev/mqueue")).forEach(queue -> counts.add(Row.IPC, queue.toString()));
    }

    private void staged(Counts counts) throws IOException {
        Walk walk = new Walk(path -> counts.add(Row.STAGED, path.toString()));
        for (Path top : List.of(data.resolve("work"), data.resolve("trees/unfinished"))) {
            for (Path entry : list(top)) {
                Files.walkFileTree(entry, walk);
            }
        }
        if (Files.exists(RUN.resolve(hash))) {
            Files.walkFileTree(RUN.resolve(hash), walk);
        }
        for (Path directory : list(RUN.resolve("dumps"))) {
            String name = String.valueOf(directory.getFileName());
            if (workers.contains(Long.valueOf(name.substring(0, name.indexOf('-'))))) {
                Files.walkFileTree(directory, walk);
            }
        }
    }

    private void temporary(Counts counts) throws IOException {
        Files.walkFileTree(temporary, new Walk(path -> {
            if (!Files.isDirectory(path)) {
                counts.add(Row.TEMPORARY, path.toString());
            }
        }));
        for (Path top : List.of(Path.of("/tmp"), Path.of("/"), Path.of("/dev/shm"))) {
            for (Path path : list(top)) {
                if (top.endsWith("shm") || String.valueOf(path.getFileName()).startsWith(".criu")) {
                    counts.add(Row.TEMPORARY, path.toString());
                }
            }
        }
    }

    private static List<String> descriptors(long pid) {
        List<String> kinds = new ArrayList<>();
        for (Path descriptor : list(Path.of("/proc/" + pid + "/fd"))) {
            String target = link(descriptor);
            if (!target.isEmpty() && !JVMS_OWN_FILE.matcher(target).matches()) {
                kinds.add(target.replaceAll("\\[?[0-9]+]?", ""));
            }
        }
        return kinds;
    }

    private static List<String> threads(long pid) {
        List<String> names = new ArrayList<>();
        for (Path task : list(Path.of("/proc/" + pid + "/task"))) {
            String name = read(task.resolve("comm")).strip();
            if (!name.isEmpty() && !JVMS_OWN_THREAD.matcher(name).matches()) {
                names.add(name.replaceAll("[0-9]+", ""));
            }
        }
        return names;
    }

    /** Entries of a directory, sorted; none if it is not there. */
    static List<Path> list(Path directory) {
        NavigableSet<Path> entries = new TreeSet<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(directory)) {
            all.forEach(entries::add);
        } catch (IOException | java.nio.file.DirectoryIteratorException e) {
            return List.copyOf(entries); // gone, or no directory
        }
        return List.copyOf(entries);
    }

    /** Text of a file; empty if it is gone. */
    static String read(Path file) {
        try {
            return Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }

    private static String link(Path file) {
        try {
            return Files.readSymbolicLink(file).toString();
        } catch (IOException e) {
            return "";
        }
    }
}

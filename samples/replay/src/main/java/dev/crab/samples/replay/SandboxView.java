package dev.crab.samples.replay;

import dev.crab.runtime.os.Cgroup;
import dev.crab.runtime.os.ProcFs;
import dev.crab.runtime.os.RootedTree;
import dev.crab.samples.replay.SandboxState.Entry;
import dev.crab.samples.replay.SandboxState.Task;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The host's view of a sandbox: it asks nobody in the sandbox and none of Crab, and works as well when the JVM that owned
 * the sandbox is dead. Not thread-safe.
 */
final class SandboxView {
    /** Of a directory that hides the image's of the same path. */
    private static final String OPAQUE = "trusted.overlay.opaque";

    private record Digested(String inode, String digest) {}

    private final Supplier<Cgroup> groups;
    private final Map<String, Digested> digests = new HashMap<>();

    /** That of the sandbox whose processes are in the control group. */
    SandboxView(Supplier<Cgroup> groups) {
        this.groups = groups;
    }

    /** The sandbox's control group. */
    Cgroup cgroup() {
        return groups.get();
    }

    /** Looks at everything. */
    SandboxState look() throws IOException {
        SortedMap<Integer, Task> tasks = new TreeMap<>();
        OverlayLayers layers = null;
        Cgroup cgroup = cgroup();
        for (int pid : cgroup.processes()) {
            try {
                Map<String, String> status = ProcFs.status(pid);
                int inner = ProcFs.innermost(Objects.requireNonNull(status.get("NSpid")));
                tasks.put(inner, task(pid, status));
                if (inner == 1) {
                    layers = OverlayLayers.of(pid);
                }
            } catch (IOException | NullPointerException e) {
                // Gone meanwhile.
            }
        }
        if (layers == null) {
            throw new IOException("no pid 1 is in " + cgroup.unified());
        }
        return new SandboxState(files(layers), tasks);
    }

    private static Task task(int pid, Map<String, String> status) throws IOException {
        int parent = parent(status);
        String command = Files.readString(Path.of("/proc/" + pid + "/cmdline"), StandardCharsets.ISO_8859_1)
                .replace('\0', ' ')
                .strip();
        String state = switch (Objects.requireNonNull(status.get("State")).charAt(0)) {
            case 'T' -> "stopped"; // not t: a dump that died may hold it so
            case 'Z', 'X' -> "dead";
            default -> "alive";
        };
        String what = "parent " + parent + ", group " + ProcFs.innermost(Objects.requireNonNull(status.get("NSpgid")))
                + ", session " + ProcFs.innermost(Objects.requireNonNull(status.get("NSsid"))) + ", " + state + ", uid "
                + status.get("Uid") + ", in " + directory(pid) + ": "
                + (command.isEmpty() ? status.get("Name") : command);
        return new Task(what, parent, ProcFs.started(pid).orElse(0));
    }

    private static int parent(Map<String, String> status) throws IOException {
        int parent = Integer.parseInt(Objects.requireNonNull(status.get("PPid")));
        String inner = parent == 0 ? null : ProcFs.status(parent).get("NSpid");
        return inner == null || !inner.contains("\t") ? 0 : ProcFs.innermost(inner);
    }

    private static String directory(int pid) {
        try {
            return Files.readSymbolicLink(Path.of("/proc/" + pid + "/cwd")).toString();
        } catch (IOException e) {
            return "?"; // a dead one has none
        }
    }

    /** What of the writable layer counts, by path: not directories that are, with what is in them, as in the image. */
    SortedMap<String, Entry> files(OverlayLayers layers) throws IOException {
        SortedMap<String, Entry> files = files(layers.upper());
        try (RootedTree upper = RootedTree.open(layers.upper())) {
            removeUntouched(files, layers, upper);
        }
        return files;
    }

    private void removeUntouched(SortedMap<String, Entry> files, OverlayLayers layers, RootedTree upper)
            throws IOException {
        // From the end: a directory comes before what is in it.
        for (String path : List.copyOf(files.keySet()).stream()
                .filter(path -> !path.isEmpty())
                .sorted(Comparator.reverseOrder())
                .toList()) {
            Path below = layers.below(path);
            boolean isEmpty = files.tailMap(path + "/").isEmpty()
                    || !files.tailMap(path + "/").firstKey().startsWith(path + "/");
            if (isEmpty
                    && below != null
                    && Files.isDirectory(below, LinkOption.NOFOLLOW_LINKS)
                    && entry(below)
                            .what()
                            .equals(Objects.requireNonNull(files.get(path)).what())
                    && upper.attributes("/" + path, OPAQUE::equals).isEmpty()) {
                files.remove(path);
            }
        }
    }

    private SortedMap<String, Entry> files(Path upper) throws IOException {
        SortedMap<String, Entry> files = new TreeMap<>();
        Files.walkFileTree(upper, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes) throws IOException {
                add(path);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path path, BasicFileAttributes attributes) throws IOException {
                add(path);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path path, IOException failure) throws IOException {
                return unlessGone(failure);
            }

            @Override
            public FileVisitResult postVisitDirectory(Path path, @Nullable IOException failure) throws IOException {
                return failure == null ? FileVisitResult.CONTINUE : unlessGone(failure);
            }

            private void add(Path path) throws IOException {
                try {
                    files.put(upper.relativize(path).toString(), entry(path));
                } catch (NoSuchFileException e) {
                    // Gone meanwhile.
                }
            }
        });
        return files;
    }

    private static FileVisitResult unlessGone(IOException failure) throws IOException {
        if (failure instanceof NoSuchFileException) {
            return FileVisitResult.CONTINUE;
        }
        throw failure;
    }

    private Entry entry(Path path) throws IOException {
        Map<String, Object> unix = Files.readAttributes(path, "unix:*", LinkOption.NOFOLLOW_LINKS);
        int mode = (int) Objects.requireNonNull(unix.get("mode"));
        long modified = nanos(unix.get("lastModifiedTime"));
        long changed = nanos(unix.get("ctime"));
        String what = Integer.toOctalString(mode) + " " + unix.get("uid") + ":" + unix.get("gid");
        switch (mode & 0170000) {
            case 0100000 -> what += " " + unix.get("size") + " " + digest(path, unix, modified, changed);
            case 0120000 -> what += " " + Files.readSymbolicLink(path);
            case 0020000, 0060000 -> what += " " + unix.get("rdev");
            default -> {
                // A directory's size is the file system's affair; fifos and sockets have nothing more.
            }
        }
        return new Entry(what, modified, changed);
    }

    private static long nanos(@Nullable Object time) {
        return ((FileTime) Objects.requireNonNull(time)).to(TimeUnit.NANOSECONDS);
    }

    /** An inode that did not change has the content that it had. */
    private String digest(Path path, Map<String, Object> unix, long modified, long changed) throws IOException {
        String inode =
                unix.get("dev") + " " + unix.get("ino") + " " + unix.get("size") + " " + modified + " " + changed;
        Digested known = digests.get(path.toString());
        if (known != null && known.inode.equals(inode)) {
            return known.digest;
        }
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            try (InputStream in = new DigestInputStream(Files.newInputStream(path), digest)) {
                in.transferTo(java.io.OutputStream.nullOutputStream());
            }
            String hex = HexFormat.of().formatHex(digest.digest(), 0, 16);
            digests.put(path.toString(), new Digested(inode, hex));
            return hex;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}

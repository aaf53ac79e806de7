package dev.crab.runtime.inspector;

import dev.crab.runtime.os.RootedTree;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a process holds open, mapped or otherwise, as /proc tells it.
 *
 * @param paths files and directories as paths within the sandbox, in {@link RootedTree}'s encoding
 * @param inodes inode numbers of those files, as the overlay shows them
 * @param pipes inode numbers of pipes and FIFOs
 * @param sockets inode numbers of sockets
 * @param terminal whether it holds a terminal
 * @param watchers descriptors by which it watches files (inotify, fanotify)
 * @param channels descriptors of pipes, FIFOs and sockets
 * @param unnamed descriptors of files that have no name any more, or never had one: deleted, or in memory
 * @param asyncIo whether it holds io_uring or AIO contexts
 * @param sharedMapping whether it has a writable shared mapping of a file
 * @param complete whether everything could be read; if not, it must be taken to hold anything
 */
record Holdings(
        Set<String> paths,
        Set<Long> inodes,
        Set<Long> pipes,
        Set<Long> sockets,
        Set<Integer> watchers,
        Set<Integer> unnamed,
        Set<Integer> channels,
        boolean terminal,
        boolean asyncIo,
        boolean sharedMapping,
        boolean complete) {

    boolean watches() {
        return !watchers.isEmpty();
    }

    static Holdings of(ProcessRef process) {
        return new Reader(process).read();
    }

    private static final class Reader {
        /** The type bits of a mode, and that of a FIFO (inode(7)). */
        private static final int TYPE = 0170000;

        private static final int FIFO = 0010000;
        private static final String DELETED = " (deleted)";

        private final ProcessRef process;
        private final String directory;
        private final Set<String> paths = new HashSet<>();
        private final Set<Long> inodes = new HashSet<>();
        private final Set<Long> pipes = new HashSet<>();
        private final Set<Long> sockets = new HashSet<>();
        private boolean terminal;
        private final Set<Integer> watchers = new HashSet<>();
        private final Set<Integer> unnamed = new HashSet<>();
        private final Set<Integer> channels = new HashSet<>();
        private boolean asyncIo;
        private boolean sharedMapping;

        Reader(ProcessRef process) {
            this.process = process;
            this.directory = "/proc/" + process.pid() + "/";
        }

        Holdings read() {
            boolean complete;
            try {
                for (String name : List.of("cwd", "root", "exe")) {
                    file(directory + name, null);
                }
                for (String descriptor : descriptors()) {
                    file(directory + "fd/" + descriptor, Integer.valueOf(descriptor));
                }
                mappings();
                // Whatever was read belongs to that process only if it is still there.
                complete = process.startTime() == Processes.startTime(process.pid());
            } catch (IOException e) {
                complete = false;
            }
            return new Holdings(
                    paths,
                    inodes,
                    pipes,
                    sockets,
                    watchers,
                    unnamed,
                    channels,
                    terminal,
                    asyncIo,
                    sharedMapping,
                    complete);
        }

        private List<String> descriptors() throws IOException {
            String[] names = new File(directory + "fd").list();
            if (names == null) {
                throw new IOException("the descriptors of process " + process.pid() + " cannot be listed");
            }
            return List.of(names);
        }

        private void file(String link, @Nullable Integer descriptor) throws IOException {
            String target = RootedTree.readLink(link);
            if (target == null) {
                return;
            }
            if (target.startsWith("pipe:[")) {
                pipes.add(number(target));
                channel(descriptor);
            } else if (target.startsWith("socket:[")) {
                sockets.add(number(target));
                channel(descriptor);
            } else if (target.startsWith("anon_inode:")) {
                if (descriptor != null && target.contains("notify")) {
                    watchers.add(descriptor);
                }
                asyncIo |= target.contains("io_uring");
            } else {
                terminal |= target.startsWith("/dev/pts/")
                        || target.equals("/dev/ptmx")
                        || target.equals("/dev/tty")
                        || target.equals("/dev/console");
                paths.add(withoutDeleted(target));
                if (descriptor != null && target.endsWith(DELETED)) {
                    unnamed.add(descriptor);
                }
                inode(link, descriptor);
            }
        }

        /** What a link to a file leads to. */
        private void inode(String link, @Nullable Integer descriptor) throws IOException {
            Map<String, Object> file;
            try {
                file = Files.readAttributes(Path.of(link), "unix:ino,mode");
            } catch (NoSuchFileException e) {
                return;
            }
            Long inode = (Long) Objects.requireNonNull(file.get("ino"));
            inodes.add(inode);
            pipes.add(inode); // a FIFO is a file and a pipe
            if (((Integer) Objects.requireNonNull(file.get("mode")) & TYPE) == FIFO) {
                channel(descriptor);
            }
        }

        private void channel(@Nullable Integer descriptor) {
            if (descriptor != null) {
                channels.add(descriptor);
            }
        }

        /**
         * Lines of /proc/PID/maps: range, permissions, offset, device, inode, path (proc(5)). Only a path has a slash in it; the kernel
         * writes a newline in one as {@code \\012}.
         */
        private void mappings() throws IOException {
            String maps = Processes.text(Path.of(directory + "maps"));
            int start = 0;
            while (start < maps.length()) {
                int newline = maps.indexOf('\n', start);
                int end = newline < 0 ? maps.length() : newline;
                int slash = maps.indexOf('/', start);
                if (slash >= 0 && slash < end && maps.charAt(slash - 1) == ' ') {
                    mapping(maps, start, slash, withoutDeleted(maps.substring(slash, end)));
                }
                start = end + 1;
            }
        }

        private void mapping(String maps, int start, int slash, String path) {
            asyncIo |= path.equals("/[aio]");
            paths.add(path);
            int inodeEnd = slash;
            while (maps.charAt(inodeEnd - 1) == ' ') {
                inodeEnd--;
            }
            inodes.add(Long.parseLong(maps, maps.lastIndexOf(' ', inodeEnd - 1) + 1, inodeEnd, 10));
            int permissions = maps.indexOf(' ', start) + 1;
            sharedMapping |= maps.startsWith("rw", permissions) && maps.charAt(permissions + 3) == 's';
        }

        private static long number(String target) {
            return Long.parseLong(target.substring(target.indexOf('[') + 1, target.length() - 1));
        }

        private static String withoutDeleted(String path) {
            return path.endsWith(DELETED) ? path.substring(0, path.length() - DELETED.length()) : path;
        }
    }
}

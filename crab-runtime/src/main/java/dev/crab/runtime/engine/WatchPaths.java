package dev.crab.runtime.engine;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Where CRIU looks for the file behind an inotify watch: an overlay's file handles lead nowhere, so it has to walk. It does so only if there is a
 * watch, path by path, until it has found the file; the sandbox stands still meanwhile, so likely places come first. Stateless.
 */
final class WatchPaths {
    private static final List<String> LIKELY =
            List.of("/root", "/home", "/srv", "/tmp", "/opt", "/var", "/etc", "/usr/local");

    /** Directories of programs, large and seldom watched; at the very end all there is, as the root itself may be watched. */
    private static final List<String> LAST = List.of("/run", "/usr", "/");

    /** Mounts whose files have handles, or cannot be watched to any use. */
    private static final Set<String> LEFT_OUT = Set.of("/proc", "/sys", "/dev");

    /** Paths are sent as text; what is called otherwise is found at last, below the root. */
    private static final Pattern NAME = Pattern.compile("[\\w.+@-]{1,255}");

    /** A sandbox may have any number of entries there. */
    private static final int LOOKED_AT = 1024;

    private static final int LIMIT = 64;

    private WatchPaths() {}

    /** The paths, as the sandbox sees them, whose pid 1 that is on the host. */
    static List<String> of(int initPid) throws IOException {
        Set<String> others = new TreeSet<>();
        try (DirectoryStream<Path> top = Files.newDirectoryStream(Path.of("/proc/" + initPid + "/root"))) {
            int looked = 0;
            for (Path entry : top) {
                if (++looked > LOOKED_AT || others.size() == LIMIT) {
                    break;
                }
                String name = entry.getFileName().toString();
                if (NAME.matcher(name).matches() && Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
                    others.add("/" + name);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        others.removeAll(LEFT_OUT);
        LIKELY.forEach(others::remove);
        LAST.forEach(others::remove);
        List<String> paths = new ArrayList<>(LIKELY);
        paths.addAll(others);
        paths.addAll(LAST);
        return paths;
    }
}

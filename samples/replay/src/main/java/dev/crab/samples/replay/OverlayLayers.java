package dev.crab.samples.replay;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the overlay is made of that is a process's root.
 *
 * @param upper the writable layer
 * @param lowers those of the image, the uppermost first
 */
record OverlayLayers(Path upper, List<Path> lowers) {
    static OverlayLayers of(int pid) throws IOException {
        return parse(Files.readAllLines(Path.of("/proc/" + pid + "/mountinfo"), StandardCharsets.ISO_8859_1));
    }

    /** Format: proc(5), mountinfo. */
    static OverlayLayers parse(List<String> mounts) throws IOException {
        for (String line : mounts) {
            String[] fields = line.split(" ", -1);
            if (fields[4].equals("/") && line.contains(" - overlay ")) {
                List<String> options = List.of(fields[fields.length - 1].split(",", -1));
                List<Path> upper = paths(options, "upperdir=");
                if (!upper.isEmpty()) {
                    return new OverlayLayers(upper.get(0), paths(options, "lowerdir="));
                }
            }
        }
        throw new IOException("the root is no overlay that can be written to: " + mounts);
    }

    private static List<Path> paths(List<String> options, String name) {
        return options.stream()
                .filter(option -> option.startsWith(name))
                .flatMap(option -> Stream.of(option.substring(name.length()).split(":", -1)))
                .map(Path::of)
                .toList();
    }

    /** What the image has at that path; null if nothing. */
    @Nullable
    Path below(String path) {
        return lowers.stream()
                .map(lower -> lower.resolve(path))
                .filter(file -> Files.exists(file, LinkOption.NOFOLLOW_LINKS))
                .findFirst()
                .orElse(null);
    }
}

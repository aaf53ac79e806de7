package dev.crab.samples.leaks;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What lies in the store, and what of it no kept generation needs, by the manifests as docs/store-format.md describes them.
 *
 * @param data the data directory
 */
record StoreCensus(Path data) {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Set<String> OF_A_SESSION = Set.of("lock", "journal", "journal.durable", "manifests");
    private static final Set<String> OF_THE_DIRECTORY = Set.of(
            "sessions", "objects", "btrfs", "btrfs.img", "btrfs.lock", "snapshots.lock", "trees", "work", "images");

    void take(Counts counts) throws IOException {
        Set<String> needed = new HashSet<>();
        for (Path session : Census.list(data.resolve("sessions"))) {
            session(session, needed, counts);
        }
        for (Path bucket : Census.list(data.resolve("objects"))) {
            for (Path object : Census.list(bucket)) {
                String name = String.valueOf(object.getFileName());
                counts.add(Row.OBJECTS, name);
                if (!needed.contains(name)) {
                    counts.add(Row.UNNEEDED, "object " + name);
                }
            }
        }
        for (String subvolume : subvolumes()) {
            if (subvolume.startsWith("sandboxes/")) {
                counts.add(Row.VOLUMES, "/" + subvolume);
            } else {
                counts.add(Row.SNAPSHOTS, "/" + subvolume);
                if (!needed.contains(subvolume)) {
                    counts.add(Row.UNNEEDED, "subvolume " + subvolume);
                }
            }
        }
        for (Path other : Census.list(data)) {
            String name = String.valueOf(other.getFileName());
            if (!OF_THE_DIRECTORY.contains(name)) {
                counts.add(Row.UNNEEDED, "file " + name);
            }
        }
    }

    private static void session(Path session, Set<String> needed, Counts counts) throws IOException {
        counts.add(Row.SESSIONS, session.toString());
        for (Path file : Census.list(session)) {
            counts.add(Row.SESSIONS, file.toString());
            if (!OF_A_SESSION.contains(String.valueOf(file.getFileName()))) {
                counts.add(Row.UNNEEDED, "file " + file);
            }
        }
        List<Path> manifests = Census.list(session.resolve("manifests"));
        if (manifests.size() > Census.KEPT) {
            counts.add(Row.UNNEEDED, manifests.size() + " generations in " + session);
        }
        for (Path file : manifests) {
            counts.add(Row.SESSIONS, file.toString());
            if (!String.valueOf(file.getFileName()).matches("[0-9]+\\.json")) {
                counts.add(Row.UNNEEDED, "file " + file);
                continue;
            }
            String text = Census.read(file);
            if (!text.isEmpty()) {
                JsonNode checkpoint = JSON.readTree(text).at("/manifest/checkpoint");
                checkpoint.findValuesAsText("name").forEach(needed::add);
                needed.add("snapshots/" + checkpoint.at("/files/snapshotId").asText());
            }
        }
    }

    private Set<String> subvolumes() throws IOException {
        Set<String> paths = new HashSet<>();
        Path btrfs = data.resolve("btrfs");
        if (!Census.read(Path.of("/proc/self/mountinfo")).contains(" " + btrfs + " ")) {
            return paths;
        }
        Process list = new ProcessBuilder("btrfs", "subvolume", "list", btrfs.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(list.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (list.onExit().join().exitValue() != 0) {
            throw new IOException("btrfs subvolume list: " + output);
        }
        output.lines().forEach(line -> paths.add(line.substring(line.indexOf(" path ") + " path ".length())));
        return paths;
    }
}

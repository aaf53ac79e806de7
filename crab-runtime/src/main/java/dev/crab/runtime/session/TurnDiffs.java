package dev.crab.runtime.session;

import dev.crab.runtime.engine.FileDifferences;
import dev.crab.runtime.engine.FileDifferences.Side;
import dev.crab.runtime.session.TurnDiff.FileChange;
import dev.crab.runtime.session.TurnDiff.Kind;
import dev.crab.runtime.store.FileImage;
import dev.crab.runtime.store.Manifest;
import dev.crab.runtime.store.ObjectStore;
import dev.crab.runtime.store.ProcessEntry;
import dev.crab.runtime.store.ProcessImage;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Compares two turns by what their checkpoints say of files and processes. */
final class TurnDiffs {
    private TurnDiffs() {}

    /**
     * Compares.
     *
     * @throws dev.crab.runtime.error.CrabException OBJECT_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    static TurnDiff between(ObjectStore objects, TurnTarget from, TurnTarget to) {
        List<FileChange> files = new ArrayList<>();
        FileDifferences.between(
                objects, files(from), files(to), (path, older, newer) -> files.add(change(path, older, newer)));
        return new TurnDiff(
                from.turn(),
                to.turn(),
                files,
                without(processes(to), processes(from)),
                without(processes(from), processes(to)));
    }

    private static FileChange change(String path, @Nullable Side older, @Nullable Side newer) {
        if (newer == null) {
            // A removed whiteout lets the image's file be seen again.
            return older != null && older.hides()
                    ? new FileChange(path, Kind.ADDED, older.type(), 0)
                    : new FileChange(
                            path, Kind.REMOVED, older == null ? "" : older.type(), older == null ? 0 : older.size());
        }
        if (newer.hides()) {
            return new FileChange(path, Kind.DELETED, older == null ? newer.type() : older.type(), 0);
        }
        Kind kind = older == null || older.hides() ? Kind.ADDED : Kind.CHANGED;
        return new FileChange(path, kind, newer.type(), newer.size());
    }

    private static @Nullable FileImage files(TurnTarget target) {
        Manifest manifest = target.manifest();
        return manifest == null ? null : manifest.checkpoint().files();
    }

    /** Pids may be used again: another command is another process. */
    private static Map<String, ProcessEntry> processes(TurnTarget target) {
        Map<String, ProcessEntry> processes = new LinkedHashMap<>();
        Manifest manifest = target.manifest();
        ProcessImage image = manifest == null ? null : manifest.checkpoint().processes();
        if (image != null) {
            image.processes().stream()
                    .filter(entry -> entry.pid() != 1)
                    .forEach(entry -> processes.put(entry.pid() + " " + entry.comm(), entry));
        }
        return processes;
    }

    private static List<ProcessEntry> without(Map<String, ProcessEntry> all, Map<String, ProcessEntry> known) {
        return all.entrySet().stream()
                .filter(entry -> !known.containsKey(entry.getKey()))
                .map(Map.Entry::getValue)
                .toList();
    }
}

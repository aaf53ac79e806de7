package dev.crab.samples.bench;

import dev.crab.runtime.inspector.FilePolicy;
import dev.crab.runtime.inspector.InspectionTarget;
import dev.crab.runtime.inspector.ScanInspector;
import dev.crab.runtime.inspector.TurnInspector.Watch;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.sandbox.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What reading a layer of many files costs where one of them was changed: where btrfs is asked, and where the layer is walked, turn by turn
 * in the same sandbox. Two inspectors that look at nothing but files watch it beside its session's own. Not thread-safe.
 */
final class LayerRows implements AutoCloseable {
    /** Numbers of files. */
    static final List<Integer> SIZES = List.of(6_000, 20_000);

    private static final int DIRECTORIES = 50;

    private final Path data;
    private final String session;
    private final int files;
    private final Series asked;
    private final Series walked;
    private final ScanInspector inspector = new ScanInspector(FilePolicy.EVERYTHING);
    private @Nullable Watch askingWatch;
    private @Nullable Watch walkingWatch;
    private int number;

    LayerRows(Path data, String session, int files) {
        this.data = data;
        this.session = session;
        this.files = files;
        this.asked = new Series("files: one of " + files + ", btrfs asked");
        this.walked = new Series("files: one of " + files + ", walked");
    }

    /** The line of bash that makes the files. */
    String fill() {
        return "for i in $(seq " + DIRECTORIES + "); do mkdir -p /root/many/$i; (cd /root/many/$i; seq "
                + files / DIRECTORIES + " | xargs touch); done";
    }

    /** Begins to watch the session's sandbox. */
    void start() throws IOException {
        Path volumes = data.toRealPath().resolve("btrfs/sandboxes");
        Path volume;
        try (Stream<Path> all = Files.list(volumes)) {
            volume = all.filter(path -> path.getFileName().toString().startsWith(session + "."))
                    .findFirst()
                    .orElseThrow();
        }
        String id = volume.getFileName().toString();
        Path cgroup = Cgroups.detect().group(id).unified();
        int init = Integer.parseInt(
                Files.readAllLines(cgroup.resolve("cgroup.procs")).get(0));
        Path scratch = volume.resolveSibling(id + ".scratch");
        askingWatch =
                inspector.watch(new InspectionTarget(id, cgroup, init, volume.resolve("upper"), Path.of("/"), scratch));
        walkingWatch =
                inspector.watch(new InspectionTarget(id, cgroup, init, volume.resolve("upper"), Path.of("/"), null));
    }

    /** Changes a file and judges it, once in each way. */
    void round(Sandbox sandbox, boolean counts) {
        judge(sandbox, askingWatch, asked, counts);
        judge(sandbox, walkingWatch, walked, counts);
    }

    private void judge(Sandbox sandbox, @Nullable Watch watch, Series series, boolean counts) {
        if (watch == null) {
            throw new IllegalStateException("not started");
        }
        watch.rebase();
        watch.begin();
        Measurement.run(sandbox, "echo " + number++ + " > /root/many/1/1");
        long start = System.nanoTime();
        boolean seen = watch.judge().effect().files();
        Measurement.add(series, System.nanoTime() - start, counts);
        if (!seen) {
            throw new IllegalStateException("a changed file was not seen");
        }
    }

    void report(Report report) {
        report.add(asked, walked);
        report.ratio("files, one of " + files + ": asked / walked", asked, walked);
    }

    @Override
    public void close() {
        inspector.close();
    }
}

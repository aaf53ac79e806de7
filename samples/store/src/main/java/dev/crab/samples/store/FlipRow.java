package dev.crab.samples.store;

import dev.crab.runtime.snapshot.Snapshotters;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/** One bit is another in a file of the store: an older whole turn comes back, or a typed refusal. */
final class FlipRow implements Row {
    private static final String SESSION = "flip";

    /** Bits flipped in each file. */
    private static final int PLACES = 6;

    /**
     * A flipped bit.
     *
     * @param file below the data directory
     * @param offset of the byte, from 0
     * @param bit 0 to 7
     */
    record Flip(Path file, long offset, int bit) {
        @Override
        public String toString() {
            return file + ", byte " + offset + ", bit " + bit;
        }
    }

    @Override
    public void run(Plan plan, Tally tally) throws IOException {
        try (Disk disk = new Disk(plan.work().resolve("flip"))) {
            List<Flip> flips = flips(plan, tally, prepare(plan, disk));
            List<Flip> chosen = plan.choose(tally.row(), flips, List.of());
            tally.note(chosen.size() + " of " + flips.size() + " bits, seed " + plan.seed()
                    + "; blocks of the btrfs below the snapshots are not flipped: its own checksums refuse them");
            for (Flip flip : chosen) {
                plan.told(tally, flip.toString(), flip(plan, disk, flip), chosen.size());
            }
        }
    }

    /** A disk with a session that has come to its end; gives its files. */
    private static List<Path> prepare(Plan plan, Disk disk) throws IOException {
        disk.insert("empty");
        Place place = new Place(disk.mountPoint(), plan.image(), plan.jvm());
        List<Path> files;
        try {
            // A neighbour whose pages the session shares, by links.
            Life neighbour = new VictimJvm(place, "neighbour").run();
            Life life = new VictimJvm(place, SESSION).run();
            if (!neighbour.finished() || !life.finished()) {
                throw new IOException("no session can be played on the disk: " + neighbour.lines() + life.lines());
            }
            files = files(place.data());
        } finally {
            place.leave();
        }
        disk.eject();
        disk.keep("prepared");
        return files;
    }

    private static List<Path> files(Path data) throws IOException {
        List<Path> files = new ArrayList<>();
        for (String directory : List.of("sessions/" + SESSION, "objects", "btrfs/snapshots")) {
            try (Stream<Path> all = Files.walk(data.resolve(directory))) {
                all.filter(Files::isRegularFile)
                        .map(data::relativize)
                        .filter(file ->
                                !directory.contains("/snap") || file.endsWith("renamed") || file.endsWith("ask.py"))
                        .filter(file -> file.toString().contains(SESSION))
                        .sorted()
                        .forEach(files::add);
            }
        }
        return files;
    }

    private static List<Flip> flips(Plan plan, Tally tally, List<Path> files) {
        Random random = plan.random(tally.row());
        List<Flip> flips = new ArrayList<>();
        for (Path file : files) {
            for (int i = 0; i < PLACES; i++) {
                flips.add(new Flip(file, random.nextLong(1L << 62), random.nextInt(8)));
            }
        }
        return flips;
    }

    private static Verdict flip(Plan plan, Disk disk, Flip flip) throws IOException {
        disk.insert("prepared");
        Place place = new Place(disk.mountPoint(), plan.image(), plan.jvm());
        try {
            place.runtime().collectGarbage(true); // mounts the snapshots
            Path file = place.data().resolve(flip.file);
            boolean snapshot = flip.file.startsWith("btrfs");
            Path root = snapshot ? place.data().resolve(flip.file.subpath(0, 3)) : file;
            if (snapshot) {
                Tool.run("btrfs", "property", "set", "-f", root.toString(), "ro", "false");
            }
            flip(file, flip);
            if (snapshot) {
                Tool.run("btrfs", "property", "set", root.toString(), "ro", "true");
            }
            return place.judge(SESSION, 1, Script.TURNS);
        } finally {
            place.leave();
            Snapshotters.release(place.data());
            disk.eject();
        }
    }

    private static void flip(Path file, Flip flip) throws IOException {
        try (RandomAccessFile bytes = new RandomAccessFile(file.toFile(), "rw")) {
            long offset = flip.offset % Math.max(1, bytes.length());
            bytes.seek(offset);
            int old = bytes.read();
            bytes.seek(offset);
            bytes.write(old ^ 1 << flip.bit);
        }
    }
}

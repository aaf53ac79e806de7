package dev.crab.samples.store;

import dev.crab.runtime.fault.FaultPoints;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/**
 * A power cut below the file system: the victim stops at a fault point, and what its disk has got by then is what comes back. The data
 * directory's btrfs lies on that disk as well, so snapshots are cut with the rest.
 */
final class BlockRow implements Row {
    @Override
    public void run(Plan plan, Tally tally) throws IOException {
        List<String> points = KillRow.points(plan);
        List<String> chosen = plan.choose(tally.row(), points, List.of());
        tally.note(chosen.size() + " of " + points.size() + " passings of fault points");
        plan.lanes(tally, chosen, name -> lane(plan, name));
    }

    static Plan.Lane<String> lane(Plan plan, String name) throws IOException {
        Disk disk = new Disk(plan.work().resolve(name));
        try {
            prepare(plan, disk);
        } catch (IOException | RuntimeException e) {
            disk.close();
            throw e;
        }
        return new DiskLane(plan, disk);
    }

    /** A disk for one worker. */
    private static final class DiskLane implements Plan.Lane<String> {
        private final Plan plan;
        private final Disk disk;

        DiskLane(Plan plan, Disk disk) {
            this.plan = plan;
            this.disk = disk;
        }

        @Override
        public Verdict run(String point) throws IOException {
            return cut(plan, disk, point);
        }

        @Override
        public void close() throws IOException {
            disk.close();
        }
    }

    /** A disk with an empty data directory. */
    private static void prepare(Plan plan, Disk disk) throws IOException {
        disk.insert("empty");
        Place place = new Place(disk.mountPoint(), plan.image(), plan.jvm());
        try {
            Verdict verdict = place.judge("first", 0, 0);
            if (verdict.kind() != Verdict.Kind.WHOLE) {
                throw new IOException("no session can be played on the disk: " + verdict);
            }
            place.clear("first");
        } finally {
            place.leave();
        }
        disk.eject();
        disk.keep("prepared");
    }

    private static Verdict cut(Plan plan, Disk disk, String point) throws IOException {
        disk.insert("prepared");
        Life life;
        Place before = new Place(disk.mountPoint(), plan.image(), plan.jvm());
        try {
            life = new VictimJvm(before, "block")
                    .property(FaultPoints.PROPERTY, point)
                    .listener((line, process) -> {
                        if (line.startsWith(KillRow.FAULT)) {
                            keep(disk);
                            VictimJvm.kill(process);
                        }
                    })
                    .run();
            if (before.runtime().sessions().contains("block")) {
                before.runtime().stop("block");
            }
        } finally {
            before.leave();
        }
        disk.eject();
        if (!life.killed()) {
            return life.finished()
                    ? Verdict.whole(Script.TURNS)
                    : Verdict.mix("the victim ended by itself: " + life.lines());
        }
        disk.insert("cut");
        Place after = new Place(disk.mountPoint(), plan.image(), plan.jvm());
        try {
            return after.judge("block", life.acknowledged(), Math.min(life.acknowledged() + 1, Script.TURNS));
        } finally {
            after.leave();
            disk.eject();
        }
    }

    private static void keep(Disk disk) {
        try {
            disk.keep("cut");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

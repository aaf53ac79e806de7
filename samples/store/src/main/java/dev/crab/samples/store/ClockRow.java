package dev.crab.samples.store;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** The clock of the day jumps a year forwards and backwards, before and inside of turns, and then the victim is killed. */
final class ClockRow implements Row {
    private static final int RUNS = 16;

    /**
     * A run.
     *
     * @param killed the turn behind which it is killed
     * @param seed of the jumps
     */
    private record Jumps(int killed, long seed) {
        @Override
        public String toString() {
            return "killed behind turn " + killed + ", jumps " + seed;
        }
    }

    @Override
    public void run(Plan plan, Tally tally) {
        Random random = plan.random(tally.row());
        int runs = plan.limit() == 0 ? RUNS : Math.min(RUNS, plan.limit());
        List<Jumps> all = new ArrayList<>();
        for (int i = 0; i < runs; i++) {
            all.add(new Jumps(1 + i % Script.TURNS, random.nextLong()));
        }
        plan.each(tally, all, (place, session, jumps) -> jump(plan, place, session, jumps.killed, jumps.seed));
        tally.note("a point is a run with up to " + 2 * Script.TURNS + " jumps, killed behind one of its turns; seed "
                + plan.seed());
    }

    static Verdict jump(Plan plan, Place place, String session, int killed, long seed) throws IOException {
        Life life = new VictimJvm(place, session)
                .property(Victim.CLOCK, Long.toString(seed))
                .shim(plan.shim(), Map.of("MODE", "count"))
                .listener((line, process) -> {
                    if (line.startsWith("committed " + killed + " ")) {
                        VictimJvm.kill(process);
                    }
                })
                .run();
        if (!life.killed() && !life.finished()) {
            return Verdict.mix("the victim ended by itself: " + life.lines());
        }
        return place.judge(session, life.acknowledged(), Math.min(life.acknowledged() + 1, Script.TURNS));
    }
}

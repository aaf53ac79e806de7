package dev.crab.samples.store;

import dev.crab.runtime.fault.FaultPoints;
import java.io.IOException;
import java.util.List;

/** SIGKILL at every fault point that an unharmed run passes. */
final class KillRow implements Row {
    static final String FAULT = "crab-fault ";

    @Override
    public void run(Plan plan, Tally tally) throws IOException {
        List<String> points = points(plan);
        List<String> chosen = plan.choose(tally.row(), points, List.of());
        tally.note(chosen.size() + " of " + points.size() + " passings of fault points");
        plan.each(tally, chosen, KillRow::kill);
    }

    /** Those that an unharmed run passes, which is judged as well: what fails without a fault would prove nothing with one. */
    static List<String> points(Plan plan) throws IOException {
        try (Place place = plan.place("points")) {
            Life life = new VictimJvm(place, "points")
                    .property(Victim.POINTS, "true")
                    .unharmed()
                    .run();
            Verdict verdict = place.judge("points", Script.TURNS, Script.TURNS);
            if (!life.finished() || verdict.kind() != Verdict.Kind.WHOLE) {
                throw new IOException("the unharmed run fails: " + verdict + ", it said " + life.lines());
            }
            place.clear("points");
            return life.told("point");
        }
    }

    static Verdict kill(Place place, String session, String point) throws IOException {
        Life life = new VictimJvm(place, session)
                .property(FaultPoints.PROPERTY, point)
                .listener((line, process) -> {
                    if (line.startsWith(FAULT)) {
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

package dev.crab.samples.store;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The power fails at an operation on the store's files: what was not flushed is undone, all of it, a random part, or all but the beginning
 * of the last write.
 */
final class PowerRow implements Row {
    /** Operations of the turns behind the restore, two of them, with what retention deletes: none of these may be left out. */
    private static final int WHOLE_FROM = Script.REOPENED_AFTER;

    private static final int WHOLE_TO = WHOLE_FROM + 2;

    /**
     * A power cut.
     *
     * @param operation before which it happens, from 1
     * @param keep what is left of the unflushed
     */
    record Cut(long operation, String keep) {
        @Override
        public String toString() {
            return "operation " + operation + ", kept " + keep;
        }
    }

    @Override
    public void run(Plan plan, Tally tally) throws IOException {
        Life unharmed = unharmed(plan);
        long all = unharmed.operationsUntil(Script.TURNS);
        List<Cut> cuts = new ArrayList<>();
        for (long operation = 1; operation <= all; operation++) {
            for (String keep : List.of("nothing", "some", "torn")) {
                cuts.add(new Cut(operation, keep));
            }
        }
        long from = unharmed.operationsUntil(WHOLE_FROM);
        long to = unharmed.operationsUntil(WHOLE_TO);
        // Each operation once, with what is left chosen by the seed; the other two ways where there is room.
        List<Cut> needed = cuts.stream()
                .filter(cut -> cut.operation > from && cut.operation <= to)
                .filter(cut -> cuts.indexOf(cut) % 3 == Math.floorMod(plan.seed() + cut.operation, 3))
                .toList();
        List<Cut> chosen = plan.choose(tally.row(), cuts, needed);
        tally.note(chosen.size() + " of " + cuts.size() + " cuts (three ways each) at " + all + " operations, seed "
                + plan.seed() + "; every operation from " + (from + 1) + " to " + to
                + ": a restore, two turns, a retention");
        tally.note(
                "files and names below sessions/ and objects/; what lies on the btrfs counts as flushed (row block cuts that, too);"
                        + " an overwritten sector is never torn");
        plan.each(tally, chosen, (place, session, cut) -> cut(plan, place, session, cut));
    }

    static Life unharmed(Plan plan) throws IOException {
        try (Place place = plan.place("operations")) {
            Life life = new VictimJvm(place, "operations")
                    .shim(plan.shim(), Map.of("MODE", "count"))
                    .unharmed()
                    .run();
            if (!life.finished()) {
                throw new IOException("the unharmed run fails: " + life.lines());
            }
            place.clear("operations");
            return life;
        }
    }

    private static Verdict cut(Plan plan, Place place, String session, Cut cut) throws IOException {
        return cut(plan, place, session, cut, Map.of());
    }

    /** With more settings of the shim. */
    static Verdict cut(Plan plan, Place place, String session, Cut cut, Map<String, String> more) throws IOException {
        Map<String, String> settings = new HashMap<>(more);
        settings.put("MODE", "power");
        settings.put("AT", Long.toString(cut.operation));
        settings.put("KEEP", cut.keep);
        settings.put("SEED", Long.toString(Math.floorMod(plan.seed() + cut.operation, 1_000_000)));
        Life life = new VictimJvm(place, session).shim(plan.shim(), settings).run();
        if (!life.killed() && !life.finished()) {
            return Verdict.mix("the victim ended by itself with " + life.status() + ": " + life.lines());
        }
        return place.judge(session, life.acknowledged(), Math.min(life.acknowledged() + 1, Script.TURNS));
    }
}

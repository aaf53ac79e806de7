package dev.crab.samples.store;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.SandboxSession;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** This JVM opens the session again and again while the victim works in it: it must be refused each time, and change nothing. */
final class TwoRow implements Row {
    private static final int RUNS = 12;

    @Override
    public void run(Plan plan, Tally tally) {
        Random random = plan.random(tally.row());
        int runs = plan.limit() == 0 ? RUNS : Math.min(RUNS, plan.limit());
        List<Long> seeds = random.longs(runs).boxed().toList();
        plan.each(tally, seeds, (place, session, seed) -> race(tally, place, session, new Random(seed)));
        tally.note("a point is a whole run; times that the second was refused: " + tally.seen());
    }

    static Verdict race(Tally tally, Place place, String session, Random random) throws IOException {
        AtomicBoolean working = new AtomicBoolean();
        Intruder intruder = new Intruder(tally, place, session, random, working);
        Thread thread = new Thread(intruder, "intruder");
        Life life = new VictimJvm(place, session)
                .property(Victim.ONCE, "true")
                .listener((line, process) -> {
                    if (line.startsWith("opened")) {
                        working.set(true);
                        thread.start();
                    } else if (line.startsWith("committed " + Script.TURNS)) {
                        working.set(false);
                    }
                })
                .run();
        working.set(false);
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
        String wrong = intruder.wrong;
        if (wrong != null || !life.finished()) {
            return Verdict.mix(wrong != null ? wrong : "the victim did not get to its end: " + life.lines());
        }
        return place.judge(session, Script.TURNS, Script.TURNS);
    }

    /** The second writer. */
    private static final class Intruder implements Runnable {
        private final Tally tally;
        private final Place place;
        private final String session;
        private final Random random;
        private final AtomicBoolean working;
        private volatile @Nullable String wrong;

        Intruder(Tally tally, Place place, String session, Random random, AtomicBoolean working) {
            this.tally = tally;
            this.place = place;
            this.session = session;
            this.random = random;
            this.working = working;
        }

        @Override
        public void run() {
            CrabRuntime runtime = place.runtime();
            while (working.get()) {
                try (SandboxSession opened = runtime.open(session, Victim.spec(place.image()))) {
                    if (working.get()) {
                        wrong = "a second writer has opened " + opened.id();
                    }
                    return;
                } catch (CrabException e) {
                    tally.saw(e.code().name());
                    if (e.code() != ErrorCode.SESSION_LOCKED) {
                        wrong = "refused with another code: " + e;
                        return;
                    }
                }
                pause(random.nextInt(40));
            }
        }

        private static void pause(long millis) {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}

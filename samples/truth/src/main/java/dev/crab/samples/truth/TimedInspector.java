package dev.crab.samples.truth;

import dev.crab.runtime.inspector.InspectionTarget;
import dev.crab.runtime.inspector.TurnEffects;
import dev.crab.runtime.inspector.TurnInspector;

/** Takes the time of another inspector's judgements. For one sandbox at a time; not thread-safe. */
final class TimedInspector implements TurnInspector {
    private final TurnInspector inspector;
    private boolean inTurn;
    private long nanos;

    TimedInspector(TurnInspector inspector) {
        this.inspector = inspector;
    }

    /** How long the judgement at the end of the last turn took; further ones, under the freeze, do not count. */
    long nanos() {
        return nanos;
    }

    @Override
    public String tier() {
        return inspector.tier();
    }

    @Override
    public Watch watch(InspectionTarget target) {
        Watch watch = inspector.watch(target);
        return new Watch() {
            @Override
            public void begin() {
                watch.begin();
                inTurn = true;
            }

            @Override
            public TurnEffects judge() {
                long start = System.nanoTime();
                TurnEffects effects = watch.judge();
                if (inTurn) {
                    nanos = System.nanoTime() - start;
                    inTurn = false;
                }
                return effects;
            }

            @Override
            public void rebase() {
                watch.rebase();
            }

            @Override
            public void close() {
                watch.close();
            }
        };
    }

    @Override
    public void close() {
        inspector.close();
    }
}

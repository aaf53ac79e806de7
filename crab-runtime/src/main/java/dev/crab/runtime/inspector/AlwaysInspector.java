package dev.crab.runtime.inspector;

import java.util.List;

/**
 * The tier that sees nothing and so saves everything, every turn: for hosts that refuse the inspector's programs. Thread-safe.
 */
public final class AlwaysInspector implements TurnInspector {
    /** Stable name of this tier. */
    public static final String TIER = "always";

    private static final TurnEffects EFFECTS =
            TurnEffects.of(List.of(new EffectReason("not-inspected", Effect.FULL, List.of("tier " + TIER))));

    /** The target is not looked at. */
    @Override
    public Watch watch(InspectionTarget target) {
        return new Watch() {
            @Override
            public void begin() {}

            @Override
            public TurnEffects judge() {
                return EFFECTS;
            }

            @Override
            public void rebase() {}

            @Override
            public void close() {}
        };
    }

    @Override
    public String tier() {
        return TIER;
    }

    @Override
    public void close() {}
}

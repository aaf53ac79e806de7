package dev.crab.runtime.inspector;

import java.util.List;

/**
 * The inspector's judgement of a turn.
 *
 * @param effect the union of all reasons' effects
 * @param reasons every rule that held, in the order in which they were tried. With {@link Effect#NONE} they say at most what was ignored
 */
public record TurnEffects(Effect effect, List<EffectReason> reasons) {
    public TurnEffects {
        reasons = List.copyOf(reasons);
    }

    public static TurnEffects of(List<EffectReason> reasons) {
        return new TurnEffects(reasons.stream().map(EffectReason::effect).reduce(Effect.NONE, Effect::and), reasons);
    }
}

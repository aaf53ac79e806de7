package dev.crab.samples.truth;

import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.inspector.TurnEffects;
import org.jspecify.annotations.Nullable;

/**
 * A turn with what it really did and what the inspector said of it.
 *
 * @param category what sort of turn it is, for the report's tables
 * @param name the kind's name, or the program of a random turn
 * @param fileSystem what the writable layer lay on
 * @param declared what its author says it does, where one did
 * @param truth what the oracle found
 * @param judgement what the inspector said when the turn had ended
 * @param heldJudgement what it said again under the freeze; asked only where the first lacks something
 * @param nanos from the start of the turn to the end of everything the harness did about it
 */
record LabelledTurn(
        String category,
        String name,
        Ground.Type fileSystem,
        @Nullable Effect declared,
        Truth truth,
        TurnEffects judgement,
        @Nullable TurnEffects heldJudgement,
        long nanos) {
    LabelledTurn declaredAs(Effect effect) {
        return new LabelledTurn(category, name, fileSystem, effect, truth, judgement, heldJudgement, nanos);
    }

    /** The same turn with what was found out at last. */
    LabelledTurn observed(@Nullable TurnEffects held, long duration) {
        return new LabelledTurn(category, name, fileSystem, declared, truth, judgement, held, duration);
    }

    /** The same turn by what the inspector said under the freeze: fair where survivors run by themselves. */
    LabelledTurn judgedUnderFreeze() {
        TurnEffects last = heldJudgement == null ? judgement : heldJudgement;
        return new LabelledTurn(category, name, fileSystem, declared, truth, last, heldJudgement, nanos);
    }

    /** Components of the truth that the judgement lacks. */
    Effect missed() {
        return minus(truth.effect(), judgement.effect());
    }

    /** Components of the judgement that are not true. */
    Effect falselyClaimed() {
        return minus(judgement.effect(), truth.effect());
    }

    boolean isMiss() {
        return missed() != Effect.NONE;
    }

    /**
     * Whether what the judgement lacks came after it: a process that runs by itself may do something between the judgement and the freeze
     * for the oracle. The inspector then says so when it is asked again.
     */
    boolean isLate() {
        return heldJudgement != null && minus(truth.effect(), heldJudgement.effect()) == Effect.NONE;
    }

    /** Whether author and oracle disagree, so that one of them is wrong. */
    boolean isDisputed() {
        return declared != null && declared != truth.effect();
    }

    private static Effect minus(Effect some, Effect others) {
        return Effect.of(some.files() && !others.files(), some.processes() && !others.processes());
    }
}

package dev.crab.samples.truth;

/**
 * A turn of a recorded session with its labels.
 *
 * @param recording the session's id
 * @param labelled by the judgement that counts: the one under the freeze where the turn is late
 * @param late whether what the first judgement lacks came after it, by a process that runs by itself
 * @param judgeNanos how long the first judgement took
 */
record RecordedTurn(String recording, LabelledTurn labelled, boolean late, long judgeNanos) {
    static RecordedTurn of(String recording, LabelledTurn turn, long judgeNanos) {
        boolean late = turn.isMiss() && turn.isLate();
        return new RecordedTurn(recording, late ? turn.judgedUnderFreeze() : turn, late, judgeNanos);
    }
}

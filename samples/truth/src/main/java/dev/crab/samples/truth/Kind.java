package dev.crab.samples.truth;

import dev.crab.runtime.inspector.Effect;

/**
 * A hand-written turn and what it does.
 *
 * @param category the section of the catalogue that it stands in
 * @param name unique in the catalogue
 * @param truth what its author says it does; the oracle has to agree
 * @param restless whether survivors run by themselves, so that they may do something between the judgement and the freeze
 * @param before bash that makes the state it starts from
 * @param turn bash that is the turn
 */
record Kind(String category, String name, Effect truth, boolean restless, String before, String turn) {}

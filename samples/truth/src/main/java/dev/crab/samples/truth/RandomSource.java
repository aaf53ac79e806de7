package dev.crab.samples.truth;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Random turns. Each starts from what the ones before it left; every so often the {@link Scene} is set anew. */
final class RandomSource implements TurnSource {
    static final String CATEGORY = "random";

    private static final int TURNS_PER_SCENE = 40;
    private static final int ATTEMPTS = 250;

    private final long seed;
    private final int turns;
    private final Consumer<String> shrunk;

    /** An operation, and whether it belongs to the turn that fails or to one before it. */
    private record Step(boolean inTurn, String operation) {}

    /**
     * A source of that many turns.
     *
     * @param seed determines them
     * @param shrunk gets the smallest program found for each miss
     */
    RandomSource(long seed, int turns, Consumer<String> shrunk) {
        this.seed = seed;
        this.turns = turns;
        this.shrunk = shrunk;
    }

    @Override
    public void run(Harness harness, Consumer<LabelledTurn> labelled) throws IOException {
        Generator generator = new Generator(seed);
        List<Step> played = new ArrayList<>();
        for (int i = 0; i < turns; i++) {
            if (i % TURNS_PER_SCENE == 0) {
                harness.prepare(() -> Scene.set(harness.arena()));
                played.clear();
            }
            List<String> program = generator.program();
            LabelledTurn turn = observe(harness, program);
            labelled.accept(turn);
            if (turn.isMiss()) {
                shrunk.accept(shrink(harness, turn, played, program));
                harness.prepare(() -> Scene.set(harness.arena()));
                played.clear();
            } else {
                program.forEach(operation -> played.add(new Step(false, operation)));
            }
        }
    }

    private static LabelledTurn observe(Harness harness, List<String> program) throws IOException {
        return harness.observe(
                CATEGORY, String.join("; ", program), () -> harness.arena().puppet(Scene.DIRECTORY, program));
    }

    private String shrink(Harness harness, LabelledTurn turn, List<Step> played, List<String> program)
            throws IOException {
        List<Step> steps = new ArrayList<>(played);
        program.forEach(operation -> steps.add(new Step(true, operation)));
        String heading = "- seed " + seed + ", " + turn.fileSystem().label() + ": ";
        if (!misses(harness, steps)) {
            return heading + "not shown again by " + turn.name();
        }
        List<Step> smallest = Shrinker.shrink(steps, some -> misses(harness, some), ATTEMPTS);
        return heading + "before: " + operations(smallest, false) + "; turn: " + operations(smallest, true);
    }

    private static boolean misses(Harness harness, List<Step> steps) throws IOException {
        List<String> before = operations(steps, false);
        harness.prepare(() -> {
            Scene.set(harness.arena());
            if (!before.isEmpty()) {
                harness.arena().puppet(Scene.DIRECTORY, before);
            }
        });
        return observe(harness, operations(steps, true)).isMiss();
    }

    private static List<String> operations(List<Step> steps, boolean inTurn) {
        return steps.stream()
                .filter(step -> step.inTurn() == inTurn)
                .map(Step::operation)
                .toList();
    }
}

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

    /** An operation, and the number of the program that it belongs to: since the scene was set, the last of them being the turn. */
    private record Step(int program, String operation) {}

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
            int number = i;
            List<String> program = generator.program();
            LabelledTurn turn = observe(harness, program);
            labelled.accept(turn);
            if (turn.isMiss()) {
                shrunk.accept(shrink(harness, turn, played, number, program));
                harness.prepare(() -> Scene.set(harness.arena()));
                played.clear();
            } else {
                program.forEach(operation -> played.add(new Step(number, operation)));
            }
        }
    }

    private static LabelledTurn observe(Harness harness, List<String> program) throws IOException {
        return harness.observe(
                CATEGORY, String.join("; ", program), () -> harness.arena().puppet(Scene.DIRECTORY, program));
    }

    private String shrink(Harness harness, LabelledTurn turn, List<Step> played, int number, List<String> program)
            throws IOException {
        List<Step> steps = new ArrayList<>(played);
        program.forEach(operation -> steps.add(new Step(number, operation)));
        String heading = "- seed " + seed + ", " + turn.fileSystem().label() + ": ";
        if (!misses(harness, steps, number)) {
            return heading + "not shown again by " + turn.name();
        }
        List<Step> smallest = Shrinker.shrink(steps, some -> misses(harness, some, number), ATTEMPTS);
        return heading + "before: " + before(smallest, number) + "; turn: " + operations(smallest, number);
    }

    private static boolean misses(Harness harness, List<Step> steps, int number) throws IOException {
        harness.prepare(() -> {
            Scene.set(harness.arena());
            before(steps, number).forEach(program -> harness.arena().puppet(Scene.DIRECTORY, program));
        });
        return observe(harness, operations(steps, number)).isMiss();
    }

    /** The programs before the turn, each to be run by a process of its own as it was. */
    private static List<List<String>> before(List<Step> steps, int number) {
        return steps.stream()
                .map(Step::program)
                .filter(program -> program != number)
                .distinct()
                .map(program -> operations(steps, program))
                .toList();
    }

    private static List<String> operations(List<Step> steps, int program) {
        return steps.stream()
                .filter(step -> step.program() == program)
                .map(Step::operation)
                .toList();
    }
}

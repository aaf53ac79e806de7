package dev.crab.samples.truth;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ShrinkerTest {
    private static final List<Integer> STEPS = IntStream.range(0, 100).boxed().toList();

    @Test
    void shrink_leavesWhatIsNeeded() throws IOException {
        assertThat(Shrinker.shrink(STEPS, some -> some.containsAll(List.of(3, 50, 51)), 1000))
                .containsExactly(3, 50, 51);
    }

    @Test
    void shrink_ofWhatNeedsNothing_isEmpty() throws IOException {
        assertThat(Shrinker.shrink(STEPS, some -> true, 1000)).isEmpty();
    }

    @Test
    void shrink_endsWithItsAttempts() throws IOException {
        int[] asked = {0};
        List<Integer> left = Shrinker.shrink(
                STEPS,
                some -> {
                    asked[0]++;
                    return some.containsAll(STEPS.subList(0, 90));
                },
                10);
        assertThat(asked[0]).isEqualTo(10);
        assertThat(left).containsAll(STEPS.subList(0, 90));
    }
}

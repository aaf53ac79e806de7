package dev.crab.samples.truth;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class GeneratorTest {
    private static List<List<String>> programs(long seed, int count) {
        Generator generator = new Generator(seed);
        return Stream.generate(generator::program).limit(count).toList();
    }

    @Test
    void sameSeed_makesTheSamePrograms() {
        assertThat(programs(5, 200)).isEqualTo(programs(5, 200));
    }

    @Test
    void anotherSeed_makesOthers() {
        assertThat(programs(5, 20)).isNotEqualTo(programs(6, 20));
    }

    @Test
    void programs_useManyOperations() {
        Set<String> names = programs(1, 2000).stream()
                .flatMap(List::stream)
                .map(operation -> operation.replaceFirst("^@. ", "").split(" ", 2)[0])
                .collect(Collectors.toSet());
        assertThat(names).hasSizeGreaterThan(60);
    }
}

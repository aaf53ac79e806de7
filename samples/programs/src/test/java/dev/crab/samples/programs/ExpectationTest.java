package dev.crab.samples.programs;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExpectationTest {
    @ParameterizedTest
    @CsvSource({
        "{n}, 4",
        "value-{n}-377, value-4-377",
        "{3n+1} of {101n-100}, 13 of 304",
        "'{({2n}, {6n})}', '{(8, 24)}'",
        "nothing {x} to {} see, nothing {x} to {} see"
    })
    void numbers_followFromTheCycle(String template, String expected) {
        assertThat(Expectation.of(template, 4)).isEqualTo(expected);
    }
}

package dev.crab.samples.programs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.SandboxSpec;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three programs that need no more than Crab's own image, and whether what judges them can be content with less than it should. */
class TrialTest {
    private static final List<String> CHEAP = List.of("dict-server", "pipe-buffer", "posix-shm");
    private static final String SLEEPER = "pkill -x sleep || true; setsid sleep 1000 > /dev/null 2>&1 < /dev/null &";

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    @Test
    void programs_comeThroughTwoCycles(@TempDir Path directory) {
        Path json = directory.resolve("result.json");
        assertThat(run("--cycles", "2", "--json", json.toString()))
                .as(out.toString(StandardCharsets.UTF_8))
                .isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("2/2", "3 programs: 3 ok", "0 failed");
        assertThat(json).content().contains("\"verdict\" : \"OK\"", "\"restoreMillis\"");
    }

    @Test
    void probes_noticeARestart() {
        assertThat(run("--restart")).as(out.toString(StandardCharsets.UTF_8)).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("3 programs: 3 probes notice, 0 failed");
    }

    @Test
    void probe_thatDoesNotNoticeARestart_isRefused() {
        try (CrabRuntime runtime = CrabRuntime.builder().build()) {
            Trial trial = new Trial(runtime, SandboxSpec.defaults(), program(SLEEPER, "pgrep -c -x sleep", "1", null));
            assertThatExceptionOfType(TrialFailure.class)
                    .isThrownBy(trial::restart)
                    .withMessageContaining("restart");
        }
    }

    @Test
    void cycle_withAWrongAnswerOrWithoutADump_fails() {
        try (CrabRuntime runtime = CrabRuntime.builder().build()) {
            Row wrong = new Trial(runtime, SandboxSpec.defaults(), program(SLEEPER, "pgrep -c -x sleep", "{n+1}", null))
                    .cycles(2);
            assertThat(wrong.verdict()).isEqualTo(Row.Verdict.FAILED);
            assertThat(wrong.problem()).contains("\"1\" instead of \"2\"");

            Row nothing = new Trial(runtime, SandboxSpec.defaults(), program("true", "echo 1", "1", null)).cycles(1);
            assertThat(nothing.verdict()).isEqualTo(Row.Verdict.FAILED);
            assertThat(nothing.problem()).contains("saved was FILES");
            assertThat(runtime.sessions()).noneMatch(session -> session.startsWith("programs-test-"));
        }
    }

    static Program program(String start, String probe, String expect, @Nullable Limit limit) {
        return new Program(
                "test",
                "nothing",
                List.of(),
                List.of(),
                List.of(),
                List.of(start),
                List.of("true"),
                List.of(),
                List.of(probe),
                List.of(expect),
                List.of(),
                List.of(),
                false,
                limit);
    }

    private int run(String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.add("--only");
        all.addAll(CHEAP);
        return ProvePrograms.run(
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(out, true, StandardCharsets.UTF_8),
                all.toArray(String[]::new));
    }
}

package dev.crab.samples.programs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
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
    void programs_goBackAndOnInBranchesOfTheirOwn(@TempDir Path directory) {
        Path json = directory.resolve("result.json");
        assertThat(run("--branches", "8", "--json", json.toString()))
                .as(out.toString(StandardCharsets.UTF_8))
                .isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("8/8", "diverged", "3 programs: 3 ok", "0 failed");
        assertThat(json).content().contains("\"passed\" : 8", "\"branchMillis\"", "\"memoryDiverged\" : true");
    }

    @Test
    void branch_thatAnswersLikeAFreshStartOrLikeAnother_fails() {
        try (CrabRuntime runtime = CrabRuntime.builder().build()) {
            BranchRow afresh = new BranchTrial(
                            runtime, SandboxSpec.defaults(), program(SLEEPER, "pgrep -c -x sleep", "1", null))
                    .branches(2);
            assertThat(afresh.verdict()).isEqualTo(Result.Verdict.FAILED);
            assertThat(afresh.passedBranches()).isEqualTo(2);
            assertThat(afresh.problem()).contains("restart");

            // It says what it is asked for, and so knows nothing.
            BranchRow echo = new BranchTrial(runtime, SandboxSpec.defaults(), program(SLEEPER, "echo $n", "{n}", null))
                    .branches(2);
            assertThat(echo.verdict()).isEqualTo(Result.Verdict.FAILED);
            assertThat(echo.problem()).contains("answers as another one should");

            BranchRow wrong = new BranchTrial(
                            runtime, SandboxSpec.defaults(), program(SLEEPER, "pgrep -c -x sleep", "{n}", null))
                    .branches(2);
            assertThat(wrong.verdict()).isEqualTo(Result.Verdict.FAILED);
            assertThat(wrong.problem()).contains("\"1\" instead of \"2\"");
            assertThat(runtime.sessions()).noneMatch(session -> session.startsWith("programs-test-"));
        }
    }

    @Test
    void marks_ofAnother_areSeen() {
        try (CrabRuntime runtime = CrabRuntime.builder().build()) {
            SandboxSession session = runtime.open("programs-test-marks", SandboxSpec.defaults());
            try (session) {
                Marks.requireNone(session.sandbox());
                Marks.make(session.sandbox(), "own");
                Marks.requireOwn(session.sandbox(), "own");
                assertThatExceptionOfType(TrialFailure.class)
                        .isThrownBy(() -> Marks.requireOwn(session.sandbox(), "other"));
                session.sandbox().writeFile("/srv/mark-other", "other");
                assertThatExceptionOfType(TrialFailure.class)
                        .isThrownBy(() -> Marks.requireOwn(session.sandbox(), "own"));
                Commands.run(session.sandbox(), "rm mark-*", 0);
                assertThatExceptionOfType(TrialFailure.class)
                        .isThrownBy(() -> Marks.requireNone(session.sandbox()))
                        .withMessageContaining("own");
            } finally {
                runtime.delete("programs-test-marks");
            }
        }
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

package dev.crab.samples.programs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RowTest {
    private static final Limit DECLARED = new Limit(ErrorCode.CAPTURE_FAILED, "a lock", "why");

    @Test
    void refusal_thatIsDeclared_isALimit() {
        Row row = row(DECLARED);
        row.refused(refusal(ErrorCode.CAPTURE_FAILED, "it holds a lock"));
        assertThat(row.verdict()).isEqualTo(Row.Verdict.LIMIT);
        assertThat(Report.line(row, 2)).contains("0/2", "limit: CAPTURE_FAILED", "why");
    }

    @Test
    void refusal_ofAnotherKind_isAFailure() {
        for (CrabException other : List.of(
                refusal(ErrorCode.CAPTURE_FAILED, "something else"), refusal(ErrorCode.RESTORE_FAILED, "a lock"))) {
            Row row = row(DECLARED);
            row.refused(other);
            assertThat(row.verdict()).isEqualTo(Row.Verdict.FAILED);
        }
    }

    @Test
    void refusal_thatIsNotDeclared_isAFailure() {
        Row row = row(null);
        row.refused(refusal(ErrorCode.CAPTURE_FAILED, "a lock"));
        assertThat(row.verdict()).isEqualTo(Row.Verdict.FAILED);
        assertThat(Report.summary(List.of(row))).endsWith("1 failed");
    }

    @Test
    void wrongAnswer_isAFailureWhateverIsDeclared() {
        Row row = row(DECLARED);
        row.failed("the probe answers nothing about a lock");
        assertThat(row.verdict()).isEqualTo(Row.Verdict.FAILED);
    }

    @Test
    void limit_thatDidNotShow_isSaid() {
        Row row = row(DECLARED);
        assertThat(row.verdict()).isEqualTo(Row.Verdict.LIMIT_GONE);
        assertThat(Report.line(row, 2)).contains("although");
        assertThat(Report.summary(List.of(row))).contains("1 ok although declared a limit", "0 failed");
    }

    private static CrabException refusal(ErrorCode code, String why) {
        return CrabException.of(code, "what", why, "cure");
    }

    private static Row row(@Nullable Limit limit) {
        return new Row(TrialTest.program("true", "echo", "", limit));
    }
}

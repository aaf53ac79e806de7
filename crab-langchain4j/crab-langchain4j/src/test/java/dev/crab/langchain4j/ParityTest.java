package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.langchain4j.ParityCases.Case;
import dev.crab.runtime.CrabConfig;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What LangChain4j's own tests of AI services with tools are about, each run three times: Crab switched off, on the class path without a
 * session, and in a session. A program sees the same, to the letter.
 */
class ParityTest {
    private static final String SESSION = "parity";

    @TempDir
    Path data;

    private @Nullable DirectorySession session;

    static List<Case> cases() {
        return ParityCases.all();
    }

    @AfterEach
    void close() {
        Crab.close();
    }

    private static List<String> run(Case one) {
        ParityObservation seen = new ParityObservation();
        try {
            one.work().run(seen);
        } catch (Exception e) {
            seen.failed(e);
        }
        return seen.lines();
    }

    private List<String> inSession(Case one) {
        Crab.configure(CrabOptions.builder()
                .opener((id, spec) -> {
                    DirectorySession opened = DirectorySession.open(data, id);
                    session = opened;
                    return opened;
                })
                .build());
        try (CrabSession scope = Crab.session(SESSION)) {
            List<String> seen = run(one);
            assertThat(scope.reports().stream().filter(report -> !report.committed()))
                    .isEmpty();
            return seen;
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void aiService_withCrabAndWithout_comesToTheSame(Case one) {
        Crab.configure(CrabOptions.builder().set(CrabConfig.ENABLED, "false").build());
        List<String> off = run(one);
        Crab.close();

        assertThat(run(one)).as("on the class path").isEqualTo(off);
        assertThat(session).isNull();
        Crab.close();

        assertThat(inSession(one)).as("in a session").isEqualTo(off);
        assertThat(session).isNotNull();
        assertThat(off).as("something came of it").anyMatch(line -> line.matches("(?s)(answer|failure) .+"));
    }
}

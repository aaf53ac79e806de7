package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page in a real browser. */
class ReportPageTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    Path directory;

    @Test
    void page_drawsEveryChart_andAsksNobodyForAnything() throws Exception {
        String page = ReportPage.of(found());
        assertThat(page).doesNotContain("/*CHART*/").doesNotContain("/*DATA*/");

        Browser.Seen seen = Browser.open(directory, page);

        seen.drewEveryChart(8);
        assertThat(seen.page().path("rows").asInt()).isEqualTo(8);
        seen.askedNobody();
    }

    @Test
    void page_ofNothing_drawsNothing() throws Exception {
        Browser.Seen seen = Browser.open(directory, ReportPage.of(new Results(List.of("crab")).json()));

        assertThat(seen.page().path("charts"))
                .allSatisfy(
                        chart -> assertThat(chart.path("visible").asBoolean()).isFalse());
    }

    @Test
    void aPageThatAsksForSomething_isNoticed() throws Exception {
        Browser.Seen seen = Browser.open(directory, "<body><img src='http://pictures.example/bird.png'></body>");

        assertThat(seen.asked()).containsExactly("http://pictures.example/bird.png");
    }

    private static ObjectNode found() {
        Results results = new Results(List.of("none", "crab"));
        results.circumstance("speed", 1.0);
        for (String policy : List.of("none", "crab")) {
            TurnRow row = policy.equals("none")
                    ? TurnRow.unsaved(1, 3_000_000_000L)
                    : new TurnRow(
                            1,
                            "FULL",
                            "PROCESSES_AND_FILES",
                            70_000,
                            500_000,
                            3_000_000_000L,
                            30_000_000,
                            20_000_000,
                            40_000_000,
                            9_000_000);
            results.addMeasured(List.of(new Measured(
                    policy,
                    "one",
                    "service",
                    1,
                    0,
                    3_100_000_000L,
                    3_000_000_000L,
                    List.of(row),
                    50_000_000,
                    9_000_000,
                    90_000_000,
                    30_000_000,
                    0.25)));
            results.addCrashes(List.of(new Crash(
                    policy,
                    "one",
                    "service",
                    "every",
                    CrashKind.BOUNDARY,
                    1,
                    1,
                    policy.equals("none") ? 0 : 1,
                    List.of("</script>"),
                    List.of(),
                    List.of(),
                    List.of(),
                    "",
                    false,
                    300,
                    900,
                    "")));
        }
        return results.json();
    }
}

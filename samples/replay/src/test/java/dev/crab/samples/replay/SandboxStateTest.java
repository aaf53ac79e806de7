package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.samples.replay.SandboxState.Differences;
import dev.crab.samples.replay.SandboxState.Entry;
import dev.crab.samples.replay.SandboxState.Task;
import dev.crab.samples.replay.SandboxState.Times;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class SandboxStateTest {
    private static final long BOUNDARY = 1000;
    private static final long OPENED = 5000;
    private static final Task INIT = new Task("parent 0: init", 0, 1);
    private static final Task SERVICE = new Task("parent 1: service", 1, 2);

    private static SandboxState state(Map<String, Entry> files, Map<Integer, Task> tasks) {
        return new SandboxState(new TreeMap<>(files), new TreeMap<>(tasks));
    }

    private static Differences compare(SandboxState then, SandboxState later, SandboxState back) {
        return then.differences(later, BOUNDARY, back, OPENED, Times.ALL);
    }

    @Test
    void sameFilesWithNewInodes_differInNothing() {
        SandboxState then = state(Map.of("a", new Entry("file x", 10, 10)), Map.of(1, INIT));
        SandboxState back = state(Map.of("a", new Entry("file x", 10, 6000)), Map.of(1, INIT));

        assertThat(compare(then, then, back)).isEqualTo(Differences.NONE);
    }

    @Test
    void otherContent_otherTime_missingAndNewFiles_areWrong() {
        SandboxState then = state(
                Map.of(
                        "content", new Entry("file x", 10, 10),
                        "time", new Entry("file x", 10, 10),
                        "gone", new Entry("file x", 10, 10)),
                Map.of(1, INIT));
        SandboxState back = state(
                Map.of(
                        "content", new Entry("file y", 10, 6000),
                        "time", new Entry("file x", 11, 6000),
                        "new", new Entry("file x", 6000, 6000)),
                Map.of(1, INIT));

        assertThat(compare(then, then, back).wrong()).hasSize(4);
        assertThat(then.differences(then, BOUNDARY, back, OPENED, Times.NONE).wrong())
                .as("without times")
                .hasSize(3);
    }

    @Test
    void whatASurvivorWroteAfterTheBoundary_onlyMoved() {
        SandboxState then = state(
                Map.of("log", new Entry("file 7 lines", 1500, 1500), "kept", new Entry("file x", 10, 10)),
                Map.of(1, INIT, 9, SERVICE));
        SandboxState back = state(
                Map.of("log", new Entry("file 6 lines", 900, 6000), "kept", new Entry("file y", 10, 6000)),
                Map.of(1, INIT, 9, SERVICE));

        Differences differences = compare(then, then, back);

        assertThat(differences.moved()).singleElement().asString().startsWith("log");
        assertThat(differences.wrong()).singleElement().asString().startsWith("kept");
    }

    @Test
    void withoutASurvivor_nothingMovesByItself() {
        SandboxState then = state(Map.of("log", new Entry("file 7 lines", 1500, 1500)), Map.of(1, INIT));
        SandboxState back = state(Map.of("log", new Entry("file 6 lines", 900, 6000)), Map.of(1, INIT));

        assertThat(compare(then, then, back).wrong()).hasSize(1);
    }

    @Test
    void aLostService_isWrong_butNotAShortLivedChildOfOne() {
        Task nap = new Task("parent 9: sleep 1", 9, 3);
        SandboxState then = state(Map.of(), Map.of(1, INIT, 9, SERVICE, 20, nap));
        SandboxState later = state(Map.of(), Map.of(1, INIT, 9, SERVICE, 21, nap));

        assertThat(compare(then, later, state(Map.of(), Map.of(1, INIT))).wrong())
                .anySatisfy(line -> assertThat(line).startsWith("process 9"));
        assertThat(compare(then, later, state(Map.of(), Map.of(1, INIT, 9, SERVICE, 30, nap)))
                        .wrong())
                .isEmpty();
        assertThat(compare(then, then, state(Map.of(), Map.of(1, INIT, 9, SERVICE)))
                        .wrong())
                .as("a child that would have stayed")
                .hasSize(1);
    }

    @Test
    void aBuildThatGoesOn_hasOtherCompilersDeepBelowIt_butMustNotLoseThemAll() {
        Task make = new Task("parent 1: make", 1, 2);
        Task shell = new Task("parent 9: sh", 9, 3);
        Task otherShell = new Task("parent 9: sh b", 9, 4);
        Task compiler = new Task("parent 20: cc1 a.c", 20, 3);
        Task otherCompiler = new Task("parent 30: cc1 b.c", 30, 4);
        SandboxState then = state(Map.of(), Map.of(1, INIT, 9, make, 20, shell, 21, compiler));
        SandboxState later = state(Map.of(), Map.of(1, INIT, 9, make, 20, shell));
        SandboxState back = state(Map.of(), Map.of(1, INIT, 9, make, 30, otherShell, 31, otherCompiler));

        assertThat(compare(then, then, back).wrong()).isEmpty();
        assertThat(compare(then, later, state(Map.of(), Map.of(1, INIT, 9, make)))
                        .wrong())
                .as("reaped while it was watched")
                .isEmpty();
        assertThat(compare(then, then, state(Map.of(), Map.of(1, INIT, 9, make)))
                        .wrong())
                .as("nobody was seen to reap them")
                .hasSize(2);
        assertThat(compare(then, then, state(Map.of(), Map.of(1, INIT, 40, make, 50, new Task("parent 40: sh", 40, 3))))
                        .wrong())
                .as("another make")
                .hasSize(5);
    }

    @Test
    void timesThatPodmansArchivesHave_areThoseOfFilesInSeconds() {
        SandboxState then = state(
                Map.of(
                        "file", new Entry("100644 0:0 1 x", 5_200_000_000L, 0),
                        "directory", new Entry("40755 0:0", 5_200_000_000L, 0)),
                Map.of());
        SandboxState back = state(
                Map.of(
                        "file", new Entry("100644 0:0 1 x", 5_000_000_000L, 0),
                        "directory", new Entry("40755 0:0", 7_000_000_000L, 0)),
                Map.of());
        SandboxState later = state(
                Map.of(
                        "file", new Entry("100644 0:0 1 x", 6_000_000_000L, 0),
                        "directory", new Entry("40755 0:0", 5_200_000_000L, 0)),
                Map.of());

        assertThat(then.differences(then, 0, back, 0, Times.ALL).wrong())
                .singleElement()
                .asString()
                .startsWith("file");
        assertThat(then.differences(then, 0, back, 0, Times.ALL).directories())
                .as("where something came and went")
                .singleElement()
                .asString()
                .startsWith("directory");
        assertThat(then.differences(then, 0, back, 0, Times.ARCHIVED).wrong()).isEmpty();
        assertThat(then.differences(then, 0, later, 0, Times.ARCHIVED).wrong())
                .containsExactly("file: modified 1970-01-01T00:00:05.200Z -> 1970-01-01T00:00:06Z");
    }
}

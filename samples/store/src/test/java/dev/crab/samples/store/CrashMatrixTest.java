package dev.crab.samples.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.CrabConfig;
import dev.crab.samples.common.AgentJvm;
import dev.crab.samples.store.Verdict.Kind;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A thin slice of the matrix: some points of each row. */
class CrashMatrixTest {
    private static final ByteArrayOutputStream TOLD = new ByteArrayOutputStream();

    private static Plan plan;
    private static Place place;

    @BeforeAll
    static void open(@TempDir Path work) throws IOException {
        Path image = CrabConfig.resolve().data().resolve("images/debian");
        PrintStream told = new PrintStream(TOLD, true, StandardCharsets.UTF_8);
        plan = new Plan(work, image, Shim.install(work), new AgentJvm(work, Victim.class, true), 7, 1, 1, told);
        place = plan.place("place");
    }

    @AfterAll
    static void close() throws IOException {
        place.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"manifest.renamed@2", "restore.processes@1"})
    void kill(String point) throws IOException {
        assertWhole(KillRow.kill(place, place.nextSession("kill"), point));
    }

    @Test
    void power() throws IOException {
        assertWhole(PowerRow.cut(plan, place, "power", new PowerRow.Cut(99, "some"), Map.of()));
    }

    @Test
    void block() throws IOException {
        try (Plan.Lane<String> lane = BlockRow.lane(plan, "block")) {
            assertWhole(lane.run("commit.before@2"));
        }
    }

    /** The matrix would be worth nothing if it held on a disk that does not flush. */
    @Test
    void power_onADiskThatLies_isAMix() throws IOException {
        PowerRow.Cut cut = new PowerRow.Cut(99, "nothing");
        Verdict verdict = PowerRow.cut(plan, place, "liar", cut, Map.of("LIES", "yes"));
        assertThat(verdict.kind()).as(verdict.detail()).isEqualTo(Kind.MIX);
    }

    @ParameterizedTest
    @ValueSource(strings = {"enospc", "eio"})
    void error(String error) throws IOException {
        Tally tally = new Tally(error, "");
        assertWhole(new ErrorRow(error).fail(plan, tally, place, error, new ErrorRow.Failure(101, "on")));
        assertThat(tally.seen()).as("what the victim was refused with").isNotEmpty();
    }

    @Test
    void two() throws IOException {
        Tally tally = new Tally("two", "");
        assertWhole(TwoRow.race(tally, place, "two", new Random(7)));
        assertThat(tally.seen()).containsOnlyKeys("SESSION_LOCKED");
    }

    @Test
    void clock() throws IOException {
        assertWhole(ClockRow.jump(plan, place, "clock", 6, 7));
    }

    @ParameterizedTest
    @ValueSource(strings = {"flip", "gc"})
    void row(String name) throws IOException {
        Tally tally = new Tally(name, "");
        ProveStore.row(name).run(plan, tally);
        assertThat(tally.points()).isPositive();
        assertThat(tally.mixes()).as(TOLD.toString(StandardCharsets.UTF_8)).isEmpty();
    }

    private static void assertWhole(Verdict verdict) {
        assertThat(verdict.kind()).as(verdict.detail()).isEqualTo(Kind.WHOLE);
    }
}

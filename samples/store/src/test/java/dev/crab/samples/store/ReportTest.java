package dev.crab.samples.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a later run takes over from an earlier one's file. */
class ReportTest {
    @TempDir
    private Path directory;

    @Test
    void rowsWithoutAMix_areTakenOverAsTheyWere() throws IOException {
        Tally whole = new Tally("kill", "./crab prove store --points 2");
        whole.add("a@1", Verdict.whole(3));
        whole.add("b@1", Verdict.refused("JOURNAL_CORRUPT"));
        whole.saw("DISK_FULL");
        whole.note("2 of 9");
        Tally mixed = new Tally("power", "./crab prove store");
        mixed.add("operation 1", Verdict.mix("two turns"));
        new Report(7, List.of(whole, mixed)).json(directory.resolve("json"));

        List<Tally> done = Report.done(directory.resolve("json"), 7);

        assertThat(done).singleElement().satisfies(row -> assertThat(row.json()).isEqualTo(whole.json()));
    }

    @Test
    void fileOfAnotherSeed_isRefused() throws IOException {
        new Report(7, List.of()).json(directory.resolve("json"));
        assertThatThrownBy(() -> Report.done(directory.resolve("json"), 8))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("another seed");
    }

    @Test
    void noFileYet_isNothingDone() throws IOException {
        assertThat(Report.done(directory.resolve("json"), 7)).isEmpty();
    }
}

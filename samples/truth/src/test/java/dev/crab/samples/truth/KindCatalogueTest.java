package dev.crab.samples.truth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.inspector.Effect;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class KindCatalogueTest {
    @Test
    void catalogue_hasKindsOfEveryTruth() throws IOException {
        assertThat(KindCatalogue.load()).hasSizeGreaterThan(150);
        assertThat(KindCatalogue.load()).extracting(Kind::truth).contains(Effect.values());
    }

    @Test
    void lines_areBeforeAndTurn() {
        assertThat(KindCatalogue.parse("# comment\n= c\nname FULL restless\n  - a\n  - b\n  > t\nother NONE\n  > u"))
                .containsExactly(
                        new Kind("c", "name", Effect.FULL, true, "a\nb\n", "t\n"),
                        new Kind("c", "other", Effect.NONE, false, "", "u\n"));
    }

    @Test
    void kindWithoutTurnOrWithAnUsedName_isRefused() {
        assertThatThrownBy(() -> KindCatalogue.parse("name FULL\n  - a")).hasMessageContaining("no turn");
        assertThatThrownBy(() -> KindCatalogue.parse("name FULL\n  > a\nname NONE\n  > b"))
                .hasMessageContaining("a name twice");
    }
}

package dev.crab.overlap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TurnTransitionsTest {
    private static final String INTRODUCTION = """
            # States of a session between two commits

            Drawn from the transition table of `TurnTransitions`; a test fails when the two differ (run it with
            `-Dcrab.docs.write=true` to write this page anew). A transition that is not here is refused.

            """;

    @Test
    void diagram_isTheTable() throws IOException {
        Path page = Path.of("..", "docs", "turn-states.md");
        String drawn = INTRODUCTION + "```mermaid\n" + TurnTransitions.diagram() + "```\n";
        if (Boolean.getBoolean("crab.docs.write")) {
            Files.writeString(page, drawn);
        }
        assertThat(page).hasContent(drawn);
    }

    @Test
    void everyState_isReachableFromQuiet() {
        Set<TurnState> seen = EnumSet.of(TurnState.QUIET);
        boolean grown = true;
        while (grown) {
            Set<TurnState> next = EnumSet.copyOf(seen);
            for (TurnState state : seen) {
                for (TurnEvent event : TurnEvent.values()) {
                    try {
                        next.add(TurnTransitions.next(state, event));
                    } catch (CrabException refused) {
                        assertThat(refused.code())
                                .isEqualTo(state == TurnState.CLOSED ? ErrorCode.STATE_INVALID : ErrorCode.INTERNAL);
                    }
                }
            }
            grown = seen.addAll(next);
        }
        assertThat(seen).containsExactlyInAnyOrder(TurnState.values());
    }

    @Test
    void toolDuringCommit_isRefused() {
        assertThatThrownBy(() -> TurnTransitions.next(TurnState.COMMITTING, TurnEvent.TOOL_STARTS))
                .isInstanceOf(CrabException.class)
                .hasMessageContaining("TOOL_STARTS must not happen while the session is COMMITTING");
    }
}

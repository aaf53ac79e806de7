package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.langchain4j.invocation.InvocationContext;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** By what a call is known again after a crash. */
class InvocationCallTest {
    record Ticket(String id, LocalDate due) {}

    private static String digest(@Nullable Object... arguments) {
        InvocationContext context = InvocationContext.builder()
                .interfaceName("Solver")
                .methodName("solve")
                .methodArguments(Arrays.asList(arguments))
                .chatMemoryId("default")
                .build();
        return InvocationCall.of(context, false).digest();
    }

    private static void areToldApart(Object one, Object same, Object other) {
        assertThat(digest(one)).isEqualTo(digest(same)).isNotEqualTo(digest(other));
    }

    @Test
    void arguments_thatAreNoJson_countByTheirText() {
        LocalDate due = LocalDate.of(2026, 12, 1);
        areToldApart(due, LocalDate.of(2026, 12, 1), due.plusDays(1));
        areToldApart(new Ticket("A", due), new Ticket("A", due), new Ticket("B", due));
        areToldApart(Optional.of("A"), Optional.of("A"), Optional.of("B"));
        areToldApart(
                List.of(new Ticket("A", due)),
                List.of(new Ticket("A", due)),
                List.of(new Ticket("A", due.plusDays(1))));
        areToldApart(Map.of("a", due, "b", due), Map.of("b", due, "a", due), Map.of("a", due, "b", due.plusDays(1)));
    }

    @Test
    void argument_withoutAText_isRefused() {
        assertThatThrownBy(() -> digest("A", new Object()))
                .isInstanceOfSatisfying(
                        CrabException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ErrorCode.CONFIG_INVALID))
                .hasMessageContaining("java.lang.Object")
                .hasMessageContaining("toString");
    }
}

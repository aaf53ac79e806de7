package dev.crab.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class SideBySideTest {
    @Test
    void errorOfOne_theOthersAreAwaitedAndUndone() {
        Queue<String> undone = new ConcurrentLinkedQueue<>();
        CountDownLatch failing = new CountDownLatch(1);
        List<Callable<String>> work = List.of(
                () -> {
                    failing.countDown();
                    throw new AssertionError("the test's");
                },
                () -> {
                    failing.await();
                    return "slow";
                });
        assertThatThrownBy(() -> SideBySide.all(work, undone::add)).isInstanceOf(AssertionError.class);
        assertThat(undone).containsExactly("slow");
    }

    @Test
    void everyFailureIsTold() {
        List<Callable<String>> work = List.of(
                () -> {
                    throw new IllegalStateException("first");
                },
                () -> {
                    throw new IllegalStateException("second");
                });
        assertThatThrownBy(() -> SideBySide.all(work))
                .hasMessage("first")
                .satisfies(e -> assertThat(e.getSuppressed())
                        .extracting(Throwable::getMessage)
                        .containsExactly("second"));
    }
}

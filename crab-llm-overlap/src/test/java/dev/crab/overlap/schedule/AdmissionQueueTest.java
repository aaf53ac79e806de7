package dev.crab.overlap.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class AdmissionQueueTest {
    private static final long SECOND = 1_000_000_000L;

    private AdmissionQueue queue = queue(1, 1, 0);

    private static AdmissionQueue queue(int captures, int persists, long bytes) {
        return new AdmissionQueue(AdmissionPolicy.of(captures, persists, 0, bytes), 0);
    }

    private Job ask(String sandbox, JobKind kind, double due) {
        return queue.enter(sandbox, kind, JobState.WAITING, (long) (due * SECOND), false, 0, 0);
    }

    private Job job(String sandbox) {
        return Objects.requireNonNull(queue.job(sandbox));
    }

    private List<String> granted(double now) {
        return queue.grants((long) (now * SECOND)).stream()
                .map(job -> job.sandbox)
                .toList();
    }

    /** Lets whoever captures go all the way, so that the next one comes. */
    private void finish(Job job, double now) {
        queue.end(job, 0, (long) (now * SECOND));
    }

    @Test
    void freeHost_grantsAtOnce() {
        Job job = ask("a", JobKind.PROCESSES, 9);
        assertThat(granted(0)).containsExactly("a");
        queue.captured(job, 0, 1);
        assertThat(granted(0)).containsExactly("a");
        assertThat(job.state()).isEqualTo(JobState.PERSISTING);
        assertThat(queue.nextWake(1)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void earliestDeadline_comesFirst() {
        Job first = ask("busy", JobKind.FILES, 0);
        granted(0);
        ask("late", JobKind.FILES, 9);
        ask("soon", JobKind.FILES, 3);
        assertThat(granted(1)).isEmpty();
        finish(first, 1);
        assertThat(granted(1)).containsExactly("soon");
    }

    @Test
    void arrivedResponse_goesBeforeEarlierDeadlines() {
        Job first = ask("busy", JobKind.FILES, 0);
        granted(0);
        ask("soon", JobKind.FILES, 3);
        Job late = ask("late", JobKind.FILES, 9);
        queue.promote(late, SECOND);
        finish(first, 1);
        assertThat(granted(1)).containsExactly("late");
    }

    @Test
    void atEqualDeadline_filesComeBeforeProcesses_thenWhoAskedFirst() {
        Job first = ask("busy", JobKind.FILES, 0);
        granted(0);
        ask("processes", JobKind.PROCESSES, 3.01);
        ask("files", JobKind.FILES, 3.09);
        ask("more files", JobKind.FILES, 3.05);
        finish(first, 1);
        assertThat(granted(1)).containsExactly("files");
        finish(job("files"), 1);
        assertThat(granted(1)).containsExactly("more files");
        finish(job("more files"), 1);
        assertThat(granted(1)).containsExactly("processes");
    }

    @Test
    void longAfterItsDeadline_aJobIsAsGoodAsPromoted() {
        Job busy = ask("busy", JobKind.FILES, 0);
        granted(0);
        ask("no answer", JobKind.FILES, 1);
        for (int i = 2; i < 11; i++) {
            // One response after the other arrives, and each of them goes first.
            Job next = ask("next " + i, JobKind.FILES, i);
            queue.promote(next, i * SECOND);
            finish(busy, i);
            assertThat(granted(i)).containsExactly("next " + i);
            busy = next;
        }
        Job last = queue.enter("last", JobKind.FILES, JobState.WAITING, 20 * SECOND, true, 0, 12 * SECOND);
        queue.promote(last, 12 * SECOND);
        finish(busy, 12);
        assertThat(granted(12)).containsExactly("no answer");
    }

    @Test
    void sandboxThatTakesMoreThanItsShare_isPutOff() {
        long now = 0;
        Map<String, Long> used = new HashMap<>();
        // One has windows of nothing and asks again at once; nine others are as urgent as it is.
        Job running = null;
        for (int step = 0; step < 600; step++) {
            for (int i = 0; i < 10; i++) {
                String name = "sandbox " + i;
                if (queue.job(name) == null && (i == 0 || step % 12 == i)) {
                    queue.enter(name, JobKind.FILES, JobState.WAITING, i == 0 ? now : now + 5 * SECOND, i == 0, 0, now);
                }
            }
            List<Job> granted = queue.grants(now);
            if (running == null && !granted.isEmpty()) {
                running = granted.get(0);
            }
            now += SECOND / 2;
            if (running != null) {
                used.merge(running.sandbox, SECOND / 2, Long::sum);
                queue.end(running, 0, now);
                running = null;
            }
        }
        long all = used.values().stream().mapToLong(Long::longValue).sum();
        assertThat(all).isEqualTo(300 * SECOND);
        // Without that it would be given all but what the others get by ageing: 228 of the 300 seconds.
        assertThat(used.get("sandbox 0")).isLessThan(all / 3);
        assertThat(used).hasSize(10);
    }

    @Test
    void sandboxThatIsAlone_isNeverPutOff() {
        for (int i = 0; i < 100; i++) {
            Job job = queue.enter("alone", JobKind.FILES, JobState.WAITING, 0, false, 0, i * SECOND);
            assertThat(job.postponed).isZero();
            assertThat(granted(i)).containsExactly("alone");
            queue.end(job, 0, i * SECOND + SECOND * 9 / 10);
        }
    }

    @Test
    void writesAreHeldBack_untilTheirBytesArePaid() {
        queue = queue(4, 4, 1000);
        Job first = ask("first", JobKind.FILES, 0);
        granted(0);
        queue.captured(first, 0, 0);
        assertThat(granted(0)).containsExactly("first");
        queue.end(first, 5000, 0);
        Job second = ask("second", JobKind.FILES, 0);
        granted(0);
        queue.captured(second, 0, 0);
        // A second's worth was saved up, so that four seconds are owed.
        assertThat(granted(3.9)).isEmpty();
        assertThat(queue.nextWake(39 * SECOND / 10)).isBetween(4 * SECOND, 4 * SECOND + 10);
        assertThat(granted(4.1)).containsExactly("second");
    }

    @Test
    void bytesOverTime_areTheRate() {
        queue = queue(8, 8, 1_000_000);
        Random random = new Random(5);
        long written = 0;
        long largest = 0;
        long now = 0;
        for (int i = 0; i < 2000; i++) {
            Job job = queue.enter("s" + i % 50, JobKind.FILES, JobState.WAITING, now, false, 0, now);
            queue.grants(now);
            queue.captured(job, 0, now);
            while (job.state() != JobState.PERSISTING) {
                queue.grants(now);
                now = job.state() == JobState.PERSISTING ? now : queue.nextWake(now);
            }
            long bytes = random.nextInt(200_000);
            largest = Math.max(largest, bytes);
            written += bytes;
            queue.end(job, bytes, now);
        }
        assertThat(written).isLessThanOrEqualTo(1_000_000 + now / 1000 + largest);
        assertThat(written).isGreaterThan(now / 1000 * 9 / 10);
    }

    @Test
    void capturesWait_whileWhatWasCapturedWaitsToBeWritten() {
        queue = queue(4, 1, 0);
        List<Job> jobs = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            jobs.add(ask("s" + i, JobKind.FILES, i));
        }
        assertThat(granted(0)).hasSize(4);
        jobs.subList(0, 4).forEach(job -> queue.captured(job, 0, 0));
        // One is being written, three wait, and nothing more is captured.
        assertThat(granted(0)).containsExactly("s0");
        assertThat(queue.backlog()).isEqualTo(3);
        for (int i = 0; i < 2; i++) {
            finish(jobs.get(i), 1);
            assertThat(granted(1)).containsExactly("s" + (i + 1));
        }
        finish(jobs.get(2), 1);
        assertThat(granted(1)).containsExactly("s3", "s4", "s5", "s6", "s7");
    }

    private Job captured(String sandbox, long bytes) {
        Job job = capturing(sandbox);
        queue.captured(job, bytes, 0);
        granted(0);
        return job;
    }

    @Test
    void capturesWait_whileTooManyBytesAreNotWritten() {
        queue = new AdmissionQueue(AdmissionPolicy.of(4, 4, 1000, 0), 0);
        Job small = captured("small", 600);
        // What a capture takes is known only afterwards.
        Job large = captured("large", 5000);
        ask("waits", JobKind.PROCESSES, 0);
        assertThat(granted(0)).isEmpty();
        finish(small, 1);
        assertThat(granted(1)).isEmpty();
        assertThat(queue.unwritten()).isEqualTo(5000);
        finish(large, 2);
        assertThat(granted(2)).containsExactly("waits");
        assertThat(queue.unwritten()).isZero();
    }

    @Test
    void bytesOfWhoComesFromAQueueThatIsGone_count() {
        queue = new AdmissionQueue(AdmissionPolicy.of(4, 4, 1000, 0), 0);
        Job writing = queue.enter("writing", JobKind.PROCESSES, JobState.PERSISTING, 0, false, 2000, 0);
        ask("waits", JobKind.PROCESSES, 0);
        assertThat(granted(0)).isEmpty();
        finish(writing, 1);
        assertThat(granted(1)).containsExactly("waits");
    }

    @Test
    void writesThatHang_letOneCaptureGoOnAfterTheOther() {
        queue = new AdmissionQueue(AdmissionPolicy.of(4, 4, 1000, 0), 0);
        captured("hangs", 2000);
        ask("first", JobKind.PROCESSES, 1);
        ask("second", JobKind.PROCESSES, 2);
        assertThat(granted(29)).isEmpty();
        assertThat(queue.nextWake(29 * SECOND)).isEqualTo(30 * SECOND);
        assertThat(granted(30)).containsExactly("first");
        assertThat(queue.nextWake(30 * SECOND)).isEqualTo(60 * SECOND);
        assertThat(granted(60)).containsExactly("second");
    }

    @Test
    void capturesThatWaitForTheBacklog_wakeNobody() {
        queue = new AdmissionQueue(AdmissionPolicy.of(1, 1, 0, 1), 0);
        queue.end(captured("paid for", 0), 1000, 0);
        queue.captured(capturing("in the backlog"), 0, 0);
        queue.enter("hangs", JobKind.FILES, JobState.CAPTURING, 0, false, 0, 0);
        ask("waits", JobKind.FILES, 0);
        assertThat(granted(31)).isEmpty();
        assertThat(queue.nextWake(31 * SECOND)).isGreaterThan(900 * SECOND);
    }

    private Job capturing(String sandbox) {
        Job job = ask(sandbox, JobKind.FILES, 0);
        assertThat(granted(0)).containsExactly(sandbox);
        return job;
    }

    @Test
    void holdersThatHang_letOneGoOnAfterTheOther() {
        ask("hangs", JobKind.FILES, 0);
        granted(0);
        ask("next", JobKind.FILES, 1);
        ask("then", JobKind.FILES, 2);
        assertThat(granted(29)).isEmpty();
        assertThat(queue.nextWake(29 * SECOND)).isEqualTo(30 * SECOND);
        assertThat(granted(30)).containsExactly("next");
        assertThat(granted(59)).isEmpty();
        assertThat(granted(60)).containsExactly("then");
        assertThat(queue.capturing()).isEqualTo(3);
    }

    @Test
    void secondJobOfASandbox_endsTheFirst() {
        Job before = ask("a", JobKind.FILES, 0);
        granted(0);
        Job after = ask("a", JobKind.FILES, 0);
        assertThat(before.state()).isEqualTo(JobState.OVER);
        assertThat(granted(0)).containsExactly("a");
        assertThat(queue.size()).isEqualTo(1);
        queue.end(before, 0, 1);
        assertThat(queue.job("a")).isSameAs(after);
        assertThat(queue.capturing()).isEqualTo(1);
    }

    @Test
    void whatAnotherQueueGranted_counts() {
        queue.enter("holds", JobKind.FILES, JobState.CAPTURING, 0, false, 0, 0);
        ask("waits", JobKind.FILES, 0);
        assertThat(granted(0)).isEmpty();
        finish(job("holds"), 1);
        assertThat(granted(1)).containsExactly("waits");
    }

    @Test
    void forced_takesAPlaceBeyondTheBound() {
        ask("holds", JobKind.FILES, 0);
        granted(0);
        Job forced = ask("forced", JobKind.FILES, 0);
        queue.force(forced, 1);
        assertThat(forced.state()).isEqualTo(JobState.CAPTURING);
        assertThat(queue.capturing()).isEqualTo(2);
        finish(job("holds"), 1);
        ask("waits", JobKind.FILES, 0);
        assertThat(granted(1)).isEmpty();
    }

    @Test
    void captureThatWasNotGranted_cannotEnd() {
        ask("holds", JobKind.FILES, 0);
        granted(0);
        Job job = ask("waits", JobKind.FILES, 0);
        assertThatThrownBy(() -> queue.captured(job, 0, 1)).isInstanceOf(CrabException.class);
    }

    @Test
    void whateverHappens_boundsHoldAndNothingIsForgotten() {
        for (int seed = 0; seed < 50; seed++) {
            Random random = new Random(seed);
            AdmissionPolicy policy = AdmissionPolicy.of(1 + random.nextInt(4), 1 + random.nextInt(4), 1000, 0);
            queue = new AdmissionQueue(policy, 0);
            List<Job> jobs = new ArrayList<>();
            long now = 0;
            for (int step = 0; step < 2000; step++) {
                now += random.nextInt(100_000_000);
                if (jobs.size() < 30 && random.nextInt(3) == 0) {
                    jobs.add(queue.enter(
                            "s" + step,
                            random.nextBoolean() ? JobKind.FILES : JobKind.PROCESSES,
                            JobState.WAITING,
                            now + random.nextInt(2_000_000_000),
                            random.nextBoolean(),
                            0,
                            now));
                } else if (!jobs.isEmpty()) {
                    Job job = jobs.get(random.nextInt(jobs.size()));
                    switch (random.nextInt(4)) {
                        case 0 -> queue.promote(job, now);
                        case 1 -> {
                            if (job.state() == JobState.CAPTURING) {
                                queue.captured(job, random.nextInt(600), now);
                            }
                        }
                        default -> {
                            if (!job.state().isWaiting() || random.nextInt(10) == 0) {
                                queue.end(job, 0, now);
                                jobs.remove(job);
                            }
                        }
                    }
                }
                Set<Job> granted = new HashSet<>(queue.grants(now));
                assertThat(jobs.containsAll(granted)).isTrue();
                count(jobs, policy);
            }
            // Whatever is left comes to its end.
            for (int step = 0; !jobs.isEmpty(); step++) {
                assertThat(step).isLessThan(100);
                for (Job job : List.copyOf(jobs)) {
                    if (job.state() == JobState.CAPTURING) {
                        queue.captured(job, 0, now);
                    } else if (job.state() == JobState.PERSISTING) {
                        queue.end(job, 0, now);
                        jobs.remove(job);
                    }
                }
                queue.grants(now);
            }
            assertThat(queue.size()).isZero();
        }
    }

    private void count(List<Job> jobs, AdmissionPolicy policy) {
        long capturing =
                jobs.stream().filter(job -> job.state() == JobState.CAPTURING).count();
        long persisting =
                jobs.stream().filter(job -> job.state() == JobState.PERSISTING).count();
        long backlog =
                jobs.stream().filter(job -> job.state() == JobState.CAPTURED).count();
        assertThat(queue.size()).isEqualTo(jobs.size());
        assertThat(queue.capturing()).isEqualTo((int) capturing);
        assertThat(queue.persisting()).isEqualTo((int) persisting);
        assertThat(queue.backlog()).isEqualTo((int) backlog);
        assertThat(queue.unwritten())
                .isEqualTo(jobs.stream().mapToLong(job -> job.unwritten).sum());
        long beyond = Math.max(0, capturing - policy.captures()) + Math.max(0, persisting - policy.persists());
        // Only a stall leads beyond the bounds, and nothing stands still for that long here unless all holders do.
        assertThat(beyond).isLessThanOrEqualTo(2);
    }
}

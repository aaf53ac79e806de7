package dev.crab.overlap.schedule;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A host in virtual time: sandboxes that go from turn to turn, and the real queue and estimator between them. What a turn is like depends on
 * the seed, the sandbox and the turn alone, so that all disciplines are given the same work.
 */
final class HostSimulation {
    /** In what order captures take place. */
    enum Discipline {
        /** As Crab does it. */
        DEADLINE,
        /** First come, first served. */
        FIFO,
        /** As {@link #DEADLINE} by one who knows when each response will come. */
        ORACLE
    }

    /** A kind of model: the median of its windows and how they spread. */
    record Model(String name, Duration median, double spread) {}

    /**
     * What is simulated.
     *
     * @param turns how many turns each sandbox makes
     * @param start boundaries of the first turn lie within this time
     * @param seen how many calls of each model were seen before
     */
    record Setting(
            long seed,
            int sandboxes,
            int turns,
            Duration start,
            int seen,
            AdmissionPolicy policy,
            List<Model> models) {}

    /** What came of it; times in nanoseconds. */
    record Outcome(
            long turns, long jobs, long over, long exposed, long exposedTurns, long p99, long worst, long longestWait) {
        @Override
        public String toString() {
            return String.format(
                    "%d turns, %d captured, exposed delay: %.1f s in all, mean %.1f ms, 99th percentile %.0f ms, worst %.1f s;"
                            + " %.1f %% of the turns; longest wait %.1f s",
                    turns,
                    jobs,
                    exposed / 1e9,
                    exposed / 1e6 / turns,
                    p99 / 1e6,
                    worst / 1e9,
                    100.0 * exposedTurns / turns,
                    longestWait / 1e9);
        }
    }

    private enum What {
        BOUNDARY,
        RESPONSE,
        CAPTURED,
        PERSISTED,
        WAKE
    }

    private record Event(long at, long sequence, What what, int sandbox) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            int byTime = Long.compare(at, other.at);
            return byTime != 0 ? byTime : Long.compare(sequence, other.sequence);
        }
    }

    /** One sandbox between two boundaries. */
    private static final class Agent {
        int turn;
        long asked;
        long windowEnd;
        long waitedFor;
        long capture;
        long persist;
        long bytes;
        int tokens;
        long window;
        boolean responded;
        boolean committed;

        @Nullable
        Job job;

        Job job() {
            return Objects.requireNonNull(job);
        }
    }

    private final Setting setting;
    private final Discipline discipline;
    private final AdmissionQueue queue;
    private final LatencyEstimator estimator = new LatencyEstimator();
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private final Agent[] agents;
    /** Of those who wait for a capture, and of those who wait to be written, by the moment since when somebody waits for them: how many. */
    private final NavigableMap<Long, Integer> toCapture = new TreeMap<>();

    private final NavigableMap<Long, Integer> toWrite = new TreeMap<>();

    private long now;
    private long sequence;
    private long wakeAt = Long.MAX_VALUE;
    private long turns;
    private long jobs;
    private long over;
    private long longestWait;
    private final List<Long> exposed = new ArrayList<>();

    HostSimulation(Setting setting, Discipline discipline) {
        this.setting = setting;
        this.discipline = discipline;
        this.queue = new AdmissionQueue(discipline == Discipline.FIFO ? alike(setting.policy()) : setting.policy(), 0);
        this.agents = new Agent[setting.sandboxes()];
        SplittableRandom earlier = new SplittableRandom(~setting.seed());
        for (int i = 0; i < setting.seen() * setting.models().size(); i++) {
            Model model = model(i);
            double length = lognormal(earlier, 1, model.spread());
            estimator.record(model.name(), window(model, length, earlier), tokens(length));
        }
        for (int i = 0; i < agents.length; i++) {
            agents[i] = new Agent();
            at(new SplittableRandom(setting.seed() + i).nextLong(setting.start().toNanos()), What.BOUNDARY, i);
        }
    }

    /** Whoever comes first is served first, whatever he has had before. */
    private static AdmissionPolicy alike(AdmissionPolicy policy) {
        return new AdmissionPolicy(
                policy.captures(),
                policy.persists(),
                policy.backlog(),
                policy.unwritten(),
                policy.bytesPerSecond(),
                1,
                policy.ageing(),
                Long.MAX_VALUE / 4,
                0,
                policy.stall());
    }

    Outcome run() {
        for (Event event = events.poll(); event != null; event = events.poll()) {
            now = event.at();
            handle(event);
            grant();
        }
        if (queue.size() != 0) {
            throw new AssertionError("nothing happens any more, and " + queue.size() + " jobs are not over");
        }
        long[] sorted = exposed.stream().mapToLong(Long::longValue).sorted().toArray();
        return new Outcome(
                turns,
                jobs,
                over,
                Arrays.stream(sorted).sum(),
                Arrays.stream(sorted).filter(delay -> delay > 0).count(),
                sorted[(int) (0.99 * (sorted.length - 1))],
                sorted[sorted.length - 1],
                longestWait);
    }

    private void handle(Event event) {
        if (event.what() == What.WAKE) {
            wakeAt = Long.MAX_VALUE;
            return;
        }
        Agent agent = agents[event.sandbox()];
        switch (event.what()) {
            case BOUNDARY -> boundary(event.sandbox(), agent);
            case RESPONSE -> {
                agent.responded = true;
                estimator.record(model(event.sandbox()).name(), agent.window, agent.tokens);
                if (!agent.committed && discipline != Discipline.FIFO) {
                    queue.promote(agent.job(), now);
                }
                goOn(event.sandbox(), agent);
            }
            case CAPTURED -> {
                queue.captured(agent.job(), 0, now);
                waits(agent, JobState.CAPTURED, 1);
            }
            case PERSISTED -> {
                queue.end(agent.job(), agent.bytes, now);
                over++;
                agent.committed = true;
                goOn(event.sandbox(), agent);
            }
            case WAKE -> throw new AssertionError();
        }
    }

    private void boundary(int sandbox, Agent agent) {
        agent.turn++;
        turns++;
        SplittableRandom random = new SplittableRandom(setting.seed() * 31 + sandbox * 1_000_003L + agent.turn * 7919L);
        Model model = model(sandbox);
        double length = lognormal(random, 1, model.spread());
        agent.tokens = tokens(length);
        agent.window = window(model, length, random);
        agent.windowEnd = now + agent.window;
        agent.responded = false;
        agent.asked = now;
        at(agent.windowEnd, What.RESPONSE, sandbox);
        double kind = random.nextDouble();
        agent.committed = kind < 0.55;
        if (agent.committed) {
            return;
        }
        boolean files = kind < 0.82;
        agent.capture = (long) (lognormal(random, files ? 20 : 120, files ? 0.4 : 0.6) * 1e6);
        agent.persist = (long) (lognormal(random, files ? 40 : 250, 0.7) * 1e6);
        agent.bytes = (long) lognormal(random, files ? 60e3 : 4e6, 1);
        jobs++;
        long due = switch (discipline) {
            case DEADLINE -> now + estimator.predict(model.name(), 0);
            case ORACLE -> agent.windowEnd;
            case FIFO -> now;
        };
        JobKind asked = files || discipline == Discipline.FIFO ? JobKind.FILES : JobKind.PROCESSES;
        Job job = queue.enter(Integer.toString(sandbox), asked, JobState.WAITING, due, false, 0, now);
        agent.job = job;
        agent.waitedFor = Math.min(agent.windowEnd, job.due + setting.policy().ageing());
        waits(agent, JobState.WAITING, 1);
    }

    private static int tokens(double length) {
        return (int) (length * 400);
    }

    private static long window(Model model, double length, SplittableRandom random) {
        return (long) (length * model.median().toNanos() * (0.9 + 0.2 * random.nextDouble()));
    }

    private void grant() {
        for (Job job : queue.grants(now)) {
            int sandbox = Integer.parseInt(job.sandbox);
            Agent agent = agents[sandbox];
            JobState left = job.state() == JobState.CAPTURING ? JobState.WAITING : JobState.CAPTURED;
            waits(agent, left, -1);
            checkNobodyIsPassedOver(agent, stage(left));
            if (job.state() == JobState.CAPTURING) {
                longestWait = Math.max(longestWait, now - agent.asked);
                at(now + agent.capture, What.CAPTURED, sandbox);
            } else {
                at(now + agent.persist, What.PERSISTED, sandbox);
            }
        }
        if (queue.capturing() > setting.policy().captures()
                || queue.persisting() > setting.policy().persists()
                || queue.backlog()
                        > setting.policy().backlog() + setting.policy().captures()) {
            throw new AssertionError("beyond the bounds: " + queue.capturing() + " captures, " + queue.persisting()
                    + " writes, " + queue.backlog() + " waiting to be written");
        }
        long wake = queue.nextWake(now);
        if (wake < wakeAt) {
            wakeAt = wake;
            at(wake, What.WAKE, -1);
        }
    }

    /** Whoever is let go had asked before the one who is waited for longest could have been overtaken: so nobody starves. */
    private void checkNobodyIsPassedOver(Agent granted, NavigableMap<Long, Integer> left) {
        if (!left.isEmpty() && left.firstKey() <= now && discipline != Discipline.FIFO) {
            AdmissionPolicy policy = setting.policy();
            if (granted.asked > left.firstKey() + policy.quantum() + policy.postponement()) {
                throw new AssertionError("at " + now + " one who asked at " + granted.asked
                        + " comes before one who is waited for since " + left.firstKey());
            }
        }
    }

    private NavigableMap<Long, Integer> stage(JobState waiting) {
        return waiting == JobState.WAITING ? toCapture : toWrite;
    }

    private void waits(Agent agent, JobState where, int change) {
        stage(where).merge(agent.waitedFor, change, (a, b) -> a + b == 0 ? null : a + b);
    }

    private void goOn(int sandbox, Agent agent) {
        if (!agent.responded || !agent.committed) {
            return;
        }
        exposed.add(now - agent.windowEnd);
        if (agent.turn < setting.turns()) {
            SplittableRandom random = new SplittableRandom(setting.seed() * 17 + sandbox * 65_537L + agent.turn);
            at(now + (long) (lognormal(random, 2, 0.8) * 1e9), What.BOUNDARY, sandbox);
        }
    }

    private Model model(int sandbox) {
        return setting.models().get(sandbox % setting.models().size());
    }

    private void at(long time, What what, int sandbox) {
        events.add(new Event(time, sequence++, what, sandbox));
    }

    private static double lognormal(SplittableRandom random, double median, double spread) {
        // Box and Muller; SplittableRandom has no normal numbers before Java 17, and those of 17 are not promised to
        // stay as they are.
        double normal = Math.sqrt(-2 * Math.log(1 - random.nextDouble())) * Math.cos(2 * Math.PI * random.nextDouble());
        return median * Math.exp(spread * normal);
    }
}

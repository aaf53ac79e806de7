package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.samples.common.Events;
import dev.crab.samples.replay.SandboxState.Differences;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One agent that is killed at many turns of its trajectory, and each time compared with what it was before: what comes back is the victim
 * of the next kill. It is compared with itself, not with another run: two runs of the same commands differ in times, pids and whatever
 * is drawn at random.
 *
 * <p>All happens while a request to the model is being answered, which this holds back for as long as it looks.
 */
final class CrashRun {
    private static final long PATIENCE_SECONDS = 900;
    private static final long COMMIT_SECONDS = 120;
    private static final int LOG_LENGTH = 8000;

    /** What Crab logs where a turn cannot be committed; the agent is told so only when it wants to go on. */
    private static final Pattern REFUSED = Pattern.compile("is not committed: (.*(\n\\(.*)*)");

    /** How far apart the two looks at a sandbox are that tell what moves by itself. */
    private static final long MOVE_MILLIS = 1100;

    /** What happened to the agent. */
    private sealed interface Happening {
        /** It asks its model, and waits. */
        record Asked(int turn, JsonNode messages, long nanos, Hold release) implements Happening {}

        /** Its model has answered. */
        record Answered() implements Happening {}

        /** Its JVM has ended. */
        record Ended() implements Happening {}
    }

    /**
     * What was found at the end of a turn.
     *
     * @param later the same, a while later, where processes live
     * @param at the moment of the end, in nanoseconds since 1970 UTC
     * @param chat results of tools
     */
    private record Found(SandboxState state, SandboxState later, long at, List<String> chat) {}

    private final Lab lab;
    private final String policy;
    private final Trajectory trajectory;
    private final CrashPlan plan;
    private final TreeMap<Integer, CrashPlan.Stop> stops;
    private final String name;
    private final Map<Integer, Found> found = new HashMap<>();
    private final List<Crash> crashes = new ArrayList<>();

    private LinkedBlockingQueue<Happening> happenings = new LinkedBlockingQueue<>();
    private SandboxView view;
    private int life;
    private @Nullable LiveJvm jvm;
    private volatile long restoreMillis;
    private volatile int restoredTurn;
    private volatile String answer = "";
    private volatile String failure = "";
    private volatile LinkedBlockingQueue<String> probes = new LinkedBlockingQueue<>();
    private long openedAt;

    CrashRun(Lab lab, String policy, Trajectory trajectory, CrashPlan plan, long seed) throws IOException {
        this.lab = lab;
        this.policy = policy;
        this.trajectory = trajectory;
        this.plan = plan;
        this.stops = plan.stops(trajectory.turns(), seed);
        this.name = lab.nextName();
        this.view = lab.view(name);
    }

    /** Holds a request back. */
    private static final class Hold {
        private final CountDownLatch latch = new CountDownLatch(1);
        private volatile boolean dropped;

        void countDown() {
            latch.countDown();
        }

        /** Whoever asked is dead. */
        void drop() {
            dropped = true;
            latch.countDown();
        }

        void await() throws InterruptedException {
            latch.await();
            if (dropped) {
                throw new InterruptedException("nobody waits for the answer");
            }
        }
    }

    /** Listens to one life. */
    private final class Listener implements ReplayModel.Listener {
        private final LinkedBlockingQueue<Happening> happenings;

        Listener(LinkedBlockingQueue<Happening> happenings) {
            this.happenings = happenings;
        }

        @Override
        public void asked(int turn, JsonNode messages, long nanos) throws InterruptedException {
            Hold release = new Hold();
            happenings.add(new Happening.Asked(turn, messages, nanos, release));
            release.await();
        }

        @Override
        public void answered(int turn, long nanos) {
            happenings.add(new Happening.Answered());
        }

        @Override
        public void refused(List<String> faults) {
            failure = "the model refused the chat: " + faults;
        }
    }

    private void told(Events.Event event) {
        switch (event.kind()) {
            case "opened" -> {
                restoreMillis = event.body().path("restoreMillis").asLong();
                restoredTurn = event.body().path("turn").asInt();
            }
            case "probe" -> probes.add(event.body().path("answer").asText());
            case "finished" -> answer = event.body().path("answer").asText();
            case "failed" -> failure = event.body().path("message").asText();
            default -> {
                // Turns are measured elsewhere.
            }
        }
    }

    /** What came of each kill so far. */
    List<Crash> crashes() {
        return List.copyOf(crashes);
    }

    /**
     * Kills it at every stop, and lets the rest run.
     *
     * @throws IOException also if the policy refuses to save a turn, so that nothing further on can be asked of it
     */
    void run() throws IOException, InterruptedException {
        try {
            Happening.Asked asked = begin();
            while (asked != null && !stops.isEmpty()) {
                CrashPlan.Stop stop = stops.remove(asked.turn());
                asked = stop == null ? pass(asked) : crash(asked, stop);
            }
            if (asked != null) {
                finish(asked);
            }
        } finally {
            LiveJvm last = jvm;
            if (last != null) {
                last.kill();
            }
            lab.model().forget(name + "-" + life);
            lab.remove(policy, name);
        }
    }

    /** Starts the next life. Null if it ended without a word to its model. */
    private Happening.@Nullable Asked begin() throws IOException, InterruptedException {
        LinkedBlockingQueue<Happening> own = new LinkedBlockingQueue<>();
        happenings = own;
        view = lab.view(name);
        failure = "";
        openedAt = now();
        // Each life has a model of its own: what a dead one still had under way cannot be taken for the next one's.
        lab.model().forget(name + "-" + life);
        life++;
        AgentPlan agents = lab.plan(
                policy,
                0,
                List.of(new AgentPlan.Agent(
                        name,
                        trajectory.file().toString(),
                        lab.place(name).toString(),
                        lab.model().register(name + "-" + life, trajectory, lab.speed(), new Listener(own)))));
        jvm = lab.start(name, agents, false, this::told, status -> own.add(new Happening.Ended()));
        return next();
    }

    private Happening.@Nullable Asked next() throws InterruptedException {
        while (true) {
            Happening happening = happenings.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            if (happening instanceof Happening.Asked asked) {
                return asked;
            }
            if (!(happening instanceof Happening.Answered)) {
                if (happening == null) {
                    failure = "it does nothing any more";
                }
                return null;
            }
        }
    }

    private Happening.@Nullable Asked pass(Happening.Asked asked) throws IOException, InterruptedException {
        if (!found.containsKey(asked.turn())
                && stops.values().stream().anyMatch(stop -> stop.kind() != CrashKind.BOUNDARY)) {
            note(asked); // a kill further on may bring it back to here
        }
        asked.release().countDown();
        return next();
    }

    private void note(Happening.Asked asked) throws IOException, InterruptedException {
        awaitSaved(asked.turn());
        found.put(asked.turn(), look(asked));
    }

    private Found look(Happening.Asked asked) throws IOException, InterruptedException {
        long at = now() - (System.nanoTime() - asked.nanos());
        SandboxState state = view.look();
        SandboxState later = state;
        if (state.hasSurvivors()) {
            Thread.sleep(MOVE_MILLIS);
            later = view.look();
        }
        return new Found(state, later, at, results(asked));
    }

    private boolean saves() {
        return !policy.equals(Policies.NONE) && !policy.equals(Policies.CHAT);
    }

    private void awaitSaved(int turn) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(COMMIT_SECONDS);
        while (saves() && lab.saved(policy, name) < turn) {
            Matcher refused = REFUSED.matcher(log());
            if (refused.find()) {
                throw new IOException("refused to save turn " + turn + ": " + refused.group(1));
            }
            if (System.nanoTime() > deadline) {
                throw new IOException("turn " + turn + " is not saved after " + COMMIT_SECONDS + " s" + log());
            }
            Thread.sleep(5);
        }
    }

    private Happening.@Nullable Asked crash(Happening.Asked asked, CrashPlan.Stop stop)
            throws IOException, InterruptedException {
        CrashKind kind = stop.kind();
        Happening.Asked last = asked;
        String before = "";
        if (kind != CrashKind.CAPTURE) {
            note(asked);
        }
        if (kind == CrashKind.BOUNDARY && probed()) {
            before = probe();
        }
        if (kind == CrashKind.TOOL) {
            Happening.Asked second = runTools(asked, stop.delayNanos());
            if (second != null) {
                last = second; // they were quicker
                kind = CrashKind.CAPTURE;
            }
        } else if (kind == CrashKind.CAPTURE) {
            sleepUntil(asked.nanos() + stop.delayNanos());
        }
        kill(last);
        long killed = System.nanoTime();
        if (kind == CrashKind.CAPTURE && !found.containsKey(last.turn())) {
            found.put(last.turn(), look(last));
        }
        int target = kind == CrashKind.CAPTURE && saves() ? lab.saved(policy, name) : last.turn();
        if (kind == CrashKind.TOOL) {
            target = asked.turn();
        }
        Happening.Asked back = begin();
        long down = (System.nanoTime() - killed) / 1_000_000;
        return compare(back, kind, last.turn(), target, before, down);
    }

    private void kill(Happening.Asked asked) throws InterruptedException {
        Objects.requireNonNull(jvm).kill();
        asked.release().drop();
    }

    /** Lets the tools run for that long. If they end before, answers with the request behind them. */
    private Happening.@Nullable Asked runTools(Happening.Asked asked, long nanos) throws InterruptedException {
        asked.release().countDown();
        Happening happening = happenings.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        if (!(happening instanceof Happening.Answered)) {
            return happening instanceof Happening.Asked next ? next : null;
        }
        return happenings.poll(nanos, TimeUnit.NANOSECONDS) instanceof Happening.Asked next ? next : null;
    }

    private Happening.@Nullable Asked compare(
            Happening.@Nullable Asked back, CrashKind kind, int turn, int target, String before, long down)
            throws IOException, InterruptedException {
        if (back == null) {
            add(kind, turn, target, -1, Differences.NONE, List.of(), "", down);
            return null;
        }
        // Tools that ran again before it asked its model would make up for a sandbox that came back further behind.
        int recovered = saves() ? restoredTurn : back.turn();
        Differences differences = differences(target);
        List<String> chat =
                differences(Objects.requireNonNull(found.get(target)).chat(), results(back));
        String probe = "";
        Happening.Asked goesOn = back;
        long restored = restoreMillis;
        if (kind == CrashKind.BOUNDARY && probed()) {
            String after = probe();
            probe = alike(before, after, trajectory.recording().expected()) ? "" : before + " -> " + after;
            // Asking changes what is asked: a new life goes on, without it.
            kill(back);
            goesOn = begin();
            restoreMillis = restored;
            if (goesOn == null) {
                add(kind, turn, target, -1, differences, chat, probe, down);
                return null;
            }
            List<String> wrong = new ArrayList<>(differences.wrong());
            wrong.addAll(differences(target).wrong());
            differences = new Differences(wrong, differences.moved());
        }
        failure = "";
        add(kind, turn, target, recovered, differences, chat, probe, down);
        found.keySet().removeIf(later -> later > target); // what follows comes anew
        return goesOn;
    }

    private Differences differences(int target) throws IOException {
        Found then = found.get(target);
        return then == null
                ? new Differences(List.of("nothing is known of turn " + target), List.of())
                : then.state().differences(then.later(), then.at(), view.look(), openedAt, timesCount());
    }

    /** A policy that makes the sandbox anew runs its set-up anew as well: at another time. */
    private boolean timesCount() {
        return saves();
    }

    private boolean probed() {
        return trajectory.recording().probe() != null;
    }

    /** Where the answer is not yet that of the end, numbers in it may be those of something that counts by itself. */
    static boolean alike(String before, String after, @Nullable String expected) {
        if (expected == null || before.equals(after)) {
            return before.equals(after);
        }
        Pattern pattern = Pattern.compile(expected, Pattern.MULTILINE);
        return pattern.matcher(before).find()
                ? pattern.matcher(after).find()
                : before.replaceAll("[0-9]+", "#").equals(after.replaceAll("[0-9]+", "#"));
    }

    private void add(
            CrashKind kind,
            int turn,
            int target,
            int recovered,
            Differences differences,
            List<String> chat,
            String probe,
            long down)
            throws IOException {
        crashes.add(new Crash(
                policy,
                trajectory.id(),
                trajectory.recording().category(),
                plan.label(),
                kind,
                turn,
                target,
                recovered,
                differences.wrong(),
                differences.moved(),
                chat,
                probe,
                probed() && kind == CrashKind.BOUNDARY,
                restoreMillis,
                down,
                recovered < 0 ? (failure.isEmpty() ? "it ended" : failure) + log() : ""));
    }

    /** The end of what the JVMs have said beside events. */
    private String log() throws IOException {
        Path file = lab.log(name);
        String text = Files.exists(file) ? Files.readString(file) : "";
        return "\n" + text.substring(Math.max(0, text.length() - LOG_LENGTH));
    }

    private void finish(Happening.Asked asked) throws IOException, InterruptedException {
        asked.release().countDown();
        Happening.Asked next = next();
        while (next != null) {
            next.release().countDown();
            next = next();
        }
        String expected = ReplayModel.lastAnswer(trajectory.recording());
        if (!answer.equals(expected)) {
            failure = failure.isEmpty() ? "its last answer is \"" + answer + "\"" : failure;
            add(CrashKind.BOUNDARY, trajectory.turns(), trajectory.turns(), -1, Differences.NONE, List.of(), "", 0);
        }
    }

    private String probe() throws IOException, InterruptedException {
        probes.clear();
        Objects.requireNonNull(jvm).tell("probe " + name);
        String said = probes.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        return said == null ? "(no answer)" : said;
    }

    private static List<String> results(Happening.Asked asked) {
        List<String> results = new ArrayList<>();
        for (JsonNode message : asked.messages()) {
            if (message.path("role").asText().equals("tool")) {
                results.add(message.path("tool_call_id").asText() + ": "
                        + message.path("content").asText());
            }
        }
        return results;
    }

    private static List<String> differences(List<String> then, List<String> now) {
        List<String> differences = new ArrayList<>();
        for (int i = 0; i < Math.max(then.size(), now.size()); i++) {
            String here = i < then.size() ? then.get(i) : "none";
            String there = i < now.size() ? now.get(i) : "none";
            if (!here.equals(there)) {
                differences.add("result " + (i + 1) + ": " + here + " -> " + there);
            }
        }
        return differences;
    }

    private static long now() {
        Instant now = Instant.now();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
    }

    private static void sleepUntil(long nanos) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(Math.max(0, nanos - System.nanoTime()));
    }
}

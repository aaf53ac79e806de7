package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.samples.replay.SandboxState.Differences;
import dev.crab.samples.replay.Victim.Happening.Asked;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
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
    private static final long COMMIT_SECONDS = 120;

    /** How far apart the two looks at a sandbox are that tell what moves by itself. */
    private static final long MOVE_MILLIS = 1100;

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
    private final Map<Integer, CrashPlan.Stop> stops;
    private final Victim victim;
    private final Map<Integer, Found> found = new HashMap<>();
    private final List<Crash> crashes = new ArrayList<>();

    CrashRun(Lab lab, String policy, Trajectory trajectory, CrashPlan plan, Map<Integer, CrashPlan.Stop> stops) {
        this.lab = lab;
        this.policy = policy;
        this.trajectory = trajectory;
        this.plan = plan;
        this.stops = stops;
        this.victim = new Victim(lab, policy, trajectory);
    }

    /** What came of each kill so far. */
    List<Crash> crashes() {
        return List.copyOf(crashes);
    }

    /**
     * Kills it at every stop, and lets the rest run. Stops that were made are taken away. After one from which it came back wrong it is
     * no longer like an agent without a crash, so those behind it are left for another run.
     *
     * @throws IOException also if the policy refuses to save a turn, so that nothing further on can be asked of it
     */
    void run() throws IOException, InterruptedException {
        try {
            Asked asked = victim.open() ? victim.go() : null;
            while (asked != null && !stops.isEmpty() && isRight()) {
                CrashPlan.Stop stop = stops.remove(asked.turn());
                asked = stop == null ? pass(asked) : crash(asked, stop);
            }
            if (isRight() && asked != null) {
                finish(asked);
            } else if (isRight()) {
                throw new IOException("it ended before its last answer: " + why());
            }
        } finally {
            victim.remove();
        }
    }

    private boolean isRight() {
        return crashes.stream().allMatch(Crash::correct);
    }

    private @Nullable Asked pass(Asked asked) throws IOException, InterruptedException {
        if (!found.containsKey(asked.turn())
                && stops.values().stream().anyMatch(stop -> stop.kind() != CrashKind.BOUNDARY)) {
            note(asked); // a kill further on may bring it back to here
        }
        asked.release().countDown();
        return victim.next();
    }

    private void note(Asked asked) throws IOException, InterruptedException {
        awaitSaved(asked.turn());
        found.put(asked.turn(), look(asked));
    }

    private Found look(Asked asked) throws IOException, InterruptedException {
        long at = Victim.now() - (System.nanoTime() - asked.nanos());
        SandboxState state = victim.look();
        SandboxState later = state;
        if (state.hasSurvivors()) {
            Thread.sleep(MOVE_MILLIS);
            later = victim.look();
        }
        return new Found(state, later, at, results(asked));
    }

    private boolean saves() {
        return !policy.equals(Policies.NONE) && !policy.equals(Policies.CHAT);
    }

    private void awaitSaved(int turn) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(COMMIT_SECONDS);
        while (saves() && lab.saved(policy, victim.name()) < turn) {
            Refusal refused = Refusal.in(victim.log()).orElse(null);
            if (refused != null) {
                throw refused;
            }
            if (System.nanoTime() > deadline) {
                throw new IOException("turn " + turn + " is not saved after " + COMMIT_SECONDS + " s" + victim.log());
            }
            Thread.sleep(5);
        }
    }

    private @Nullable Asked crash(Asked asked, CrashPlan.Stop stop) throws IOException, InterruptedException {
        CrashKind kind = stop.kind();
        Asked last = asked;
        String before = "";
        if (kind != CrashKind.CAPTURE) {
            note(asked);
        }
        if (kind == CrashKind.BOUNDARY && probed()) {
            before = victim.probe();
        }
        if (kind == CrashKind.TOOL) {
            Asked second = runTools(asked, stop.delayNanos());
            if (second != null) {
                last = second; // they were quicker
                kind = CrashKind.CAPTURE;
            }
        } else if (kind == CrashKind.CAPTURE) {
            sleepUntil(asked.nanos() + stop.delayNanos());
        }
        victim.kill(last);
        long killed = System.nanoTime();
        if (kind == CrashKind.CAPTURE && !found.containsKey(last.turn())) {
            found.put(last.turn(), look(last));
        }
        int target = kind == CrashKind.CAPTURE && saves() ? lab.saved(policy, victim.name()) : last.turn();
        if (kind == CrashKind.TOOL) {
            target = asked.turn();
        }
        return compare(kind, last.turn(), target, before, killed);
    }

    /** Lets the tools run for that long. If they end before, answers with the request behind them. */
    private @Nullable Asked runTools(Asked asked, long nanos) throws InterruptedException {
        asked.release().countDown();
        return victim.askedWithin(nanos);
    }

    /** Looks at the sandbox before anything is done in it: the tools of a turn that was not saved run again before the model is asked. */
    private @Nullable Asked compare(CrashKind kind, int turn, int target, String before, long killed)
            throws IOException, InterruptedException {
        boolean opened = victim.open();
        long down = System.nanoTime() - killed;
        Differences differences = opened ? differences(target) : Differences.NONE;
        long restored = opened ? victim.restoreMillis() : 0;
        long going = System.nanoTime();
        Asked back = opened ? victim.go() : null;
        down = (down + System.nanoTime() - going) / 1_000_000;
        if (back == null) {
            add(kind, turn, target, -1, differences, List.of(), "", restored, down, why());
            return null;
        }
        int recovered = saves() ? victim.restoredTurn() : back.turn();
        List<String> chat = chat(target, results(back));
        String probe = "";
        if (kind == CrashKind.BOUNDARY && probed()) {
            String after = victim.probe();
            probe = alike(before, after, trajectory.recording().expected()) ? "" : before + " -> " + after;
            // Asking changes what is asked: a new life goes on, without it.
            victim.kill(back);
            if (!victim.open()) {
                add(kind, turn, target, -1, differences, chat, probe, restored, down, why());
                return null;
            }
            List<String> wrong = new ArrayList<>(differences.wrong());
            wrong.addAll(differences(target).wrong());
            differences = new Differences(wrong, differences.moved(), differences.directories());
            back = victim.go();
        }
        add(kind, turn, target, recovered, differences, chat, probe, restored, down, "");
        found.keySet().removeIf(later -> later > target); // what follows comes anew
        return back;
    }

    /** Differences of the results up to that turn; those behind it come from tools that ran again. */
    private List<String> chat(int target, List<String> results) {
        Found then = found.get(target);
        return then == null
                ? List.of("nothing is known of turn " + target)
                : differences(
                        then.chat(), results.subList(0, Math.min(then.chat().size(), results.size())));
    }

    private Differences differences(int target) throws IOException {
        Found then = found.get(target);
        return then == null
                ? new Differences(List.of("nothing is known of turn " + target), List.of(), List.of())
                : then.state().differences(then.later(), then.at(), victim.look(), victim.openedAt(), times());
    }

    /** A policy that makes the sandbox anew runs its set-up anew as well: at another time. */
    private SandboxState.Times times() {
        return policy.equals(Policies.PODMAN)
                ? SandboxState.Times.ARCHIVED
                : saves() ? SandboxState.Times.ALL : SandboxState.Times.NONE;
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
            long restoreMillis,
            long down,
            String failure) {
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
                differences.directories(),
                chat,
                probe,
                probed() && kind == CrashKind.BOUNDARY,
                restoreMillis,
                down,
                failure));
    }

    private void finish(Asked asked) throws IOException, InterruptedException {
        asked.release().countDown();
        Asked next = victim.next();
        while (next != null) {
            next.release().countDown();
            next = victim.next();
        }
        String expected = ReplayModel.lastAnswer(trajectory.recording());
        if (!victim.answer().equals(expected)) {
            String why = "its last answer is \"" + victim.answer() + "\": " + why();
            int last = trajectory.turns();
            add(CrashKind.BOUNDARY, last, last, -1, Differences.NONE, List.of(), "", 0, 0, why);
        }
    }

    private String why() throws IOException {
        return (victim.failure().isEmpty() ? "it ended" : victim.failure()) + victim.log();
    }

    private static List<String> results(Asked asked) {
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

    private static void sleepUntil(long nanos) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(Math.max(0, nanos - System.nanoTime()));
    }
}

package dev.crab.samples.quickstart;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One run for each crash point: killed there, started again, and compared with the run that was not killed.
 *
 * <p>The points are those that the uncrashed run passed (each with its count), so a new point in the code is in the matrix by itself. The
 * points of the restore are only passed by a JVM that was started again: for these the first JVM is killed in the middle of its work, the
 * second one during the restore, and the third one has to get to the end.
 */
final class CrashMatrix {
    /** Names the points that a crash matrix has to have. */
    static final String ALL = "all";

    /** Names all points that there are. */
    static final String EVERY = "every";

    /** Where the first JVM is killed before the second one is killed in a restore: no process has to come back yet. */
    private static final String WITHOUT_PROCESSES = "tool.inside@8";

    /** The same, with processes. */
    private static final String WITH_PROCESSES = "tool.inside@17";

    private static final List<List<String>> RESTORES = List.of(
            List.of(WITHOUT_PROCESSES, "restore.begin@1"),
            List.of(WITHOUT_PROCESSES, "restore.prepared@1"),
            List.of(WITHOUT_PROCESSES, "restore.verified@1"),
            List.of(WITH_PROCESSES, "restore.begin@1"),
            List.of(WITH_PROCESSES, "restore.prepared@1"),
            List.of(WITH_PROCESSES, "restore.processes@1"),
            List.of(WITH_PROCESSES, "restore.verified@1"));

    /**
     * What a crash point led to.
     *
     * @param point the faults, one for each killed JVM
     * @param differences what is not as in the uncrashed run; empty if all is
     */
    record Outcome(List<String> point, List<String> differences) {
        boolean held() {
            return differences.isEmpty();
        }
    }

    private final AgentRunner runner;
    private final Sessions sessions;
    private final double speed;
    private final AgentRun reference;
    private final Narrator narrator;

    CrashMatrix(AgentRunner runner, Sessions sessions, double speed, AgentRun reference, Narrator narrator) {
        this.runner = runner;
        this.sessions = sessions;
        this.speed = speed;
        this.reference = reference;
        this.narrator = narrator;
    }

    /**
     * The crash points of the uncrashed run, and those of a restore.
     *
     * @param name only passings of that point; {@value #ALL} for turn boundaries, the inside of tool calls, and everything from the start
     *     of a capture to the end of a commit; {@value #EVERY} for those and all the rest, many of them moments in which nothing happens
     * @throws IllegalArgumentException if there is none of that name
     */
    static List<List<String>> points(AgentRun reference, String name) {
        Stream<List<String>> passed = reference.points().stream().map(List::of);
        List<List<String>> points = Stream.concat(passed, RESTORES.stream())
                .filter(point -> isMeant(point.get(point.size() - 1), name))
                .toList();
        if (points.isEmpty()) {
            Map<String, Long> known = reference.points().stream()
                    .collect(Collectors.groupingBy(CrashMatrix::point, TreeMap::new, Collectors.counting()));
            throw new IllegalArgumentException(
                    "no point " + name + " is passed; those that are: " + String.join(", ", known.keySet()));
        }
        return points;
    }

    private static boolean isMeant(String passing, String name) {
        String point = point(passing);
        return switch (name) {
            case EVERY -> true;
            case ALL -> point.matches("(capture|persist|manifest|commit|restore)\\..*|turn\\.boundary|tool\\.inside");
            default -> point.equals(name);
        };
    }

    private static String point(String passing) {
        return passing.substring(0, passing.indexOf('@'));
    }

    /** Runs them all, {@code parallel} at a time. */
    List<Outcome> run(List<List<String>> points, int parallel) {
        AtomicInteger done = new AtomicInteger();
        AtomicInteger failed = new AtomicInteger();
        ExecutorService workers = Executors.newFixedThreadPool(parallel);
        try {
            List<Future<Outcome>> futures = new ArrayList<>();
            for (List<String> point : points) {
                futures.add(workers.submit(() -> {
                    Outcome outcome = crash(point);
                    if (!outcome.held()) {
                        failed.incrementAndGet();
                        narrator.say("  FAILED " + String.join(", ", point));
                        outcome.differences().forEach(difference -> narrator.say("         " + difference));
                    }
                    int count = done.incrementAndGet();
                    narrator.progress(
                            "  " + count + " of " + points.size() + " runs, " + failed.get() + " failed; last: "
                                    + String.join(", ", point),
                            count % 10 == 0);
                    return outcome;
                }));
            }
            List<Outcome> outcomes = new ArrayList<>();
            for (Future<Outcome> future : futures) {
                outcomes.add(future.get());
            }
            return outcomes;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted between crashes", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("a run could not be carried out", e.getCause());
        } finally {
            workers.shutdownNow();
        }
    }

    private Outcome crash(List<String> point) {
        String session = sessions.next();
        try {
            return compare(point, runner.run(session, speed, point, false, AgentRunner.Listener.NONE));
        } finally {
            sessions.remove(session);
        }
    }

    private Outcome compare(List<String> point, AgentRun run) {
        List<String> differences = new ArrayList<>();
        for (int i = 0; i < point.size() && i < run.lives().size(); i++) {
            if (!(run.lives().get(i).ending() instanceof AgentProcess.Ending.Killed)) {
                differences.add("JVM " + (i + 1) + " never came to " + point.get(i));
            }
        }
        if (!run.finished()) {
            differences.add(Check.failure(run));
            return new Outcome(point, differences);
        }
        differences.addAll(Fingerprint.of(reference.end()).differences(Fingerprint.of(run.end())));
        if (!Fingerprint.sameService(run.end())) {
            differences.add("service: not the process that the chat knows");
        }
        run.repeated().forEach(operation -> differences.add("committed, and yet run again: " + operation.what()));
        run.refusals().forEach(refusal -> differences.add("the model refused a request: " + refusal));
        return new Outcome(point, differences);
    }
}

package dev.crab.samples.search;

import dev.crab.langchain4j.Crab;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/** The searches, each by branches and by running the prefix again; attempts of one step go side by side. */
final class Search {
    private final String name;
    private final long thinkNanos;
    private final int sideBySide;
    private final AtomicLong tokens = new AtomicLong();
    private final List<Attempt> attempts = new ArrayList<>();

    /**
     * A search.
     *
     * @param name begins the names of its sessions
     * @param sideBySide attempts that run at a time
     */
    Search(String name, long thinkNanos, int sideBySide) {
        this.name = name;
        this.thinkNanos = thinkNanos;
        this.sideBySide = sideBySide;
    }

    /** What has been tried, in its order. */
    List<Attempt> attempts() {
        return attempts;
    }

    /** What the model was paid for. */
    long tokens() {
        return tokens.get();
    }

    Attempt best() {
        return attempts.stream().max(Comparator.comparingInt(Attempt::score)).orElseThrow();
    }

    /** The answers of the n-th attempt of a best-of-N. */
    private static int first(int n) {
        return n % RepairTask.answers();
    }

    private static int second(int n) {
        return (n + n / RepairTask.answers() + 3) % RepairTask.answers();
    }

    private Attempt attempt(String session, int first, int second) {
        return Attempt.run(session, first, second, tokens, thinkNanos);
    }

    /** One goes all the way; the others begin at its decision. */
    void bestOfByBranches(int count) {
        attempts.add(attempt(name, first(0), second(0)));
        List<String> branches = Crab.branch(name, Attempt.DECISION, count - 1);
        List<Callable<Attempt>> steps = new ArrayList<>();
        for (int i = 1; i < count; i++) {
            int n = i;
            steps.add(() -> attempt(branches.get(n - 1), first(n), second(n)));
        }
        attempts.addAll(all(steps));
    }

    /** Each goes all the way. */
    void bestOfByPrefixes(int count) {
        List<Callable<Attempt>> steps = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int n = i;
            steps.add(() -> attempt(name + "-" + n, first(n), second(n)));
        }
        attempts.addAll(all(steps));
    }

    /** The first decision is tried with each answer, and the second with each behind the one that did best. */
    void treeByBranches() {
        attempts.add(attempt(name, 0, 0));
        List<String> branches = Crab.branch(name, Attempt.DECISION, RepairTask.answers() - 1);
        List<Callable<Attempt>> steps = new ArrayList<>();
        for (int i = 1; i < RepairTask.answers(); i++) {
            int answer = i;
            steps.add(() -> attempt(branches.get(answer - 1), answer, 0));
        }
        attempts.addAll(all(steps));
        Attempt best = bestFirst();
        List<String> deeper = Crab.branch(best.session(), Attempt.DECISION + 1, RepairTask.answers() - 1);
        steps.clear();
        for (int i = 1; i < RepairTask.answers(); i++) {
            int answer = i;
            steps.add(() -> attempt(deeper.get(answer - 1), best.first(), answer));
        }
        attempts.addAll(all(steps));
    }

    /** The same leaves, each from the beginning. */
    void treeByPrefixes() {
        List<Callable<Attempt>> steps = new ArrayList<>();
        for (int i = 0; i < RepairTask.answers(); i++) {
            int answer = i;
            steps.add(() -> attempt(name + "-" + answer, answer, 0));
        }
        attempts.addAll(all(steps));
        Attempt best = bestFirst();
        steps.clear();
        for (int i = 1; i < RepairTask.answers(); i++) {
            int answer = i;
            steps.add(() -> attempt(name + "-deep-" + answer, best.first(), answer));
        }
        attempts.addAll(all(steps));
    }

    private Attempt bestFirst() {
        return attempts.stream()
                .max(Comparator.comparingInt(Attempt::scoreAfterFirst))
                .orElseThrow();
    }

    private List<Attempt> all(List<Callable<Attempt>> steps) {
        ExecutorService threads = Executors.newFixedThreadPool(sideBySide);
        try {
            List<Attempt> done = new ArrayList<>();
            for (Future<Attempt> one : threads.invokeAll(steps)) {
                done.add(one.get());
            }
            return done;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } finally {
            threads.shutdown();
        }
    }
}

package dev.crab.samples.store;

import dev.crab.samples.common.AgentJvm;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * How a run is carried out.
 *
 * @param work where places are made
 * @param image the sandboxes' root file system
 * @param shim the library to preload
 * @param jvm starts victims
 * @param seed everything random follows from it
 * @param limit points of a row at most; 0: all
 * @param workers points tried side by side
 * @param err where progress is told
 */
record Plan(Path work, Path image, Path shim, AgentJvm jvm, long seed, int limit, int workers, PrintStream err) {
    /** Tries one point in a place. */
    @FunctionalInterface
    interface Trial<T> {
        Verdict run(Place place, String session, T point) throws IOException;
    }

    Place place(String name) {
        try {
            return new Place(work.resolve(name), image, jvm).emptied();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Random random(String row) {
        return new Random(seed * 31 + row.hashCode());
    }

    /** All of them, or where there are too many a random choice that keeps their order; what is needed is always in it. */
    <T> List<T> choose(String row, List<T> points, List<T> needed) {
        if (limit == 0 || points.size() <= limit) {
            return points;
        }
        List<T> order = new ArrayList<>(points);
        Collections.shuffle(order, random(row));
        Set<T> chosen = new HashSet<>(needed);
        order.stream().limit(limit).takeWhile(point -> chosen.size() < limit).forEach(chosen::add);
        return points.stream().filter(chosen::contains).toList();
    }

    /** Where one worker tries points, one after the other. */
    interface Lane<T> extends AutoCloseable {
        Verdict run(T point) throws IOException;

        @Override
        void close() throws IOException;
    }

    /** Makes a lane; the name is one that no other has at the same time. */
    @FunctionalInterface
    interface LaneMaker<T> {
        Lane<T> make(String name) throws IOException;
    }

    /** Tries every point, some side by side, each worker in a place of its own. */
    <T> void each(Tally tally, List<T> points, Trial<T> trial) {
        lanes(tally, points, name -> new PlaceLane<>(place(name), tally.row(), trial));
    }

    /** Tries every point, some side by side. */
    <T> void lanes(Tally tally, List<T> points, LaneMaker<T> maker) {
        ConcurrentLinkedQueue<T> left = new ConcurrentLinkedQueue<>(points);
        int count = Math.min(workers, points.size());
        ExecutorService threads = Executors.newFixedThreadPool(Math.max(1, count));
        try {
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                String name = tally.row() + "-" + i;
                running.add(threads.submit(() -> work(name, tally, left, points.size(), maker)));
            }
            for (Future<?> worker : running) {
                worker.get();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("row " + tally.row() + " cannot be carried out", e.getCause());
        } finally {
            threads.shutdownNow();
        }
    }

    private <T> void work(String name, Tally tally, ConcurrentLinkedQueue<T> left, int all, LaneMaker<T> maker) {
        try (Lane<T> lane = maker.make(name)) {
            for (T point = left.poll(); point != null; point = left.poll()) {
                told(tally, String.valueOf(point), lane.run(point), all);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A data directory, with a session for each point. */
    private record PlaceLane<T>(Place place, String row, Trial<T> trial) implements Lane<T> {
        @Override
        public Verdict run(T point) throws IOException {
            String session = place.nextSession(row);
            Verdict verdict = trial.run(place, session, point);
            place.clear(session);
            return verdict;
        }

        @Override
        public void close() throws IOException {
            place.close();
        }
    }

    /** Counts it, and says so where it is of interest. */
    void told(Tally tally, String point, Verdict verdict, int all) {
        tally.add(point, verdict);
        if (verdict.kind() == Verdict.Kind.MIX) {
            err.println(tally.row() + ": MIX at " + point + ": " + verdict.detail());
        } else if (tally.points() % 20 == 0) {
            err.println(tally.row() + ": " + tally.points() + " of " + all);
        }
    }
}

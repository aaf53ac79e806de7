package dev.crab.runtime.engine;

import dev.crab.runtime.os.FileDigest;
import dev.crab.runtime.os.FileTree;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Digests of the files that a walk through a tree meets, taken by the walking thread and a second one beside it. What is to be done with
 * them is done by the walking thread, in the order of the walk. Its methods are for that thread.
 *
 * <p>Few files are digested where they are met; only for more is a thread started.
 */
final class DigestsBeside implements AutoCloseable {
    /** What is to be done once a digest is there; it is empty where none was asked for. */
    @FunctionalInterface
    interface Then {
        void digested(String digest) throws IOException;
    }

    /** So many files are digested before there is a second thread. */
    static final int FEW = 16;

    /** So many files may wait for the second thread, open, and so many bytes. With more, the walking thread takes the next file itself. */
    private static final int MAX_WAITING = 32;

    private static final long MAX_WAITING_BYTES = 4 << 20;

    /** So many steps may wait for the digest of one before them. */
    private static final int MAX_STEPS = 4096;

    private static final class Job {
        final FileTree.@Nullable Content content;
        final long size;
        final CompletableFuture<String> digest = new CompletableFuture<>();

        Job(FileTree.@Nullable Content content, long size) {
            this.content = content;
            this.size = size;
        }

        /** Whatever comes of it, the walking thread is told. */
        void run(FileDigest with) {
            try (FileTree.Content opened = content) {
                digest.complete(opened == null ? "" : opened.sha256(with));
            } catch (Throwable e) {
                digest.completeExceptionally(e);
            }
        }
    }

    private record Step(@Nullable Job job, Then then) {
        boolean isReady() {
            return job == null || job.digest.isDone();
        }

        void take() throws IOException {
            then.digested(job == null ? "" : result(job));
        }

        private static String result(Job job) throws IOException {
            try {
                return job.digest.join();
            } catch (CompletionException e) {
                if (e.getCause() instanceof IOException failure) {
                    throw failure;
                }
                throw e;
            }
        }
    }

    private final Deque<Step> steps = new ArrayDeque<>();
    private final BlockingQueue<Job> waiting = new LinkedBlockingQueue<>();
    private final AtomicLong waitingBytes = new AtomicLong();
    private final Job end = new Job(null, 0);
    private final FileDigest own = new FileDigest();
    private @Nullable CompletableFuture<Void> second;
    private int files;

    /** Does it when all before it is done. */
    void then(Then then) throws IOException {
        add(new Step(null, then));
    }

    /** Does it with the digest of the regular file that is being visited, when all before it is done. */
    void digest(FileTree.Entry file, Then then) throws IOException {
        Job job = new Job(file.content(), file.size());
        if (++files <= FEW || waiting.size() >= MAX_WAITING || waitingBytes.get() >= MAX_WAITING_BYTES) {
            job.run(own);
        } else {
            if (second == null) {
                second = start();
            }
            waitingBytes.addAndGet(job.size);
            waiting.add(job);
        }
        add(new Step(job, then));
    }

    private void add(Step step) throws IOException {
        steps.add(step);
        if (steps.size() > MAX_STEPS) {
            help();
            steps.remove().take();
        }
        while (!steps.isEmpty() && steps.element().isReady()) {
            steps.remove().take();
        }
    }

    /** Digests what waits. Afterwards there is no digest that nobody is taking, even if the second thread has failed. */
    private void help() {
        for (Job job = waiting.poll(); job != null; job = waiting.poll()) {
            run(job, own);
        }
    }

    /** Returns once everything is done. */
    void finish() throws IOException {
        help();
        while (!steps.isEmpty()) {
            steps.remove().take();
        }
    }

    private void run(Job job, FileDigest with) {
        job.run(with);
        waitingBytes.addAndGet(-job.size);
    }

    private CompletableFuture<Void> start() {
        CompletableFuture<Void> ended = new CompletableFuture<>();
        Thread thread = new Thread(() -> takeOver(ended), "crab-digests");
        thread.setDaemon(true);
        thread.start();
        return ended;
    }

    private void takeOver(CompletableFuture<Void> ended) {
        try (FileDigest digest = new FileDigest()) {
            for (Job job = waiting.take(); job != end; job = waiting.take()) {
                run(job, digest);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // nobody does; those that wait are taken by finish or closed by close
        } finally {
            ended.complete(null);
        }
    }

    /** Ends the second thread: the tree may be deleted afterwards. Files that were not digested are closed. */
    @Override
    public void close() {
        for (Job job = waiting.poll(); job != null; job = waiting.poll()) {
            if (job.content != null) {
                job.content.close();
            }
        }
        if (second != null) {
            waiting.add(end);
            second.join();
        }
        own.close();
    }
}

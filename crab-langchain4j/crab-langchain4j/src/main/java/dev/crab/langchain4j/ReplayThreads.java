package dev.crab.langchain4j;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Where streamed responses are served from the journal: as with a provider, whoever starts a stream does not run its handlers. Each
 * response has a thread of its own, since LangChain4j waits for one within a handler of another; idle threads end by themselves.
 */
final class ReplayThreads {
    private static final AtomicInteger COUNT = new AtomicInteger();
    private static final ExecutorService THREADS =
            new ThreadPoolExecutor(0, Integer.MAX_VALUE, 5, TimeUnit.SECONDS, new SynchronousQueue<>(), work -> {
                Thread thread = new Thread(work, "crab-replay-" + COUNT.incrementAndGet());
                thread.setDaemon(true);
                return thread;
            });

    private ReplayThreads() {}

    static void run(Runnable work) {
        THREADS.execute(work);
    }
}

package dev.crab.overlap.schedule;

import dev.crab.overlap.schedule.SchedulerSettings.HostWide;
import dev.crab.runtime.error.CrabException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where this process asks: at its own queue, with which it serves the host if nobody else does; else at that of the program which does.
 * When that one dies another takes its place: whoever gets the lock serves, the others find it.
 */
final class DeskChoice implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DeskChoice.class);

    /** How long a choice may take before this process goes on by itself, and the pauses between attempts. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private static final Duration PAUSE = Duration.ofMillis(10);
    /** How often one that goes on by itself looks whether it has to. */
    private static final Duration AGAIN = Duration.ofSeconds(10);

    private final SchedulerSettings settings;
    private final ReentrantLock lock;
    private final LongSupplier clock;
    private final ScheduledThreadPoolExecutor timer;
    private final Consumer<@Nullable Desk> onChange;

    // Guarded by lock.
    private @Nullable Desk desk;
    private @Nullable Broker broker;
    private String description = "nowhere yet";
    private boolean told;
    private boolean closed;

    /** What one attempt led to. */
    private record Found(Desk desk, @Nullable Broker broker, String description) {}

    DeskChoice(
            SchedulerSettings settings,
            ReentrantLock lock,
            LongSupplier clock,
            ScheduledThreadPoolExecutor timer,
            Consumer<@Nullable Desk> onChange) {
        this.settings = settings;
        this.lock = lock;
        this.clock = clock;
        this.timer = timer;
        this.onChange = onChange;
    }

    /** The first choice, made on the calling thread. */
    void first() {
        if (settings.hostWide() == HostWide.OFF) {
            take(new Found(newDesk(), null, "by itself"));
            return;
        }
        try {
            take(find(PATIENCE));
        } catch (IOException e) {
            if (settings.hostWide() == HostWide.ON) {
                throw CrabException.io("the programs of this host cannot schedule their captures together", e);
            }
            byItself(e);
        }
    }

    String describe() {
        lock.lock();
        try {
            return description;
        } finally {
            lock.unlock();
        }
    }

    private LocalDesk newDesk() {
        return new LocalDesk(settings.policy(), lock, clock, timer);
    }

    private Found find(Duration patience) throws IOException {
        long end = clock.getAsLong() + patience.toNanos();
        MeetingPlace place = MeetingPlace.at(settings.directory());
        while (true) {
            LocalDesk own = newDesk();
            Broker serving = Broker.open(place, own, lock);
            if (serving != null) {
                return new Found(own, serving, "serves the host at " + place.socket());
            }
            try {
                BrokerClient client = BrokerClient.connect(place, lock, this::lost);
                return new Found(client, null, "asks whoever serves the host at " + place.socket());
            } catch (IOException e) {
                // Whoever has the lock may not have got so far as to serve, or has just died.
                if (clock.getAsLong() >= end) {
                    throw e;
                }
                pause(e);
            }
        }
    }

    private static void pause(IOException before) throws IOException {
        try {
            Thread.sleep(PAUSE.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw before;
        }
    }

    private void take(Found found) {
        boolean late;
        lock.lock();
        try {
            late = closed;
            if (!late) {
                Desk before = desk;
                desk = found.desk();
                broker = found.broker();
                description = found.description();
                onChange.accept(found.desk());
                if (before != null) {
                    before.close();
                }
                if (found.desk() instanceof BrokerClient client && client.isGone()) {
                    // Before anybody could have been told.
                    lost(client);
                }
            }
        } finally {
            lock.unlock();
        }
        if (late) {
            found.desk().close();
            if (found.broker() != null) {
                found.broker().close();
            }
        }
    }

    /** The server is gone: what it granted is void, and each job has to be announced to whoever comes next. */
    private void lost(BrokerClient client) {
        lock.lock();
        try {
            if (closed || desk != client) {
                return;
            }
            desk = null;
            description = "looks for whoever serves the host";
            onChange.accept(null);
            timer.execute(this::again);
        } finally {
            lock.unlock();
        }
    }

    private void again() {
        try {
            take(find(PATIENCE));
        } catch (IOException e) {
            byItself(e);
        } catch (RuntimeException e) {
            byItself(new IOException(e));
        }
    }

    private void byItself(IOException why) {
        boolean tell;
        lock.lock();
        try {
            if (closed) {
                return;
            }
            tell = !told;
            told = true;
            if (desk == null) {
                take(new Found(newDesk(), null, "by itself"));
            }
            var unused = timer.schedule(this::retry, AGAIN.toMillis(), TimeUnit.MILLISECONDS);
        } finally {
            lock.unlock();
        }
        if (tell) {
            LOG.warn(
                    "Captures are scheduled among the sandboxes of this program alone, since the programs of this host cannot"
                            + " meet at {}: {}. Turns are not affected; it is tried again from time to time",
                    settings.directory(),
                    CrabException.io("", why).why());
        }
    }

    private void retry() {
        try {
            take(find(Duration.ZERO));
        } catch (IOException | RuntimeException e) {
            byItself(e instanceof IOException io ? io : new IOException(e));
        }
    }

    @Override
    public void close() {
        Broker serving;
        lock.lock();
        try {
            closed = true;
            if (desk != null) {
                desk.close();
                desk = null;
            }
            serving = broker;
            broker = null;
            description = "closed";
        } finally {
            lock.unlock();
        }
        if (serving != null) {
            serving.close();
        }
    }
}

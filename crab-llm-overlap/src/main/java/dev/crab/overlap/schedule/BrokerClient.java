package dev.crab.overlap.schedule;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The queue of another program of this host. */
final class BrokerClient implements Desk {
    /** How long a server may take to answer the greeting. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final ReentrantLock lock;
    private final Consumer<BrokerClient> onLost;
    private final CompletableFuture<ChannelHandlerContext> welcome = new CompletableFuture<>();

    // Guarded by lock.
    private final Map<Long, Consumer<JobState>> applicants = new HashMap<>();
    private @Nullable ChannelHandlerContext context;
    private long jobs;
    private boolean closed;

    private BrokerClient(ReentrantLock lock, Consumer<BrokerClient> onLost) {
        this.lock = lock;
        this.onLost = onLost;
    }

    /**
     * Connects; called without the lock.
     *
     * @param onLost told, on a thread of its own accord and without the lock, when the server is gone or silent
     * @throws IOException if there is nobody, or nobody who answers
     */
    static BrokerClient connect(MeetingPlace place, ReentrantLock lock, Consumer<BrokerClient> onLost)
            throws IOException {
        BrokerClient client = new BrokerClient(lock, onLost);
        int user = MeetingPlace.self();
        ChannelFuture connecting = new Bootstrap()
                .group(Wire.Loop.GROUP)
                .channel(EpollDomainSocketChannel.class)
                .handler(client.new Connection(user))
                .connect(new DomainSocketAddress(place.socket().toFile()));
        boolean done = false;
        try {
            ChannelHandlerContext opened = client.welcome.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            lock.lock();
            try {
                if (client.closed) {
                    throw new IOException("whoever serves " + place.socket() + " has just gone");
                }
                client.context = opened;
            } finally {
                lock.unlock();
            }
            done = true;
            return client;
        } catch (ExecutionException e) {
            throw new IOException(String.valueOf(e.getCause()), e);
        } catch (TimeoutException e) {
            throw new IOException("whoever serves " + place.socket() + " does not answer", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } finally {
            if (!done) {
                client.close();
                var unused = connecting.channel().close();
            }
        }
    }

    /** Whether the server is gone. */
    boolean isGone() {
        return closed;
    }

    @Override
    public Place enter(Application application, Consumer<JobState> granted) {
        long id = ++jobs;
        applicants.put(id, granted);
        ChannelHandlerContext to = context;
        if (to != null) {
            send(Wire.enter(to, id, application));
        }
        return new RemotePlace(id);
    }

    private void send(ByteBuf frame) {
        ChannelHandlerContext to = context;
        if (to == null) {
            frame.release();
        } else {
            // A failed write closes the channel, and its end is heard of.
            var unused = to.writeAndFlush(frame);
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            applicants.clear();
            if (context != null) {
                var unused = context.close();
                context = null;
            }
        } finally {
            lock.unlock();
        }
    }

    private final class RemotePlace implements Place {
        private final long id;

        RemotePlace(long id) {
            this.id = id;
        }

        private void tell(int kind) {
            ChannelHandlerContext to = context;
            if (to != null) {
                send(Wire.job(to, kind, id));
            }
        }

        @Override
        public void promote() {
            tell(Wire.PROMOTE);
        }

        @Override
        public void captured(long bytes) {
            ChannelHandlerContext to = context;
            if (to != null) {
                send(Wire.captured(to, id, bytes));
            }
        }

        @Override
        public void force() {
            tell(Wire.FORCE);
        }

        @Override
        public void end(long bytes) {
            applicants.remove(id);
            ChannelHandlerContext to = context;
            if (to != null) {
                send(Wire.end(to, id, bytes));
            }
        }
    }

    /** Its methods run on the loop. */
    private final class Connection extends Wire.Receiver {
        private final int user;
        private long heardAt = System.nanoTime();

        Connection(int user) {
            this.user = user;
        }

        @Override
        public void channelActive(ChannelHandlerContext opened) throws IOException {
            int peer = ((EpollDomainSocketChannel) opened.channel())
                    .peerCredentials()
                    .uid();
            if (peer != user) {
                throw new Wire.Malformed("user " + peer + " serves it");
            }
            var unused = opened.writeAndFlush(Wire.hello(opened));
            beat(opened);
        }

        private void beat(ChannelHandlerContext opened) {
            var unused = opened.executor()
                    .schedule(
                            () -> {
                                if (!opened.channel().isActive()) {
                                    return;
                                }
                                if (System.nanoTime() - heardAt > Wire.SERVER_SILENT.toNanos()) {
                                    var unusedEnd = opened.close();
                                } else {
                                    var unusedSent = opened.writeAndFlush(Wire.empty(opened, Wire.PING));
                                    beat(opened);
                                }
                            },
                            Wire.BEAT.toMillis(),
                            TimeUnit.MILLISECONDS);
        }

        @Override
        void received(ChannelHandlerContext from, int kind, ByteBuf frame) throws IOException {
            heardAt = System.nanoTime();
            switch (kind) {
                case Wire.WELCOME -> welcome.complete(from);
                case Wire.REFUSED ->
                    throw new Wire.Malformed("whoever serves speaks version " + frame.readUnsignedShort()
                            + " of the protocol, and this program " + Wire.VERSION);
                case Wire.GRANT -> {
                    long id = frame.readLong();
                    JobState state = Wire.state(frame);
                    lock.lock();
                    try {
                        Consumer<JobState> applicant = applicants.get(id);
                        if (applicant != null) {
                            applicant.accept(state);
                        }
                    } finally {
                        lock.unlock();
                    }
                }
                case Wire.PONG -> {
                    // It is alive.
                }
                default -> throw new Wire.Malformed("a frame of kind " + kind);
            }
        }

        @Override
        void ended(ChannelHandlerContext from, String why) {
            boolean lost;
            lock.lock();
            try {
                lost = !closed && context != null;
                context = null;
                closed = true;
            } finally {
                lock.unlock();
            }
            if (!welcome.completeExceptionally(new IOException(why)) && lost) {
                onLost.accept(BrokerClient.this);
            }
        }
    }
}

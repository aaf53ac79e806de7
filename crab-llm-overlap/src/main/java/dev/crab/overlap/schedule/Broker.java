package dev.crab.overlap.schedule;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.channel.unix.UnixChannel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Serves the other programs of the host with the queue of this one. */
final class Broker implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Broker.class);

    private static final int CONNECTIONS = 4096;
    private static final int JOBS = 100_000;

    private final MeetingPlace place;
    private final MeetingPlace.Service service;
    private final LocalDesk desk;
    private final ReentrantLock lock;
    private final int user;
    private final Channel channel;

    // Guarded by lock.
    private final Set<Connection> connections = new HashSet<>();
    private long connected;
    private boolean closed;

    private Broker(MeetingPlace place, MeetingPlace.Service service, LocalDesk desk, ReentrantLock lock)
            throws IOException {
        this.place = place;
        this.service = service;
        this.desk = desk;
        this.lock = lock;
        this.user = MeetingPlace.self();
        // Whoever had the lock before is dead, or has let go of his socket.
        Files.deleteIfExists(place.socket());
        ChannelFuture bound = new ServerBootstrap()
                .group(Wire.Loop.GROUP)
                .channel(EpollServerDomainSocketChannel.class)
                .childHandler(new ChannelInitializer<EpollDomainSocketChannel>() {
                    @Override
                    protected void initChannel(EpollDomainSocketChannel child) {
                        child.pipeline().addLast(new Connection());
                    }
                })
                .bind(new DomainSocketAddress(place.socket().toFile()))
                .awaitUninterruptibly();
        if (!bound.isSuccess()) {
            throw new IOException(place.socket() + " cannot be served", bound.cause());
        }
        this.channel = bound.channel();
        try {
            Files.setPosixFilePermissions(place.socket(), PosixFilePermissions.fromString("rw-------"));
        } catch (IOException e) {
            channel.close().awaitUninterruptibly();
            throw e;
        }
    }

    /** Serves from now on; null if another process does. */
    static @Nullable Broker open(MeetingPlace place, LocalDesk desk, ReentrantLock lock) throws IOException {
        MeetingPlace.Service service = place.serve();
        if (service == null) {
            return null;
        }
        boolean done = false;
        try {
            Broker broker = new Broker(place, service, desk, lock);
            done = true;
            return broker;
        } finally {
            if (!done) {
                service.close();
            }
        }
    }

    /** Ends all connections; what they hold is theirs to announce to whoever serves next. Idempotent; called without the lock. */
    @Override
    public void close() {
        Set<Connection> open;
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            open = Set.copyOf(connections);
        } finally {
            lock.unlock();
        }
        try {
            Files.deleteIfExists(place.socket());
        } catch (IOException e) {
            LOG.debug("{} stays, and is removed by whoever serves next", place.socket(), e);
        }
        channel.close().awaitUninterruptibly();
        try {
            // Before the connections: those who are told by their end find nobody in the way.
            service.close();
        } catch (IOException e) {
            LOG.debug("the lock of {} ends with the process", place.socket(), e);
        }
        open.forEach(Connection::end);
    }

    /** One client. Its methods run on the loop. */
    private final class Connection extends Wire.Receiver {
        private final Map<Long, Desk.Place> jobs = new HashMap<>();
        private @Nullable ChannelHandlerContext context;
        private String prefix = "";
        private boolean welcome;
        private long heardAt = System.nanoTime();

        @Override
        public void channelActive(ChannelHandlerContext opened) throws IOException {
            context = opened;
            int peer = ((UnixChannel) opened.channel()) instanceof EpollDomainSocketChannel socket
                    ? socket.peerCredentials().uid()
                    : -1;
            lock.lock();
            try {
                if (closed || peer != user || connections.size() >= CONNECTIONS) {
                    LOG.warn("A scheduler of user {} is turned away", peer);
                    var unused = opened.close();
                    return;
                }
                connections.add(this);
                prefix = ++connected + "/";
            } finally {
                lock.unlock();
            }
            watch(opened);
        }

        private void watch(ChannelHandlerContext opened) {
            var unused = opened.executor()
                    .schedule(
                            () -> {
                                if (opened.channel().isActive()) {
                                    if (System.nanoTime() - heardAt > Wire.CLIENT_SILENT.toNanos()) {
                                        var unusedEnd = opened.close();
                                    } else {
                                        watch(opened);
                                    }
                                }
                            },
                            Wire.BEAT.toMillis(),
                            TimeUnit.MILLISECONDS);
        }

        @Override
        void received(ChannelHandlerContext from, int kind, ByteBuf frame) throws IOException {
            heardAt = System.nanoTime();
            if (!welcome) {
                greet(from, kind, frame);
                return;
            }
            if (kind == Wire.PING) {
                var unused = from.writeAndFlush(Wire.empty(from, Wire.PONG));
                return;
            }
            long id = frame.readLong();
            lock.lock();
            try {
                if (!closed) {
                    job(from, kind, id, frame);
                }
            } finally {
                lock.unlock();
            }
        }

        private void greet(ChannelHandlerContext from, int kind, ByteBuf frame) throws IOException {
            if (kind != Wire.HELLO || frame.readInt() != Wire.MAGIC) {
                throw new Wire.Malformed("no greeting");
            }
            welcome = frame.readUnsignedShort() == Wire.VERSION;
            ChannelFuture sent = from.writeAndFlush(Wire.answer(from, welcome ? Wire.WELCOME : Wire.REFUSED));
            if (!welcome) {
                var unused = sent.addListener(ChannelFutureListener.CLOSE);
            }
        }

        private void job(ChannelHandlerContext from, int kind, long id, ByteBuf frame) throws IOException {
            if (kind == Wire.ENTER) {
                if (jobs.size() >= JOBS || jobs.containsKey(id)) {
                    throw new Wire.Malformed("job " + id + " among " + jobs.size());
                }
                jobs.put(id, desk.enter(Wire.application(frame, prefix), granted -> grant(from, id, granted)));
                return;
            }
            Desk.Place asked = jobs.get(id);
            if (asked == null) {
                throw new Wire.Malformed("job " + id + ", which is none");
            }
            switch (kind) {
                case Wire.PROMOTE -> asked.promote();
                case Wire.CAPTURED -> asked.captured(Wire.bytes(frame));
                case Wire.FORCE -> asked.force();
                case Wire.END -> {
                    jobs.remove(id);
                    asked.end(Wire.bytes(frame));
                }
                default -> throw new Wire.Malformed("a frame of kind " + kind);
            }
        }

        private static void grant(ChannelHandlerContext to, long id, JobState state) {
            var unused = to.writeAndFlush(Wire.grant(to, id, state));
        }

        @Override
        void ended(ChannelHandlerContext from, String why) {
            lock.lock();
            try {
                if (connections.remove(this) && !closed) {
                    LOG.debug("A scheduler is gone with {} jobs: {}", jobs.size(), why);
                    // Whoever is dead holds nothing; whoever lives announces what he holds when he connects again.
                    jobs.values().forEach(job -> job.end(0));
                }
                jobs.clear();
            } finally {
                lock.unlock();
            }
        }

        private void end() {
            ChannelHandlerContext current = context;
            if (current != null) {
                var unused = current.close();
            }
        }
    }
}

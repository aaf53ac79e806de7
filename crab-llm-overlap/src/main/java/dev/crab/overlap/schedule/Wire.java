package dev.crab.overlap.schedule;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

/**
 * What programs say to each other on the socket, as {@code docs/scheduler.md} specifies it: frames of two bytes of length, one of kind, and
 * the fields. Nothing that is received is trusted: what does not fit ends the connection.
 */
final class Wire {
    static final int MAGIC = 0x43524142;
    static final int VERSION = 2;
    /** Bytes of a frame behind its length. */
    static final int MOST = 512;
    /** Bytes of a sandbox's name. */
    static final int NAME = 200;

    /** How often a client shows that it is alive; how long each end waits for a sign of the other. */
    static final Duration BEAT = Duration.ofSeconds(1);

    static final Duration SERVER_SILENT = Duration.ofSeconds(8);
    static final Duration CLIENT_SILENT = Duration.ofSeconds(15);

    // From clients.
    static final int HELLO = 1;
    static final int ENTER = 2;
    static final int PROMOTE = 3;
    static final int CAPTURED = 4;
    static final int FORCE = 5;
    static final int END = 6;
    static final int PING = 7;
    // From the server.
    static final int WELCOME = 65;
    static final int REFUSED = 66;
    static final int GRANT = 67;
    static final int PONG = 68;

    /** By their numbers on the wire. */
    private static final List<JobKind> KINDS = List.of(JobKind.FILES, JobKind.PROCESSES);

    private static final List<JobState> STATES =
            List.of(JobState.WAITING, JobState.CAPTURING, JobState.CAPTURED, JobState.PERSISTING, JobState.OVER);

    private static final long DAY = Duration.ofDays(1).toNanos();
    private static final long MOST_BYTES = 1L << 50;

    /** One loop for all connections of the process: it only moves messages. */
    static final class Loop {
        // Deprecated in netty 4.2, but there in 4.1 as well, which Spring Boot 3 brings.
        @SuppressWarnings("deprecation")
        static final EventLoopGroup GROUP =
                new EpollEventLoopGroup(1, new DefaultThreadFactory("crab-scheduler-io", true));

        private Loop() {}
    }

    /** What does not fit the protocol. */
    static final class Malformed extends IOException {
        private static final long serialVersionUID = 1L;

        Malformed(String why) {
            super(why);
        }
    }

    private Wire() {}

    static ByteBuf frame(ChannelHandlerContext context, int kind, int room) {
        ByteBuf frame = context.alloc().buffer(room + 3);
        return frame.writeShort(room + 1).writeByte(kind);
    }

    static ByteBuf empty(ChannelHandlerContext context, int kind) {
        return frame(context, kind, 0);
    }

    static ByteBuf hello(ChannelHandlerContext context) {
        return frame(context, HELLO, 6).writeInt(MAGIC).writeShort(VERSION);
    }

    /** WELCOME or REFUSED. */
    static ByteBuf answer(ChannelHandlerContext context, int kind) {
        return frame(context, kind, 2).writeShort(VERSION);
    }

    /** PROMOTE or FORCE. */
    static ByteBuf job(ChannelHandlerContext context, int kind, long id) {
        return frame(context, kind, 8).writeLong(id);
    }

    static ByteBuf captured(ChannelHandlerContext context, long id, long bytes) {
        return frame(context, CAPTURED, 16).writeLong(id).writeLong(bytes);
    }

    static ByteBuf end(ChannelHandlerContext context, long id, long bytes) {
        return frame(context, END, 16).writeLong(id).writeLong(bytes);
    }

    static ByteBuf grant(ChannelHandlerContext context, long id, JobState state) {
        return frame(context, GRANT, 9).writeLong(id).writeByte(STATES.indexOf(state));
    }

    static ByteBuf enter(ChannelHandlerContext context, long id, Desk.Application application) {
        byte[] name = application.sandbox().getBytes(StandardCharsets.UTF_8);
        int length = Math.min(NAME, name.length);
        return frame(context, ENTER, 29 + length)
                .writeLong(id)
                .writeByte(KINDS.indexOf(application.kind()))
                .writeByte(STATES.indexOf(application.state()))
                .writeByte(application.promoted() ? 1 : 0)
                .writeLong(application.dueIn())
                .writeLong(application.unwritten())
                .writeShort(length)
                .writeBytes(name, 0, length);
    }

    static Desk.Application application(ByteBuf frame, String prefix) throws Malformed {
        JobKind kind = constant(KINDS, frame.readUnsignedByte());
        JobState state = state(frame);
        boolean promoted = frame.readUnsignedByte() != 0;
        long dueIn = Math.max(-DAY, Math.min(DAY, frame.readLong()));
        long unwritten = bytes(frame);
        int length = frame.readUnsignedShort();
        if (length > NAME || length != frame.readableBytes() || state == JobState.OVER) {
            throw new Malformed("a job with a name of " + length + " bytes and state " + state);
        }
        String name = frame.readCharSequence(length, StandardCharsets.UTF_8).toString();
        return new Desk.Application(prefix + name, kind, state, dueIn, promoted, unwritten);
    }

    static JobState state(ByteBuf frame) throws Malformed {
        return constant(STATES, frame.readUnsignedByte());
    }

    static long bytes(ByteBuf frame) {
        return Math.max(0, Math.min(MOST_BYTES, frame.readLong()));
    }

    private static <T> T constant(List<T> all, int index) throws Malformed {
        if (index >= all.size()) {
            throw new Malformed("number " + index + " where there are " + all.size());
        }
        return all.get(index);
    }

    /** Cuts what arrives into frames. What a frame throws ends the connection. */
    abstract static class Receiver extends ChannelInboundHandlerAdapter {
        private final byte[] partial = new byte[MOST + 2];
        private int filled;

        /** One frame, whose reading index is behind the kind. */
        abstract void received(ChannelHandlerContext context, int kind, ByteBuf frame) throws IOException;

        /** The connection is over. */
        abstract void ended(ChannelHandlerContext context, String why);

        private String why = "the other end closed it";

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
            ByteBuf bytes = (ByteBuf) message;
            try {
                while (bytes.isReadable()) {
                    if (filled < 2) {
                        partial[filled++] = bytes.readByte();
                        continue;
                    }
                    int length = (partial[0] & 0xff) << 8 | (partial[1] & 0xff);
                    if (length < 1 || length > MOST) {
                        throw new Malformed("a frame of " + length + " bytes");
                    }
                    int take = Math.min(length + 2 - filled, bytes.readableBytes());
                    bytes.readBytes(partial, filled, take);
                    filled += take;
                    if (filled == length + 2) {
                        filled = 0;
                        ByteBuf frame = Unpooled.wrappedBuffer(partial, 2, length);
                        received(context, frame.readUnsignedByte(), frame);
                    }
                }
            } finally {
                ReferenceCountUtil.release(bytes);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            ended(context, why);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            why = String.valueOf(cause);
            var unused = context.close();
        }
    }
}

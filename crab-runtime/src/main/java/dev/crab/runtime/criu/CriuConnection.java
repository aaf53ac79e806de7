package dev.crab.runtime.criu;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.crab.runtime.os.NativeFd;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.EOFException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The message channel to one CRIU process. Netty's domain socket channel reads whatever the descriptor is; on a SEQPACKET socket each
 * read is one message, as long as the buffer holds it whole. Messages are handed to the thread that asks for them, so that what is done
 * at a notification blocks nobody else's.
 */
final class CriuConnection implements AutoCloseable {
    private static final int MAX_MESSAGE = 1 << 16;

    /** One loop for all connections of the process: it only moves messages. */
    private static final class Loop {
        // Deprecated in netty 4.2, but there in 4.1 as well, which Spring Boot 3 brings.
        @SuppressWarnings("deprecation")
        static final EventLoopGroup GROUP = new EpollEventLoopGroup(1, new DefaultThreadFactory("crab-criu", true));
    }

    /** A message, or the end of the connection and why. */
    private record Event(
            Rpc.@Nullable Response response, @Nullable IOException end) {}

    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private final EpollDomainSocketChannel channel;

    /** Takes the descriptor over. */
    CriuConnection(NativeFd socket) throws IOException {
        // Loads Netty's native part, which a channel made of a descriptor takes for granted.
        EventLoopGroup loop = Loop.GROUP;
        this.channel = new EpollDomainSocketChannel(socket.release());
        channel.config().setRecvByteBufAllocator(new FixedRecvByteBufAllocator(MAX_MESSAGE));
        channel.pipeline().addLast(new Receiver());
        if (!loop.register(channel).awaitUninterruptibly().isSuccess()) {
            channel.unsafe().closeForcibly();
            throw new IOException("the socket to CRIU cannot be watched");
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // a void promise tells nothing
    void send(Rpc.Request request) {
        // A failed write closes the channel, and the reader learns of it.
        ChannelFuture unused =
                channel.writeAndFlush(Unpooled.wrappedBuffer(request.toByteArray()), channel.voidPromise());
    }

    /**
     * The next message.
     *
     * @return null if the time passed
     * @throws IOException if the connection has ended
     */
    Rpc.@Nullable Response receive(Duration limit) throws IOException, InterruptedException {
        Event event = events.poll(limit.toNanos(), TimeUnit.NANOSECONDS);
        if (event == null) {
            return null;
        }
        if (event.response() != null) {
            return event.response();
        }
        events.add(event);
        throw new EOFException(
                event.end() == null ? "CRIU ended" : String.valueOf(event.end().getMessage()));
    }

    @Override
    public void close() {
        channel.close().awaitUninterruptibly();
    }

    private final class Receiver extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf message) {
            try {
                events.add(new Event(Rpc.Response.parseFrom(message.nioBuffer()), null));
            } catch (InvalidProtocolBufferException e) {
                events.add(new Event(null, e));
                ChannelFuture unused = context.close();
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            events.add(new Event(null, new EOFException("CRIU closed the connection")));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            events.add(new Event(null, new IOException(cause)));
            ChannelFuture unused = context.close();
        }
    }
}

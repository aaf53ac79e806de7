package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import java.io.IOException;

/** A connected pair of unix sockets that keep the bounds of messages (SOCK_SEQPACKET), which Java's own channels cannot make. */
public final class SeqPacketSocket {
    /**
     * Two ends of one connection; both close on exec.
     *
     * @param ours the end that stays in this process
     * @param theirs the end for a child; close it here as soon as the child has it
     */
    public record Pair(NativeFd ours, NativeFd theirs) {}

    private SeqPacketSocket() {}

    /** Makes a connected pair. */
    public static Pair pair() throws IOException {
        int[] ends = new int[2];
        try {
            LibC.C.socketpair(LibC.AF_UNIX, LibC.SOCK_SEQPACKET | LibC.SOCK_CLOEXEC, 0, ends);
        } catch (LastErrorException e) {
            throw IoErrors.asIoException("socketpair", e);
        }
        return new Pair(new NativeFd(ends[0]), new NativeFd(ends[1]));
    }
}

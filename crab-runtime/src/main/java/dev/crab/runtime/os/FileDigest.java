package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Reads files of a tree and digests them as {@link FileTree.Entry#sha256} says, through a buffer of its own. Not thread-safe. */
public final class FileDigest implements AutoCloseable {
    /** Files up to this many bytes have plain digests: 1 MiB. */
    static final long PLAIN_LIMIT = 1 << 20;

    private static final int BLOCK = 1 << 17;
    private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(BLOCK);
    private static final int SEEK_DATA = 3;
    private static final int EIO = 5;
    private static final int ENXIO = 6;

    private final Memory buffer = new Memory(BLOCK);
    private final ByteBuffer view = buffer.getByteBuffer(0, BLOCK);
    private final MessageDigest sha256;

    public FileDigest() {
        try {
            this.sha256 = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    String of(NativeFd fd, long size) {
        sha256.reset();
        if (size <= PLAIN_LIMIT) {
            for (long offset = 0; offset < size; offset += BLOCK) {
                sha256.update(block(fd, offset, size));
            }
        } else {
            digestBlocks(fd, size);
        }
        return HexFormat.of().formatHex(sha256.digest());
    }

    /** Holes are jumped over, so that a file of a terabyte of nothing costs nothing; and data that is zero counts as a hole. */
    private void digestBlocks(NativeFd fd, long size) {
        ByteBuffer number = ByteBuffer.allocate(8);
        long offset = 0;
        while ((offset = nextData(fd, offset)) < size) {
            offset = offset / BLOCK * BLOCK;
            ByteBuffer block = block(fd, offset, size);
            if (block.mismatch(ZEROS.duplicate().limit(block.limit())) >= 0) {
                sha256.update(number.putLong(0, offset).rewind());
                sha256.update(block);
            }
            offset += BLOCK;
        }
        sha256.update(number.putLong(0, size).rewind());
    }

    private static long nextData(NativeFd fd, long offset) {
        try {
            return FileTree.Calls.lseek(fd.number(), offset, SEEK_DATA);
        } catch (LastErrorException e) {
            if (e.getErrorCode() == ENXIO) {
                return Long.MAX_VALUE;
            }
            throw e;
        }
    }

    /** The file's bytes from that offset to the end of the block or the file; what cannot be read counts as the tree having changed. */
    private ByteBuffer block(NativeFd fd, long offset, long size) {
        int wanted = (int) Math.min(BLOCK, size - offset);
        int got = 0;
        while (got < wanted) {
            int length = (int) FileTree.Calls.pread(fd.number(), buffer.share(got), wanted - got, offset + got);
            if (length == 0) {
                throw new LastErrorException(EIO);
            }
            got += length;
        }
        return view.duplicate().limit(wanted);
    }

    @Override
    public void close() {
        buffer.close();
    }
}

package dev.crab.samples.store;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** What the shim, the victim and the driver share: a mapped file of three numbers, see {@code shim.h}. */
final class Control {
    private static final int CLOCK = 0;
    private static final int DISARMED = 8;
    private static final int OPERATIONS = 16;

    /** Its length; all zeros at first. */
    static final int BYTES = 24;

    private final MappedByteBuffer shared;

    private Control(MappedByteBuffer shared) {
        this.shared = shared;
    }

    /** Maps the file, which must be there. */
    static Control open(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MappedByteBuffer shared = channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES);
            shared.order(ByteOrder.nativeOrder());
            return new Control(shared);
        }
    }

    /** Moves the victim's clock of the day away from the host's. */
    void clock(long seconds) {
        shared.putLong(CLOCK, seconds);
    }

    /** From now on nothing fails any more. */
    void disarm() {
        shared.putLong(DISARMED, 1);
    }

    /** Operations on the store so far. */
    long operations() {
        return shared.getLong(OPERATIONS);
    }
}

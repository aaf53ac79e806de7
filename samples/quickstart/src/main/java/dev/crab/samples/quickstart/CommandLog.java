package dev.crab.samples.quickstart;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * Append-only record, on the host and outside of everything Crab restores, of what was really run in the sandbox. It is how the
 * quickstart knows that a tool ran once or twice: the chat and the sandbox cannot tell, since both are put back.
 *
 * <p>Thread-safe. One line an operation: {@code LIFE<TAB>OPERATION}, where LIFE counts the JVMs of a run from 1.
 */
final class CommandLog {
    /**
     * A line of the log.
     *
     * @param life which JVM of the run did it, from 1
     * @param operation what it did
     */
    record Entry(int life, String operation) {}

    private final Path file;
    private final int life;

    CommandLog(Path file, int life) {
        this.file = file;
        this.life = life;
    }

    /** Writes the line before the operation starts, and through to the disk: it must be there if the JVM is killed in the middle. */
    synchronized void append(String operation) {
        String line = life + "\t" + operation.replace("\\", "\\\\").replace("\n", "\\n") + "\n";
        try (FileChannel out = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            out.write(ByteBuffer.wrap(line.getBytes(StandardCharsets.UTF_8)));
            out.force(false);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static List<Entry> read(Path file) {
        try {
            return !Files.exists(file)
                    ? List.of()
                    : Files.readAllLines(file).stream()
                            .map(line -> line.split("\t", 2))
                            .map(parts -> new Entry(Integer.parseInt(parts[0]), parts[1]))
                            .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

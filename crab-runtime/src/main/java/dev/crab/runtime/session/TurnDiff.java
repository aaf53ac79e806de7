package dev.crab.runtime.session;

import dev.crab.runtime.store.ProcessEntry;
import java.util.List;

/**
 * What differs between two turns of a session: what would have to be done to the first to get the second.
 *
 * @param from the one turn; 0: the image as it came
 * @param to the other
 * @param files in the order of their paths
 * @param born processes that only {@code to} has
 * @param gone processes that only {@code from} has
 */
public record TurnDiff(long from, long to, List<FileChange> files, List<ProcessEntry> born, List<ProcessEntry> gone) {
    public TurnDiff {
        files = List.copyOf(files);
        born = List.copyOf(born);
        gone = List.copyOf(gone);
    }

    /**
     * A file, directory or other entry that is not the same in both.
     *
     * @param path absolute inside the sandbox; bytes other than printable ASCII, and {@code %}, as {@code %XX}
     * @param kind what happened to it
     * @param type {@code f} file, {@code d} directory, {@code l} symbolic link, {@code p} fifo, {@code s} socket, {@code b}, {@code c}
     *     devices; of the newer one, where there are two
     * @param size bytes of a file; of the newer one, where there are two
     */
    public record FileChange(String path, Kind kind, String type, long size) {}

    /** What happened to a file. */
    public enum Kind {
        /** Only the newer turn has it, or has what hides the image's file of that name. */
        ADDED,
        /** Both have it, and content, mode, owner, target or attributes differ. */
        CHANGED,
        /** Only the older turn has it. Where the image has a file of that name, that one is seen again. */
        REMOVED,
        /** The newer turn hides a file of the image, which the older one did not. */
        DELETED
    }
}

package dev.crab.runtime.sandbox;

/**
 * One entry of a directory in a sandbox.
 *
 * @param name the entry's name without its directory
 * @param type what it is
 * @param size bytes, for a regular file; else 0
 */
public record FileEntry(String name, Type type, long size) {
    /** Kinds of directory entries. */
    public enum Type {
        FILE,
        DIRECTORY,
        SYMLINK,
        OTHER
    }
}

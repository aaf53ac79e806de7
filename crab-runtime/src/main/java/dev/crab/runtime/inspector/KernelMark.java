package dev.crab.runtime.inspector;

/** What the programs can see of a sandbox; {@code enum mark} in bpf/lib/shared.h, by the same names. */
enum KernelMark {
    PATH_CALL,
    TRUNCATE,
    FILE_WRITE,
    INODE_DIRTY,
    MEMORY_FILE,
    PIPE,
    SOCKET,
    TERMINAL,
    OTHER_PROCESS,
    IPC,
    MOUNT,
    KERNEL,
    ASYNC_IO,
    UNKNOWN_CALL,
    FOREIGN_ABI,
    UNREADABLE,
    OVERFLOW,
    LEFT_CGROUP;

    /** Whether files may have changed where this was seen. */
    boolean nominatesFiles() {
        return switch (this) {
            case PATH_CALL, FILE_WRITE, INODE_DIRTY -> true;
            default -> blind();
        };
    }

    /** Whether this may have changed what is in a file that has no name any more. */
    boolean nominatesUnnamedFiles() {
        return this == MEMORY_FILE || nominatesFiles();
    }

    /** Whether content may have changed where no write to that very file was seen. */
    boolean nominatesAnyContent() {
        return this == TRUNCATE || blind();
    }

    /** Whether it is unknown what was done. */
    boolean blind() {
        return switch (this) {
            case ASYNC_IO, UNKNOWN_CALL, FOREIGN_ABI, UNREADABLE, OVERFLOW, LEFT_CGROUP -> true;
            default -> false;
        };
    }
}

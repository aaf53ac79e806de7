package dev.crab.runtime.error;

/** Stable names of what can go wrong. Codes are only ever added; programs may match on them. */
public enum ErrorCode {
    /** A setting has no meaning or is out of range. */
    CONFIG_INVALID,
    /** The host is not Linux on a supported processor. */
    PLATFORM_UNSUPPORTED,
    /** The process lacks the privileges that Crab needs. */
    NOT_ROOT,
    /** The kernel exposes no BTF, without which CO-RE programs cannot load. */
    BTF_MISSING,
    /** The kernel refused the inspector's programs. */
    BPF_REFUSED,
    /** libbpf is not installed or too old. */
    LIBBPF_MISSING,
    /** No CRIU binary was found. */
    CRIU_MISSING,
    /** A CRIU binary was found, but it is too old or fails where it must work. */
    CRIU_UNUSABLE,
    /** The OCI runtime is not installed. */
    RUNC_MISSING,
    /** No btrfs: neither the kernel's module nor the tools. */
    BTRFS_MISSING,
    /** The file system of the data directory cannot share blocks between files. */
    REFLINK_MISSING,
    /** No cgroup v2 hierarchy is mounted. */
    CGROUP_V2_MISSING,
    /** The data directory is missing, read-only, or not Crab's. */
    DATA_DIRECTORY_UNUSABLE,
    /** The file system is out of space or inodes. */
    DISK_FULL,
    /** Reading or writing failed for another reason than space. */
    IO_FAILED,
    /** The image does not exist. */
    IMAGE_NOT_FOUND,
    /** The image exists but cannot be a sandbox's root. */
    IMAGE_INVALID,
    /** The session does not exist. */
    SESSION_UNKNOWN,
    /** The session belongs to another living process. */
    SESSION_LOCKED,
    /** A sandbox or session of this name exists already. */
    NAME_TAKEN,
    /** A name is not one that Crab accepts. */
    NAME_INVALID,
    /** The journal has a damaged record below its durable length, or is shorter than that. */
    JOURNAL_CORRUPT,
    /** A manifest does not match its checksum, or names what does not exist. */
    MANIFEST_CORRUPT,
    /** A stored object does not match its checksum. */
    OBJECT_CORRUPT,
    /** A format's version is newer than this Crab knows. */
    FORMAT_UNKNOWN,
    /** The generation is not in the store. */
    GENERATION_UNKNOWN,
    /** The session has no committed turn of that number or label. */
    TURN_UNKNOWN,
    /** The turn was committed, but what it was saved with has been deleted since. */
    TURN_NOT_KEPT,
    /** A snapshot that a manifest names is not there. */
    SNAPSHOT_MISSING,
    /** The sandbox could not be started. */
    SANDBOX_START_FAILED,
    /** The sandbox's processes are gone. */
    SANDBOX_LOST,
    /** The control socket is not the one that Crab's pid 1 opened. */
    CONTROL_SOCKET_REFUSED,
    /** Pid 1 or CRIU answered what the protocol does not allow. */
    PROTOCOL_VIOLATION,
    /** A command could not be started in the sandbox. */
    EXEC_FAILED,
    /** A file operation in the sandbox failed. */
    FILE_OPERATION_FAILED,
    /** A checkpoint could not be taken; the sandbox runs on and the turn stays uncommitted. */
    CAPTURE_FAILED,
    /** A checkpoint was taken but could not be made durable; the turn stays uncommitted. */
    COMMIT_FAILED,
    /** CRIU could not bring the processes back. */
    RESTORE_FAILED,
    /** What was restored is not what the manifest describes. */
    RESTORE_MISMATCH,
    /** The resumed run asks for something else than the journal recorded. */
    REPLAY_DIVERGED,
    /** It is unknown whether an external effect took place, and its declaration says to stop. */
    EFFECT_UNKNOWN,
    /** The run was stopped to wait for something, in good order; the same call goes on from there. */
    SESSION_PARKED,
    /** Another library's hook is in the place where Crab's has to be. */
    INTERCEPTOR_INACTIVE,
    /** The agent framework uses a path that Crab does not protect. */
    FRAMEWORK_UNSUPPORTED,
    /** The call has no meaning at this moment: a turn is open that must end first, or the session is closed. */
    STATE_INVALID,
    /** Something is larger than a format or a limit allows. */
    LIMIT_EXCEEDED,
    /** The thread was interrupted while it waited. */
    INTERRUPTED,
    /** A fault in Crab itself. */
    INTERNAL
}

package dev.crab.runtime.error;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A refusal: what could not be done, why, and what the reader can do about it.
 *
 * <p>Expected outcomes (a skipped step, an absent feature, a time-out) are result types, not exceptions; this one means that the
 * caller's request was not carried out. Immutable and safe to share between threads.
 */
public final class CrabException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ErrorCode code;
    private final String what;
    private final String why;
    private final String cure;

    private CrabException(ErrorCode code, String what, String why, String cure, @Nullable Throwable cause) {
        super(code + ": " + what + ": " + why + ". Cure: " + cure, cause);
        this.code = Objects.requireNonNull(code);
        this.what = Objects.requireNonNull(what);
        this.why = Objects.requireNonNull(why);
        this.cure = Objects.requireNonNull(cure);
    }

    /**
     * Makes a refusal.
     *
     * @param what what could not be done, as a clause without a full stop ("session ticket-42 cannot be opened")
     * @param why the evidence ("process 4711 holds its lock")
     * @param cure what the reader can do ("end that process or choose another session")
     */
    public static CrabException of(ErrorCode code, String what, String why, String cure) {
        return new CrabException(code, what, why, cure, null);
    }

    /** As {@link #of(ErrorCode, String, String, String)}, with the exception that led here. */
    public static CrabException of(ErrorCode code, String what, String why, String cure, Throwable cause) {
        return new CrabException(code, what, why, cure, cause);
    }

    /** An input/output failure; tells a full disk ({@link ErrorCode#DISK_FULL}) from every other ({@link ErrorCode#IO_FAILED}). */
    public static CrabException io(String what, IOException cause) {
        String detail = reason(cause);
        boolean full = detail.contains("No space left on device") || detail.contains("Disk quota exceeded");
        return full
                ? of(
                        ErrorCode.DISK_FULL,
                        what,
                        detail,
                        "free space on that file system, then run again: what was committed is kept",
                        cause)
                : of(ErrorCode.IO_FAILED, what, detail, "see the cause; what was committed before is kept", cause);
    }

    /** The thread was interrupted while it waited; sets the thread's interrupt flag again. */
    public static CrabException interrupted(String what, InterruptedException cause) {
        Thread.currentThread().interrupt();
        return of(
                ErrorCode.INTERRUPTED,
                what,
                "the thread was interrupted",
                "run again; what was committed is kept",
                cause);
    }

    /**
     * What a failure says of itself, for a sentence about it. Unlike {@link Throwable#getMessage()} it is never null, and never a path
     * alone, which is all that the message of a {@link java.nio.file.NoSuchFileException} is.
     */
    public static String reason(Throwable failure) {
        if (failure instanceof FileSystemException fs && fs.getReason() != null) {
            return fs.getFile() + ": " + fs.getReason();
        }
        String message = failure.getMessage();
        return message == null
                ? failure.getClass().getSimpleName()
                : failure instanceof FileSystemException
                        ? failure.getClass().getSimpleName() + ": " + message
                        : message;
    }

    public ErrorCode code() {
        return code;
    }

    public String what() {
        return what;
    }

    public String why() {
        return why;
    }

    public String cure() {
        return cure;
    }

    /** Whether the same call may succeed later without anything being changed by hand. */
    public boolean isRetriable() {
        return switch (code) {
            case DISK_FULL, SESSION_LOCKED, INTERRUPTED, CAPTURE_FAILED, COMMIT_FAILED, SANDBOX_LOST -> true;
            default -> false;
        };
    }
}

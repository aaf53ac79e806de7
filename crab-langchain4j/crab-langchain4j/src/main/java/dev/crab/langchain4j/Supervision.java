package dev.crab.langchain4j;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.util.EnumSet;
import java.util.Set;

/**
 * Tells whoever started this program, and would start it again after a crash, that a restart mends nothing: {@code crab:run} sets {@value
 * #PROPERTY}, and a {@code main} that ends with such a refusal then ends the JVM with status {@value #HOPELESS} in place of 1.
 */
final class Supervision {
    static final String PROPERTY = "crab.supervised";

    /** EX_CONFIG of sysexits.h. */
    static final int HOPELESS = 78;

    /** What lacks in the program, on the host or in the data directory, and will lack in a minute. */
    private static final Set<ErrorCode> LASTING = EnumSet.of(
            ErrorCode.CONFIG_INVALID,
            ErrorCode.PLATFORM_UNSUPPORTED,
            ErrorCode.NOT_ROOT,
            ErrorCode.BTF_MISSING,
            ErrorCode.BPF_REFUSED,
            ErrorCode.LIBBPF_MISSING,
            ErrorCode.CRIU_MISSING,
            ErrorCode.RUNC_MISSING,
            ErrorCode.CGROUP_V2_MISSING,
            ErrorCode.BTRFS_MISSING,
            ErrorCode.REFLINK_MISSING,
            ErrorCode.DATA_DIRECTORY_UNUSABLE,
            ErrorCode.IMAGE_NOT_FOUND,
            ErrorCode.IMAGE_INVALID,
            ErrorCode.NAME_INVALID,
            ErrorCode.JOURNAL_CORRUPT,
            ErrorCode.FORMAT_UNKNOWN,
            ErrorCode.INTERCEPTOR_INACTIVE,
            ErrorCode.FRAMEWORK_UNSUPPORTED);

    private Supervision() {}

    /** Whether a program that ended with that would end with it again. */
    static boolean isLasting(Throwable thrown) {
        return CrabError.causes(thrown)
                .filter(CrabException.class::isInstance)
                .findFirst()
                .filter(refusal -> LASTING.contains(((CrabException) refusal).code()))
                .isPresent();
    }

    /** Once, before Crab is first used; nothing without the property, or where the program has a handler of its own. */
    static void begin() {
        if (!Boolean.getBoolean(PROPERTY) || Thread.getDefaultUncaughtExceptionHandler() != null) {
            return;
        }
        Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> {
            System.err.print("Exception in thread \"" + thread.getName() + "\" ");
            thrown.printStackTrace();
            // Other threads may end while the program goes on.
            if (thread.getName().equals("main") && isLasting(thrown)) {
                System.exit(HOPELESS);
            }
        });
    }
}

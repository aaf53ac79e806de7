package dev.crab.runtime.session;

/** What a restore does about processes that could not be captured ({@link UncapturedPolicy#CONTINUE_UNPROTECTED}). */
public enum LostPolicy {
    /** They stay lost, and that is told. */
    REPORT,
    /**
     * Those that were started by a command and not by another process are started again: same program, arguments, environment, working
     * directory and user, output to {@code /dev/null}. What they had in memory is lost, and that is told.
     */
    RESTART
}

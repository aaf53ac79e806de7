package dev.crab.langchain4j;

/**
 * What to do when a call that is taken up after a crash comes to other first messages than it had sent before it: by a template with the
 * time, a system message made at run time, retrieved content, or a program that was changed meanwhile.
 */
public enum OnDivergence {
    /** The messages first sent stay in force. The default. */
    PIN,
    /** As {@link #PIN}, and the log says what differs. */
    WARN,
    /** The call stops with {@link dev.crab.runtime.error.ErrorCode#REPLAY_DIVERGED}, which says what differs. */
    FAIL
}

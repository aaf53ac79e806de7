package dev.crab.overlap;

/** Kinds of journal records that this module writes or reads; {@code docs/langchain4j.md} lists their fields. */
final class RecordKinds {
    /** A process took the session over: results after the given watermark were undone by the restore. */
    static final String OPEN = "open";
    /** An invocation starts. */
    static final String START = "start";
    /** An LLM response. */
    static final String RESPONSE = "response";
    /** A response that came to nothing: it is not served again. */
    static final String REJECTED = "rejected";
    /** A tool with an external effect is about to run. */
    static final String BEGUN = "result-begun";
    /** A tool has ended. */
    static final String RESULT = "result";
    /** An invocation has its answer. */
    static final String END = "end";
    /** The session's preparation is done. */
    static final String PREPARED = "prepared";
    /** A durable run is complete. */
    static final String RUN_END = "run-end";
    /** Reports of turns. */
    static final String REPORT = "turn-report";

    /** What tells this session from every other one, made anew for each that was ever made. */
    static final String IDENTITY = "identity";

    /** A model wants to go back, and what it is told then: counts if the rollback is the next record. */
    static final String NOTE = "note";

    /** The runtime's: a turn is committed. */
    static final String COMMIT = "commit";

    /** The runtime's: the turns after one are void. */
    static final String ROLLBACK = "rollback";

    private RecordKinds() {}
}

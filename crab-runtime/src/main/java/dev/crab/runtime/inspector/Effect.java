package dev.crab.runtime.inspector;

/** What a turn did to its sandbox, as far as recovery is concerned. */
public enum Effect {
    /** Nothing that recovery needs. */
    NONE(false, false),
    /** Files changed; every process is as it was. */
    FILES(true, false),
    /** Processes changed. Capturing them includes the files, since a dump is only true beside the files of its own moment. */
    PROCESSES(false, true),
    /** Files and processes changed, or it could not be told. */
    FULL(true, true);

    private final boolean files;
    private final boolean processes;

    Effect(boolean files, boolean processes) {
        this.files = files;
        this.processes = processes;
    }

    public boolean files() {
        return files;
    }

    public boolean processes() {
        return processes;
    }

    /** The effect of both together. */
    public Effect and(Effect other) {
        return of(files || other.files, processes || other.processes);
    }

    public static Effect of(boolean files, boolean processes) {
        return files ? (processes ? FULL : FILES) : (processes ? PROCESSES : NONE);
    }
}

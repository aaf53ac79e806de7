package dev.crab.samples.leaks;

/** What is counted. */
enum Row {
    VOLUMES("subvolumes of sandboxes"),
    SNAPSHOTS("subvolumes of snapshots"),
    MOUNTS("mounts"),
    NETWORK_NAMESPACES("network namespaces"),
    CGROUPS("cgroups"),
    PROCESSES("processes"),
    LOOP_DEVICES("loop devices"),
    LOCKS("locks"),
    IPC("IPC objects of the host"),
    STAGED("staged files"),
    TEMPORARY("temporary files"),
    SESSIONS("files of sessions"),
    OBJECTS("objects"),
    /** What no kept generation needs; always to be none where a session is open or closed as it should be. */
    UNNEEDED("needed by no generation"),
    DESCRIPTORS("descriptors of the JVM"),
    THREADS("threads of the JVM");

    private final String label;

    Row(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }

    /** Whether it is in a JVM and not on the host. */
    boolean isInJvm() {
        return this == DESCRIPTORS || this == THREADS;
    }

    /** Whether sessions that are kept may have more of it with time, up to a bound: then {@link #UNNEEDED} says what is too much. */
    boolean isKept() {
        return this == SNAPSHOTS || this == OBJECTS || this == SESSIONS;
    }
}

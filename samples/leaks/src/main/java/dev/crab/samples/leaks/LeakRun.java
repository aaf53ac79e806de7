package dev.crab.samples.leaks;

import dev.crab.runtime.snapshot.Snapshotters;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.samples.leaks.Findings.Column;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The whole proof. First most of the turns in one JVM that closes and opens its sessions again; then JVMs that are killed, each followed
 * by one that takes up what it left, beside a neighbour that is alive and things of others with names that are nearly theirs.
 */
final class LeakRun {
    private static final List<String> SESSIONS = List.of("leaks-1", "leaks-2", "leaks-3");

    /** Begins as the first of the others does. */
    private static final String NEIGHBOUR = "leaks-10";

    /** Where JVMs are killed; null: between two turns. */
    private static final List<@Nullable String> FAULTS = Arrays.asList(
            "capture.dumped@2",
            "restore.processes@1",
            null,
            "persist.objects@2",
            "restore.prepared@2",
            "manifest.renamed@2",
            "capture.begin@3",
            "pack.linked@1",
            "restore.begin@2",
            "commit.before@3",
            "capture.snapshotted@3",
            "restore.verified@1",
            "persist.packed@2",
            "manifest.temp@2",
            "turn.boundary@4",
            "commit.recorded@3",
            "capture.resumed@2");

    /** A pool's idle threads go after a minute. */
    private static final long PATIENCE_NANOS = 75_000_000_000L;

    private final Path data;
    private final Path image;
    private final Path temporary;
    private final Path log;
    private final String mark = "leaks-" + ProcessHandle.current().pid() + "-" + System.nanoTime();
    private final String hash;
    private final Census census;
    private final Consumer<String> told;
    private final Findings findings = new Findings();
    private final Map<String, Integer> kinds = new TreeMap<>();
    private long seed;
    private int turns;
    private int restores;
    private int kills;

    /**
     * A run.
     *
     * @param data an empty directory on a file system that may be filled
     * @param image the image of the sandboxes
     * @param temporary an empty directory for temporary files
     * @param log gets what the JVMs say
     * @param told is told how far it is
     */
    LeakRun(Path data, Path image, Path temporary, Path log, long seed, Consumer<String> told) throws IOException {
        this.data = data.toRealPath();
        this.image = image;
        this.temporary = temporary;
        this.log = log;
        this.seed = seed;
        this.told = told;
        String sandbox = new DataDirectory(this.data).sandbox("x");
        this.hash = sandbox.substring(sandbox.indexOf('.') + 1);
        this.census = new Census(this.data, temporary, mark, hash);
    }

    Findings run(int wantedTurns, int wantedRestores) throws IOException {
        Counts before = census.take(0);
        for (Row row : Row.values()) {
            findings.count(row, Column.BEFORE, before.of(row).size());
        }
        int inOneJvm = wantedTurns * 4 / 5;
        Counts open = oneJvm(before, inOneJvm, wantedRestores / 2);
        killedJvms(open, wantedTurns - inOneJvm, Math.max(1, wantedRestores / 3));
        atTheEnd(before);
        return findings;
    }

    int turns() {
        return turns;
    }

    int restores() {
        return restores;
    }

    int kills() {
        return kills;
    }

    /** How many turns there were of each kind. */
    Map<String, Integer> kinds() {
        return kinds;
    }

    private Counts oneJvm(Counts before, int count, int reopenings) {
        int segments = Math.max(2, count / 100);
        try (Jvm jvm = start(null)) {
            // What libraries keep once for all until the JVM's end (JNA, the event loop that CRIU is talked to by) is
            // no leak.
            jvm.say("open " + SESSIONS.get(0));
            jvm.say("count");
            jvm.say("close");
            Counts unused = census.take(jvm.pid());
            findings.count(
                    Row.DESCRIPTORS, Column.BEFORE, unused.of(Row.DESCRIPTORS).size());
            findings.count(Row.THREADS, Column.BEFORE, unused.of(Row.THREADS).size());
            Counts first = null;
            for (int segment = 0; segment < segments; segment++) {
                int share = count / segments + (segment < count % segments ? 1 : 0);
                SESSIONS.forEach(session -> opened(jvm.say("open " + session)));
                // Of a sandbox that was started there is more than of one restored by CRIU.
                Counts started = census.take(0);
                int pieces = 1 + reopenings / segments;
                for (int piece = 0; piece < pieces; piece++) {
                    ran(jvm.say("turns " + (share / pieces + (piece < share % pieces ? 1 : 0))));
                    if (piece > 0) {
                        opened(jvm.say("reopen " + SESSIONS.get(piece % SESSIONS.size())));
                    }
                }
                jvm.say("rest");
                Counts reference = first;
                Counts open = settled(
                        jvm.pid(),
                        (row, counts) -> reference == null ? new TreeSet<>() : grown(row, reference, counts),
                        Column.GROWTH);
                if (first == null) {
                    first = open;
                    for (Row row : Row.values()) {
                        findings.count(row, Column.RUNNING, open.of(row).size());
                    }
                    for (Row row : List.of(Row.CGROUPS, Row.STAGED)) {
                        first.of(row).addAll(started.of(row));
                    }
                }
                jvm.say("close");
                // What stays is what the next opening wants: the mounted store, and the kept generations.
                settled(jvm.pid(), (row, counts) -> left(row, row.isInJvm() ? unused : before, counts), Column.CLOSED);
                told.accept(turns + " turns, " + restores + " restores");
            }
            jvm.exit();
            return Objects.requireNonNull(first);
        }
    }

    private void killedJvms(Counts known, int count, int lives) throws IOException {
        List<String> sessions = SESSIONS.subList(0, 2);
        Path run = Path.of("/run/crab").resolve(hash);
        try (Jvm neighbour = start(null);
                Foreign foreign = new Foreign(new DataDirectory(data).sandbox(SESSIONS.get(0)), run)) {
            neighbour.say("open " + NEIGHBOUR);
            neighbour.say("count");
            Counts alone = census.take(0);
            Counts open = null;
            for (int life = 0; life < lives; life++) {
                int share = count / lives + (life < count % lives ? 1 : 0);
                killed(FAULTS.get(Math.floorMod(life + seed, FAULTS.size())), sessions, share);
                Counts dead = census.take(0);
                for (Row row : Row.values()) {
                    findings.count(row, Column.KILLED, dead.beyond(row, alone).size());
                }
                try (Jvm next = start(null)) {
                    sessions.forEach(session -> opened(next.say("open " + session)));
                    ran(next.say("turns " + share));
                    next.say("rest");
                    Counts reference = open;
                    Counts now = settled(
                            next.pid(),
                            (row, counts) -> swept(row, alone, dead, known, reference, counts),
                            Column.SWEPT);
                    open = open == null ? now : open;
                    neighbour.say("check");
                    undisturbed(alone, now, foreign);
                    next.say("close");
                    settled(0, (row, counts) -> left(row, alone, counts), Column.CLOSED);
                    next.exit();
                }
                told.accept(turns + " turns, " + restores + " restores, " + kills + " kills");
            }
            neighbour.say("check");
            neighbour.say("close");
            neighbour.exit();
        }
    }

    private void killed(@Nullable String fault, List<String> sessions, int count) {
        try (Jvm jvm = start(fault)) {
            boolean reached = false;
            for (String session : sessions) {
                if (!reached) {
                    var answer = jvm.tell("open " + session);
                    answer.ifPresent(this::opened);
                    reached = answer.isEmpty();
                }
            }
            if (!reached) {
                // Enough for the point to be reached; what the fault cuts off is not counted.
                jvm.tell("turns " + Math.max(count, fault == null ? 1 : 12)).ifPresent(this::ran);
            }
            jvm.kill();
            kills++;
        }
    }

    private void atTheEnd(Counts before) throws IOException {
        try (Jvm jvm = start(null)) {
            for (String session : SESSIONS) {
                jvm.say("delete " + session);
            }
            jvm.say("delete " + NEIGHBOUR);
            jvm.exit();
        }
        Snapshotters.release(data);
        settled(0, (row, counts) -> counts.beyond(row, before), Column.DELETED);
    }

    /** What there is more of than at the first time. */
    private static SortedSet<String> grown(Row row, Counts first, Counts counts) {
        if (row == Row.UNNEEDED) {
            return counts.of(row);
        }
        if (row == Row.CGROUPS || row == Row.STAGED) {
            return manifold(first.of(row), counts.of(row));
        }
        boolean more = !row.isKept() && counts.of(row).size() > first.of(row).size();
        return more
                ? new TreeSet<>(List.of(
                        first.of(row).size() + " -> " + counts.of(row).size() + ": " + counts.beyond(row, first)))
                : new TreeSet<>();
    }

    /** A sandbox that was started has some that one restored by CRIU has not: what counts is how many there are of each kind. */
    private static SortedSet<String> manifold(SortedSet<String> first, SortedSet<String> now) {
        Map<String, Long> known = alike(first);
        SortedSet<String> more = new TreeSet<>();
        alike(now).forEach((name, number) -> {
            Long before = known.get(name);
            if (before == null || number > Math.max(before, SESSIONS.size() + 1)) {
                more.add(name + ": " + (before == null ? 0 : before) + " -> " + number);
            }
        });
        return more;
    }

    private static Map<String, Long> alike(SortedSet<String> items) {
        return items.stream()
                .collect(Collectors.groupingBy(
                        item -> item.replaceAll("[0-9]+", "#"), TreeMap::new, Collectors.counting()));
    }

    /** What is there and was not, but for the store that stays mounted and what it keeps. */
    private SortedSet<String> left(Row row, Counts before, Counts counts) {
        SortedSet<String> more = counts.beyond(row, before);
        if (row.isKept()) {
            return new TreeSet<>();
        }
        if (row == Row.MOUNTS) {
            more.remove(data.resolve("btrfs").toString());
        }
        if (row == Row.LOOP_DEVICES) {
            more.removeIf(item -> item.endsWith(" " + data.resolve("btrfs.img")));
        }
        return more;
    }

    /** What a start did not take away of what its dead predecessor had left. */
    private static SortedSet<String> swept(
            Row row, Counts alone, Counts dead, Counts known, @Nullable Counts open, Counts counts) {
        return switch (row) {
            case UNNEEDED -> counts.of(row);
            case TEMPORARY, IPC -> counts.beyond(row, alone);
            case NETWORK_NAMESPACES -> {
                // The kernel uses their numbers again, so that only how many there are tells: one for each open
                // sandbox.
                int due = alone.of(row).size()
                        + counts.of(Row.VOLUMES).size()
                        - alone.of(Row.VOLUMES).size();
                yield counts.of(row).size() > due ? counts.beyond(row, alone) : new TreeSet<>();
            }
            case PROCESSES -> {
                SortedSet<String> still = dead.beyond(row, alone);
                still.retainAll(counts.of(row));
                yield still;
            }
            case CGROUPS, STAGED -> {
                Counts others = new Counts();
                counts.beyond(row, alone).forEach(item -> others.add(row, item));
                yield grown(row, known, others);
            }
            default -> open == null ? new TreeSet<>() : grown(row, open, counts);
        };
    }

    private void undisturbed(Counts alone, Counts now, Foreign foreign) throws IOException {
        for (Row row : Row.values()) {
            if (row != Row.UNNEEDED) {
                findings.disturbed(alone.beyond(row, now).stream()
                        .filter(item -> !row.isKept() || item.contains(NEIGHBOUR))
                        .map(item -> row.label() + ": " + item)
                        .toList());
            }
        }
        findings.disturbed(foreign.missing());
    }

    /** Counts until nothing is too much, or for as long as it may take the kernel and pools to let go. */
    private Counts settled(long jvm, BiFunction<Row, Counts, SortedSet<String>> tooMuch, Column column) {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (true) {
            Counts counts = census.take(jvm);
            boolean clean = Stream.of(Row.values())
                    .allMatch(row -> tooMuch.apply(row, counts).isEmpty());
            if (clean || System.nanoTime() > deadline) {
                for (Row row : Row.values()) {
                    SortedSet<String> items = tooMuch.apply(row, counts);
                    findings.leaked(row, column, items);
                    if (!items.isEmpty()) {
                        told.accept("LEFT BEHIND, " + row.label() + ", " + column.label() + ": " + items);
                    }
                }
                return counts;
            }
            LockSupport.parkNanos(200_000_000);
        }
    }

    /** After a failure: what runs is ended, so that the file system can be unmounted. */
    void abort() {
        try (Jvm jvm = start(null)) {
            for (Path session : Census.list(data.resolve("sessions"))) {
                jvm.say("delete " + session.getFileName());
            }
            jvm.exit();
        }
        Snapshotters.release(data);
    }

    private Jvm start(@Nullable String fault) {
        return Jvm.start(data, image, temporary, log, mark, seed++, fault, census);
    }

    private void opened(String answer) {
        if (!answer.startsWith("0 ")) {
            restores++;
        }
    }

    private void ran(String answer) {
        for (String kind : answer.split(" ", -1)) {
            if (!kind.isEmpty()) {
                int times = Integer.parseInt(kind.substring(kind.indexOf('=') + 1));
                kinds.merge(kind.substring(0, kind.indexOf('=')), times, Integer::sum);
                turns += times;
            }
        }
    }

    /** Deletes a directory and what is in it. */
    static void delete(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }
}

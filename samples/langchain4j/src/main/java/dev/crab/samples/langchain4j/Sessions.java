package dev.crab.samples.langchain4j;

import dev.crab.overlap.Digest;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.session.SessionArchive;
import dev.crab.runtime.store.JournalRecord;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Names of sessions that no other program uses, what is settled in them, and their removal. Thread-safe. */
final class Sessions implements AutoCloseable {
    private final String prefix =
            "prove-lc-" + Long.toString(ProcessHandle.current().pid(), 36) + "-"
                    + Long.toString(System.currentTimeMillis(), 36) + "-";
    private final Set<String> present = new LinkedHashSet<>();
    private int given;
    private @Nullable CrabRuntime runtime;

    synchronized String next() {
        String name = prefix + ++given;
        present.add(name);
        return name;
    }

    private CrabRuntime runtime() {
        CrabRuntime current = runtime;
        if (current == null) {
            current = CrabRuntime.builder().build();
            runtime = current;
        }
        return current;
    }

    private static List<String> names(CrabRuntime runtime, String name, int sessions) {
        Set<String> known = Set.copyOf(runtime.sessions());
        return IntStream.rangeClosed(1, sessions)
                .mapToObj(i -> i == 1 ? name : name + "-" + i)
                .filter(known::contains)
                .toList();
    }

    /**
     * Idempotency keys of the tool calls that must not run again: their results are recorded, and outside or part of a commit. Every tool
     * here asks for its key, so a session with a result has an identity.
     */
    synchronized Set<String> settled(String name, int sessions) {
        Set<String> settled = new HashSet<>();
        for (String one : names(runtime(), name, sessions)) {
            SessionArchive archive = runtime().archive(one);
            long watermark = -1;
            for (SessionArchive.CommittedTurn turn : archive.turns()) {
                watermark = turn.commit().position().path("watermark").asLong(-1);
            }
            String identity = archive.records().stream()
                    .filter(entry -> entry.kind().equals("identity"))
                    .map(entry -> entry.body().path("identity").asText())
                    .findFirst()
                    .orElse("");
            for (JournalRecord entry : archive.records()) {
                boolean stands = entry.sequence() <= watermark
                        || entry.body().path("external").asBoolean();
                if (entry.kind().equals("result") && stands) {
                    settled.add(Digest.of(identity, entry.body().path("tool").asText()));
                }
            }
        }
        return settled;
    }

    /** Removes what a row made under that name. */
    synchronized void remove(String name, int sessions) {
        if (present.remove(name)) {
            names(runtime(), name, sessions).forEach(runtime()::delete);
        }
    }

    @Override
    public synchronized void close() {
        for (String name : List.copyOf(present)) {
            remove(name, 2);
        }
        if (runtime != null) {
            runtime.close();
            runtime = null;
        }
    }
}

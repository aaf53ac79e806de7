package dev.crab.runtime.store;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What a checkpoint is: everything that is needed to bring a sandbox back to it, and why it was taken. Immutable as long as nobody
 * writes into the JSON trees.
 *
 * @param session the session it belongs to
 * @param generation its number within the session, from 1, strictly growing, not without gaps
 * @param parent the generation before it; 0 for the image as it came
 * @param turn the turn that it was taken for
 * @param createdMillis when, in milliseconds since 1970 UTC
 * @param effect what the turn did, by the inspector's judgement
 * @param reasons why it was judged so
 * @param spec what the sandbox is like (image, limits), as the session's first record has it
 * @param image host path of the directory below the overlay
 * @param checkpoint the dump and the snapshot
 * @param attributes the sandbox's state that is carried by value
 * @param lost what could not be captured, for reading; empty unless the session runs unprotected
 * @param lostProcesses the processes among it, and how each could be started again
 */
public record Manifest(
        String session,
        long generation,
        long parent,
        long turn,
        long createdMillis,
        String effect,
        List<Reason> reasons,
        ObjectNode spec,
        String image,
        CheckpointImage checkpoint,
        Map<String, String> attributes,
        List<String> lost,
        List<LostProcess> lostProcesses) {
    /**
     * One reason of the inspector's judgement.
     *
     * @param rule the rule's name
     * @param effect what it alone demands
     * @param evidence paths, processes or counters
     */
    public record Reason(String rule, String effect, List<String> evidence) {
        public Reason {
            Objects.requireNonNull(rule, "rule");
            Objects.requireNonNull(effect, "effect");
            evidence = List.copyOf(evidence);
        }
    }

    public Manifest {
        Names.session(session);
        reasons = List.copyOf(reasons);
        attributes = Map.copyOf(attributes);
        lost = List.copyOf(lost);
        lostProcesses = List.copyOf(lostProcesses);
        if (generation < 1 || parent < 0 || parent >= generation || turn < 1) {
            throw new IllegalArgumentException(
                    "generation " + generation + ", parent " + parent + ", turn " + turn + " cannot be");
        }
        Objects.requireNonNull(effect, "effect");
        Objects.requireNonNull(spec, "spec");
        if (!Path.of(image).isAbsolute()) {
            throw new IllegalArgumentException("the image " + image + " is no absolute path");
        }
        FileImage files = checkpoint.files();
        String snapshot = part(session, generation, files.generation());
        if (!files.snapshotId().equals(snapshot)) {
            throw new IllegalArgumentException("the snapshot of " + snapshot + " cannot be " + files.snapshotId());
        }
        requireName(files.fileTable(), snapshot + ".");
        files.bases().forEach(base -> requireName(base, Names.prefix(session)));
        ProcessImage processes = checkpoint.processes();
        if (processes != null) {
            requireName(processes.dump(), part(session, generation, processes.generation()) + ".");
            processes.bases().forEach(base -> requireName(base, Names.prefix(session)));
        }
    }

    private static String part(String session, long generation, long of) {
        if (of < 1 || of > generation) {
            throw new IllegalArgumentException("generation " + generation + " cannot have a part of generation " + of);
        }
        return Names.checkpoint(session, of);
    }

    /** Names say whose things are: what another session or generation is called must not be read, and less be deleted. */
    private static void requireName(ObjectRef ref, String prefix) {
        if (!ref.name().startsWith(prefix)) {
            throw new IllegalArgumentException("the object " + ref.name() + " does not begin with " + prefix);
        }
    }

    /** Every object that this manifest needs. */
    public List<ObjectRef> objects() {
        ProcessImage processes = checkpoint.processes();
        List<ObjectRef> needed = new ArrayList<>(checkpoint.files().tables());
        if (processes != null) {
            needed.add(processes.dump());
            needed.addAll(processes.bases());
        }
        return needed;
    }
}

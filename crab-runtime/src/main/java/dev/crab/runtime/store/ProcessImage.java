package dev.crab.runtime.store;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The processes' part of a checkpoint.
 *
 * @param generation the checkpoint that this dump was taken for; later ones may point at it as long as no process changed
 * @param dump the packed images
 * @param bases other objects whose pages the dump uses; none in a manifest without them
 * @param processes the process table that a restore must come back with, sorted by pid
 * @param sample pages of their memory that a restore must come back with
 * @param criuVersion the CRIU that wrote the images, {@code major.minor.sublevel}
 * @param kernel release of the kernel it ran on
 * @param fingerprint equal for two dumps between which no process changed ({@code dev.crab.runtime.criu.DumpFingerprint}); null or empty
 *     if it is not known
 */
public record ProcessImage(
        long generation,
        ObjectRef dump,
        List<ObjectRef> bases,
        List<ProcessEntry> processes,
        List<SampledPage> sample,
        String criuVersion,
        String kernel,
        @Nullable String fingerprint) {
    public ProcessImage {
        Objects.requireNonNull(dump, "dump");
        Objects.requireNonNull(criuVersion, "criuVersion");
        Objects.requireNonNull(kernel, "kernel");
        bases = List.copyOf(bases);
        processes = List.copyOf(processes);
        sample = List.copyOf(sample);
    }

    /** Whether a dump of those processes with that fingerprint would restore to the same as this one. */
    public boolean isSameAs(List<ProcessEntry> others, String othersFingerprint) {
        return !othersFingerprint.isEmpty() && othersFingerprint.equals(fingerprint) && others.equals(processes);
    }
}

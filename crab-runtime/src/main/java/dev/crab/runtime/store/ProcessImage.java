package dev.crab.runtime.store;

import java.util.List;

/**
 * The processes' part of a checkpoint.
 *
 * @param generation the checkpoint that this dump was taken for; later ones may point at it as long as no process changed
 * @param dump the packed images
 * @param processes the process table that a restore must come back with, sorted by pid
 * @param criuVersion the CRIU that wrote the images, {@code major.minor.sublevel}
 * @param kernel release of the kernel it ran on
 */
public record ProcessImage(
        long generation, ObjectRef dump, List<ProcessEntry> processes, String criuVersion, String kernel) {
    public ProcessImage {
        processes = List.copyOf(processes);
    }
}

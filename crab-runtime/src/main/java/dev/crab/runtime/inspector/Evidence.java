package dev.crab.runtime.inspector;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Everything that is known of a sandbox since its last rebase. Immutable.
 *
 * @param marks what the programs saw
 * @param unknownCall name of the call behind {@link KernelMark#UNKNOWN_CALL}
 * @param born processes that live now and did not then, without pid 1
 * @param gone processes that lived then and do not now
 * @param survivors processes that lived then and now
 * @param ran survivors that were scheduled
 * @param signalled survivors that a signal was queued for
 * @param touched pipes, sockets and files in memory that were touched
 * @param holdings what each survivor holds; a survivor that is missing was not looked at, because nothing asked for it
 * @param unnamedTouched survivors that hold a file without a name whose content or attributes changed
 * @param notified survivors that watch files and have been told of something
 * @param queued survivors with data in a pipe or socket, which may be pages of a changed file; looked for where files changed
 * @param changes files that differ, or null if it could not be told
 * @param failure why evidence could not be gathered, or null
 */
record Evidence(
        Set<KernelMark> marks,
        String unknownCall,
        List<ProcessRef> born,
        List<ProcessRef> gone,
        List<ProcessRef> survivors,
        Set<ProcessRef> ran,
        Set<ProcessRef> signalled,
        Touched touched,
        Map<ProcessRef, Holdings> holdings,
        Set<ProcessRef> unnamedTouched,
        Set<ProcessRef> notified,
        Set<ProcessRef> queued,
        @Nullable List<FileChange> changes,
        @Nullable String failure) {

    /**
     * Kernel objects by inode number.
     *
     * @param sockets holds 0 where the kernel does not tell which sockets got data: then it may be any
     */
    record Touched(Set<Long> pipes, Set<Long> sockets, Set<Long> memoryFiles) {
        static final Touched NOTHING = new Touched(Set.of(), Set.of(), Set.of());
    }

    /** Nothing could be learned. */
    static Evidence failed(String why) {
        return new Evidence(
                Set.of(),
                "",
                List.of(),
                List.of(),
                List.of(),
                Set.of(),
                Set.of(),
                Touched.NOTHING,
                Map.of(),
                Set.of(),
                Set.of(),
                Set.of(),
                null,
                why);
    }
}

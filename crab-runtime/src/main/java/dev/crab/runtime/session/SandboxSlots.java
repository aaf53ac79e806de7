package dev.crab.runtime.session;

import dev.crab.runtime.snapshot.Volume;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The names of a session's sandboxes. The first one bears the name that the data directory gives it; one that takes its place, after a
 * rollback, lives beside it for a while and bears that name with {@code .r} and a number. Each has a volume from before its place is made
 * until after that is gone: so the volumes say which there are. Thread-safe.
 */
final class SandboxSlots {
    private static final Pattern REST = Pattern.compile("((?:\\.r[0-9]{1,18})?)(?:\\.scratch)?");

    private final String first;
    private final AtomicLong number = new AtomicLong();

    SandboxSlots(String first) {
        this.first = first;
    }

    /** A name that this process has not used yet. */
    String next() {
        return first + ".r" + number.incrementAndGet();
    }

    /** Ends whatever runs in any of them, and removes their volumes; what a dead owner left, when its session's lock is held. */
    static void sweep(SessionServices services, String first) {
        Set<String> names = of(services, first);
        names.forEach(services.factory()::sweep);
        // While nothing is mounted any more.
        services.snapshots().recover();
        names.forEach(name -> delete(services, name));
    }

    /** Ends whatever runs in any of them. */
    static void stop(SessionServices services, String first) {
        of(services, first).forEach(services.factory()::sweep);
    }

    /** Those that there are, and the first in any case. */
    static Set<String> of(SessionServices services, String first) {
        Set<String> names = new LinkedHashSet<>();
        names.add(first);
        for (String volume : services.snapshots().volumes()) {
            if (volume.startsWith(first)) {
                Matcher rest = REST.matcher(volume.substring(first.length()));
                if (rest.matches()) {
                    names.add(first + rest.group(1));
                }
            }
        }
        return names;
    }

    /** Only its name counts; where it lies is the snapshotter's affair. */
    static void delete(SessionServices services, String name) {
        services.snapshots().delete(new Volume(name, Path.of("")));
    }
}

package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.SessionRecords.Point;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.store.Manifest;
import dev.crab.runtime.store.ManifestStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The generations that a session can be brought back to, the newest first, and the search for the first one that comes back.
 *
 * <p>Only damage makes it go on to an older one: what says that this generation is not what was saved, or that CRIU cannot restore it. A
 * full disk, a missing CRIU or another image would meet the older ones just as well, and no turn may be lost to them.
 */
final class RestoreTargets {
    private static final Logger LOG = LoggerFactory.getLogger(RestoreTargets.class);

    private static final Set<ErrorCode> DAMAGE = Set.of(
            ErrorCode.MANIFEST_CORRUPT,
            ErrorCode.GENERATION_UNKNOWN,
            ErrorCode.OBJECT_CORRUPT,
            ErrorCode.SNAPSHOT_MISSING,
            ErrorCode.RESTORE_MISMATCH,
            ErrorCode.RESTORE_FAILED);

    /** A turn, and what its sandbox is to be made from. */
    record Target(Point point, Manifest manifest) {}

    /** What a restore came to. */
    record Restored<T>(Target target, T result, List<String> skipped) {}

    private final String session;
    private final DamagePolicy policy;
    private final List<Target> targets = new ArrayList<>();
    private final List<CrabException> failures = new ArrayList<>();

    private RestoreTargets(String session, DamagePolicy policy) {
        this.session = session;
        this.policy = policy;
    }

    /**
     * Reads the manifests. The newest turn that shares a generation stands for all that do.
     *
     * @throws CrabException the newest generation's failure, if the policy is to refuse or no older one can be read
     */
    static RestoreTargets of(String session, Timeline timeline, ManifestStore manifests, DamagePolicy policy) {
        RestoreTargets found = new RestoreTargets(session, policy);
        List<Long> stored = manifests.generations();
        long generation = Long.MAX_VALUE;
        for (int i = timeline.points().size() - 1; i >= 0; i--) {
            Point point = timeline.points().get(i);
            long next = point.commit().generation();
            if (next == 0 || next >= generation) {
                continue;
            }
            boolean newest = generation == Long.MAX_VALUE;
            generation = next;
            if (newest || stored.contains(next)) {
                found.attempt(() -> manifests.read(next), manifest -> found.targets.add(new Target(point, manifest)));
            }
        }
        if (found.targets.isEmpty()) {
            throw found.refusal();
        }
        return found;
    }

    /** The newest generation whose manifest can be read. */
    Target newest() {
        return targets.get(0);
    }

    /**
     * Tries one after the other.
     *
     * @param restore must leave nothing behind where it fails
     * @throws CrabException the newest one's failure if none comes back; whatever is no damage, at once
     */
    <T> Restored<T> first(Function<Manifest, T> restore) {
        for (Target target : targets) {
            List<T> results = new ArrayList<>();
            attempt(() -> twice(target.manifest(), restore), results::add);
            if (!results.isEmpty()) {
                return new Restored<>(
                        target,
                        results.get(0),
                        failures.stream().map(CrabException::getMessage).toList());
            }
        }
        throw refusal();
    }

    /** CRIU may fail for want of memory or by a race, which says nothing of the images: what is damaged fails again. */
    private <T> T twice(Manifest manifest, Function<Manifest, T> restore) {
        try {
            return restore.apply(manifest);
        } catch (CrabException e) {
            if (e.code() != ErrorCode.RESTORE_FAILED) {
                throw e;
            }
            LOG.warn("session {}: generation {} is restored once more", session, manifest.generation(), e);
            return restore.apply(manifest);
        }
    }

    private <T> void attempt(Supplier<T> step, Consumer<T> onSuccess) {
        T result;
        try {
            result = step.get();
        } catch (CrabException e) {
            if (policy == DamagePolicy.REFUSE || !DAMAGE.contains(e.code())) {
                throw e;
            }
            LOG.warn("session {}: a generation is passed over for an older one", session, e);
            failures.add(e);
            return;
        }
        onSuccess.accept(result);
    }

    private CrabException refusal() {
        CrabException newest = failures.get(0);
        failures.subList(1, failures.size()).forEach(newest::addSuppressed);
        return newest;
    }
}

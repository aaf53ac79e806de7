package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.SessionRecords.Point;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.store.Manifest;
import dev.crab.runtime.store.ManifestStore;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
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
    private final ManifestStore manifests;
    private final DamagePolicy policy;

    /** Newest first, a turn for each generation, but for those that were read. */
    private final Deque<Point> left = new ArrayDeque<>();

    private final List<CrabException> failures = new ArrayList<>();
    private @Nullable Target newest;

    private RestoreTargets(String session, ManifestStore manifests, DamagePolicy policy) {
        this.session = session;
        this.manifests = manifests;
        this.policy = policy;
    }

    /**
     * Reads manifests until one can be read. Older ones are read only if that one does not come back: what they are like is no matter
     * before. The newest turn that shares a generation stands for all that do.
     *
     * @throws CrabException the newest generation's failure, if the policy is to refuse or no older one can be read
     */
    static RestoreTargets of(String session, Timeline timeline, ManifestStore manifests, DamagePolicy policy) {
        RestoreTargets found = new RestoreTargets(session, manifests, policy);
        List<Long> stored = manifests.generations();
        long generation = Long.MAX_VALUE;
        for (int i = timeline.points().size() - 1; i >= 0; i--) {
            Point point = timeline.points().get(i);
            long next = point.commit().generation();
            if (next == 0 || next >= generation) {
                continue;
            }
            generation = next;
            if (found.left.isEmpty() || stored.contains(next)) {
                found.left.add(point);
            }
        }
        found.newest = found.next();
        if (found.newest == null) {
            throw found.refusal();
        }
        return found;
    }

    /** The newest generation whose manifest can be read. */
    Target newest() {
        return Objects.requireNonNull(newest);
    }

    /** The newest of those left whose manifest can be read; null if there is none. */
    private @Nullable Target next() {
        while (!left.isEmpty()) {
            Point point = left.remove();
            Manifest manifest = attempt(() -> point.commit().manifest(manifests));
            if (manifest != null) {
                return new Target(point, manifest);
            }
        }
        return null;
    }

    /**
     * Tries one after the other.
     *
     * @param restore must leave nothing behind where it fails
     * @throws CrabException the newest one's failure if none comes back; whatever is no damage, at once
     */
    <T> Restored<T> first(Function<Manifest, T> restore) {
        for (Target target = newest; target != null; target = next()) {
            Manifest manifest = target.manifest();
            T result = attempt(() -> twice(manifest, restore));
            if (result != null) {
                return new Restored<>(
                        target,
                        result,
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

    /** Null where the step found damage. */
    private <T> @Nullable T attempt(Supplier<T> step) {
        try {
            return step.get();
        } catch (CrabException e) {
            if (policy == DamagePolicy.REFUSE || !DAMAGE.contains(e.code())) {
                throw e;
            }
            LOG.warn("session {}: a generation is passed over for an older one", session, e);
            failures.add(e);
            return null;
        }
    }

    private CrabException refusal() {
        CrabException newest = failures.get(0);
        failures.subList(1, failures.size()).forEach(newest::addSuppressed);
        return newest;
    }
}

package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.SessionRecords.Point;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.store.Manifest;
import dev.crab.runtime.store.ManifestStore;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/**
 * A turn that somebody wants to go to.
 *
 * @param turn its number; 0 stands for before the first
 * @param point its commit and what is carried by value; null for turn 0
 * @param manifest of its checkpoint; null for the image as it came
 */
record TurnTarget(
        long turn, @Nullable Point point, @Nullable Manifest manifest) {
    /**
     * Looks it up.
     *
     * @throws CrabException TURN_UNKNOWN, TURN_NOT_KEPT; MANIFEST_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    static TurnTarget of(String session, Timeline timeline, ManifestStore manifests, long turn) {
        if (turn < 0 || turn > timeline.points().size()) {
            throw CrabException.of(
                    ErrorCode.TURN_UNKNOWN,
                    "session " + session + " has no turn " + turn,
                    timeline.points().isEmpty()
                            ? "it has committed none"
                            : "its turns are 1 to " + timeline.points().size() + ", and 0 is the image as it came",
                    "choose one of them");
        }
        if (turn == 0) {
            return new TurnTarget(0, null, null);
        }
        Point point = timeline.points().get((int) turn - 1);
        if (point.commit().generation() == 0) {
            return new TurnTarget(turn, point, null);
        }
        try {
            return new TurnTarget(turn, point, point.commit().manifest(manifests));
        } catch (CrabException e) {
            if (e.code() != ErrorCode.GENERATION_UNKNOWN) {
                throw e;
            }
            throw CrabException.of(
                    ErrorCode.TURN_NOT_KEPT,
                    "session " + session + " cannot go to turn " + turn,
                    "generation " + point.commit().generation()
                            + ", which holds it, was deleted, as older ones are; kept are " + kept(timeline, manifests),
                    "choose one of these; keep more generations (crab.keep-generations), or label the turns to come back to",
                    e);
        }
    }

    /** The turns that can be gone back to, as a person would name them: {@code 0, 3, 7 to 9}. */
    private static String kept(Timeline timeline, ManifestStore manifests) {
        Set<Long> generations = new HashSet<>(manifests.generations());
        generations.add(0L); // the image as it came
        StringJoiner kept = new StringJoiner(", ").add("0");
        long from = 0;
        for (long turn = 1; turn <= timeline.points().size() + 1; turn++) {
            boolean is = turn <= timeline.points().size()
                    && generations.contains(
                            timeline.points().get((int) turn - 1).commit().generation());
            if (is && from == 0) {
                from = turn;
            } else if (!is && from > 0) {
                kept.add(from == turn - 1 ? Long.toString(from) : from + " to " + (turn - 1));
                from = 0;
            }
        }
        return kept.toString();
    }

    /** The generation that holds it; 0 for the image as it came. */
    long generation() {
        return manifest == null ? 0 : manifest.generation();
    }

    /** What is carried by value. */
    Map<String, String> attributes() {
        return point == null ? Map.of() : point.attributes();
    }
}

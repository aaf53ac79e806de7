package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.JournalRecord;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Names of turns: each turn has one at most, and no two have the same. */
final class Labels {
    /** The kind of journal record that gives one. */
    static final String KIND = "label";

    private static final int LIMIT = 64;

    private Labels() {}

    /**
     * Refuses what cannot be a label.
     *
     * @throws CrabException NAME_INVALID
     */
    private static void check(@Nullable String label) {
        if (label == null) {
            return;
        }
        boolean printable = label.chars().noneMatch(Character::isISOControl) && !label.isBlank();
        if (!printable || label.length() > LIMIT || label.chars().allMatch(Character::isDigit)) {
            throw CrabException.of(
                    ErrorCode.NAME_INVALID,
                    "a turn cannot be given that name",
                    "a label has 1 to " + LIMIT + " printable characters, not only digits, which number turns",
                    "choose another name");
        }
    }

    /**
     * Records that a turn has a label from now on, or none any more.
     *
     * @throws CrabException NAME_INVALID; TURN_UNKNOWN; TURN_NOT_KEPT, for the checkpoint has to be there for its label to keep it;
     *     DISK_FULL, IO_FAILED
     */
    static void give(CheckpointStore store, Timeline timeline, long turn, @Nullable String label) {
        check(label);
        if (turn == 0) {
            throw CrabException.of(
                    ErrorCode.TURN_UNKNOWN,
                    "turn 0 of session " + store.session() + " cannot be given a label",
                    "it is the image as it came, which is kept anyway",
                    "name it by its number, or label a turn from 1 on");
        }
        TurnTarget.of(store.session(), timeline, store.manifests(), turn);
        store.journal().append(KIND, toJson(turn, label));
    }

    private static ObjectNode toJson(long turn, @Nullable String label) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("version", SessionRecords.VERSION)
                .put("turn", turn)
                .put("label", label);
    }

    /** Those of the turns that count. */
    static Map<Long, String> of(List<JournalRecord> records) {
        Map<Long, String> labels = Map.of();
        for (JournalRecord entry : records) {
            if (entry.kind().equals(SessionRecords.ROLLBACK)) {
                labels = until(labels, SessionRecords.turn(entry));
            } else if (entry.kind().equals(KIND)) {
                labels = with(
                        labels,
                        SessionRecords.turn(entry),
                        entry.body().path("label").textValue());
            }
        }
        return labels;
    }

    static Map<Long, String> with(Map<Long, String> labels, long turn, @Nullable String label) {
        TreeMap<Long, String> changed = new TreeMap<>(labels);
        changed.remove(turn);
        if (label != null) {
            changed.values().remove(label);
            changed.put(turn, label);
        }
        return changed;
    }

    /** Those that a rollback to that turn leaves. */
    static Map<Long, String> until(Map<Long, String> labels, long turn) {
        return new TreeMap<>(new TreeMap<>(labels).headMap(turn, true));
    }
}

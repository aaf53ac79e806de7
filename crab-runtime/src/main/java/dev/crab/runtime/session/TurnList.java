package dev.crab.runtime.session;

import dev.crab.runtime.session.SessionRecords.Details;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.JournalRecord;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The committed turns of a session as the store has them; needs no lock. */
final class TurnList {
    private TurnList() {}

    /**
     * Reads them.
     *
     * @throws dev.crab.runtime.error.CrabException JOURNAL_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    static List<TurnInfo> read(DataDirectory data, String session) {
        List<JournalRecord> records = FileJournal.read(data.session(session));
        Map<Long, String> labels = Labels.of(records);
        Set<Long> kept = new HashSet<>(CheckpointStore.manifests(data, session).generations());
        kept.add(0L);
        List<TurnInfo> turns = new ArrayList<>();
        for (JournalRecord entry : SessionRecords.commits(records)) {
            Commit commit = SessionRecords.commit(entry);
            Details details = SessionRecords.details(entry);
            turns.add(new TurnInfo(
                    commit,
                    details.saved(),
                    labels.get(commit.turn()),
                    kept.contains(commit.generation()),
                    details.atMillis()));
        }
        return List.copyOf(turns);
    }
}

package dev.crab.cli;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.SessionArchive;
import dev.crab.runtime.session.TurnInfo;
import java.util.List;

/** A turn as a command line names it: by its number, or by its label. */
final class TurnName {
    private TurnName() {}

    /** Its number; 0 is the image as it came. Fails with TURN_UNKNOWN if no turn has that label. */
    static long number(CrabRuntime runtime, String session, String name) {
        List<TurnInfo> turns = SessionArchive.turns(runtime.data(), session);
        if (name.matches("[0-9]{1,18}")) {
            return Long.parseLong(name);
        }
        return turns.stream()
                .filter(turn -> name.equals(turn.label()))
                .mapToLong(TurnInfo::number)
                .findFirst()
                .orElseThrow(() -> CrabException.of(
                        ErrorCode.TURN_UNKNOWN,
                        "session " + session + " has no turn \"" + Table.printable(name) + "\"",
                        "none of its " + turns.size() + " turns has that label",
                        "name a turn by its number, or by a label that ./crab show lists"));
    }
}

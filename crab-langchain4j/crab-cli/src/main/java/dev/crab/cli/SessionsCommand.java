package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.session.ChatArchive;
import dev.crab.runtime.session.SessionArchive;
import dev.crab.runtime.session.SessionArchive.CommittedTurn;
import java.time.Instant;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;

@Command(
        name = "sessions",
        description = {
            "Lists the sessions of the data directory. Exit code 1 if one of them cannot be read.",
            "STATE: ok (at rest); open (a program has it open); left running (no program has, and its sandbox runs: one was killed; the session"
                    + " goes on when it is opened, ./crab stop ends the sandbox); unprotected (processes that the last turn has could not"
                    + " be captured); chat only (opened where there could be no sandbox)."
        },
        mixinStandardHelpOptions = true)
final class SessionsCommand extends Report {
    @Override
    public Integer call() {
        boolean ok = true;
        Table table = new Table("SESSION", "TURNS", "GENERATION", "LAST COMMIT", "OWNER", "STATE");
        ObjectNode document = Json.object();
        ArrayNode list = document.putArray("sessions");
        try (CrabRuntime runtime = runtime()) {
            for (String session : runtime.sessions()) {
                OptionalLong owner = runtime.owner(session);
                ObjectNode entry = list.addObject().put("session", session);
                if (owner.isPresent()) {
                    entry.put("owner", owner.getAsLong());
                }
                String holder = owner.isPresent() ? "pid " + owner.getAsLong() : "-";
                try {
                    SessionArchive archive = runtime.archive(session);
                    CommittedTurn last = last(archive);
                    entry.put("turns", archive.turns().size());
                    entry.put("generation", last == null ? 0 : last.commit().generation());
                    if (last != null) {
                        entry.put(
                                "lastCommit",
                                Instant.ofEpochMilli(last.atMillis()).toString());
                    }
                    String state = state(
                            last != null && !last.lost().isEmpty(), owner.isPresent(), runtime.isRunning(session));
                    entry.put("state", state);
                    table.row(
                            session,
                            archive.turns().size(),
                            last == null ? 0 : last.commit().generation(),
                            last == null ? "-" : Instant.ofEpochMilli(last.atMillis()),
                            holder,
                            state);
                } catch (CrabException e) {
                    ok = false;
                    entry.set("error", Json.describe(e));
                    table.row(session, "?", "?", "?", holder, e.code() + ": " + e.why());
                }
            }
            for (String session : runtime.chats()) {
                ok &= chat(runtime, session, table, list);
            }
        }
        if (json()) {
            out().println(Json.text(document));
        } else if (list.isEmpty()) {
            out().println("no sessions in " + config().data());
        } else {
            table.print(out());
        }
        return ok ? CrabCli.DONE : CrabCli.REFUSED;
    }

    private static String state(boolean unprotected, boolean owned, boolean running) {
        String state = owned ? "open" : running ? "left running" : "ok";
        return !unprotected ? state : state.equals("ok") ? "unprotected" : state + ", unprotected";
    }

    /** One that was opened where there could be no sandbox. */
    private static boolean chat(CrabRuntime runtime, String session, Table table, ArrayNode list) {
        OptionalLong owner = ChatArchive.owner(runtime.data(), session);
        ObjectNode entry = list.addObject().put("session", session).put("chatOnly", true);
        owner.ifPresent(pid -> entry.put("owner", pid));
        String holder = owner.isPresent() ? "pid " + owner.getAsLong() : "-";
        try {
            ChatArchive chat = runtime.chat(session);
            Instant last = chat.lastMillis() == 0 ? null : Instant.ofEpochMilli(chat.lastMillis());
            entry.put("turns", chat.turns()).put("superseded", chat.superseded());
            if (last != null) {
                entry.put("lastCommit", last.toString());
            }
            table.row(
                    session,
                    chat.turns(),
                    "-",
                    last == null ? "-" : last,
                    holder,
                    chat.superseded() ? "chat only, left behind" : "chat only");
            return true;
        } catch (CrabException e) {
            entry.set("error", Json.describe(e));
            table.row(session, "?", "-", "?", holder, "chat only, " + e.code() + ": " + e.why());
            return false;
        }
    }

    private static @Nullable CommittedTurn last(SessionArchive archive) {
        return archive.turns().isEmpty()
                ? null
                : archive.turns().get(archive.turns().size() - 1);
    }
}

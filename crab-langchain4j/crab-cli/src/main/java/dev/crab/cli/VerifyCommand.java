package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.session.SessionArchive.Finding;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
        name = "verify",
        description = "Checks journal, manifests, objects and snapshots of sessions against their checksums, without "
                + "restoring anything. Exit code 1 if something is damaged.",
        mixinStandardHelpOptions = true)
final class VerifyCommand extends Report {
    @Parameters(arity = "0..*", paramLabel = "SESSION", description = "Sessions to check (default: all).")
    private List<String> sessions = List.of();

    private int checked;
    private int damaged;

    @Override
    public Integer call() {
        ObjectNode document = Json.object();
        ArrayNode findings = document.putArray("findings");
        try (CrabRuntime runtime = runtime()) {
            for (String session : sessions.isEmpty() ? runtime.sessions() : sessions) {
                try {
                    runtime.archive(session);
                    report(findings, session, new Finding(session + "/journal", null));
                    runtime.verify(session, finding -> report(findings, session, finding));
                } catch (CrabException e) {
                    if (sessions.contains(session) && isNoDamage(e)) {
                        throw e;
                    }
                    report(findings, session, new Finding(session, e));
                }
            }
        }
        document.put("ok", damaged == 0).put("checked", checked).put("damaged", damaged);
        if (json()) {
            out().println(Json.text(document));
        } else {
            out().println(checked + " checked, " + damaged + " damaged");
        }
        return damaged == 0 ? CrabCli.DONE : CrabCli.REFUSED;
    }

    private static boolean isNoDamage(CrabException e) {
        return switch (e.code()) {
            case SESSION_UNKNOWN, NAME_INVALID, NOT_ROOT, BTRFS_MISSING, REFLINK_MISSING, DATA_DIRECTORY_UNUSABLE ->
                true;
            default -> false;
        };
    }

    private void report(ArrayNode findings, String session, Finding finding) {
        checked++;
        CrabException problem = finding.problem();
        if (problem != null) {
            damaged++;
        }
        ObjectNode entry = findings.addObject()
                .put("session", session)
                .put("subject", finding.subject())
                .put("ok", problem == null);
        if (problem != null) {
            entry.set("problem", Json.describe(problem));
        }
        if (!json()) {
            out().println(
                            problem == null
                                    ? "ok       " + finding.subject()
                                    : "damaged  " + finding.subject() + ": " + problem.code() + ": " + problem.why()
                                            + "; cure: " + problem.cure());
        }
    }
}

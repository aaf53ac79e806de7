package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabSupport;
import dev.crab.runtime.CrabSupport.Check;
import dev.crab.runtime.CrabSupport.Status;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;

@Command(
        name = "doctor",
        description = "Walks every prerequisite: ok, or what is missing and the cure. Installs nothing. Exit code 1 if "
                + "something that Crab needs is missing.",
        mixinStandardHelpOptions = true)
final class DoctorCommand extends Report {
    @Override
    public Integer call() {
        List<Check> checks = CrabSupport.checks(config());
        boolean ok = checks.stream().noneMatch(check -> check.status() == Status.MISSING);
        if (json()) {
            ObjectNode document = Json.object().put("ok", ok);
            ArrayNode list = document.putArray("checks");
            for (Check check : checks) {
                ObjectNode entry = list.addObject()
                        .put("name", check.name())
                        .put("status", check.status().name().toLowerCase(Locale.ROOT))
                        .put("detail", check.detail())
                        .put("cure", check.cure());
                if (check.code() != null) {
                    entry.put("code", check.code().name());
                }
            }
            out().println(Json.text(document));
        } else {
            for (Check check : checks) {
                out().printf(
                                Locale.ROOT,
                                "%-8s %-14s %s%s%n",
                                check.status().name().toLowerCase(Locale.ROOT),
                                check.name(),
                                Table.printable(check.detail()),
                                check.cure().isEmpty() ? "" : "; cure: " + check.cure());
            }
        }
        return ok ? CrabCli.DONE : CrabCli.REFUSED;
    }
}

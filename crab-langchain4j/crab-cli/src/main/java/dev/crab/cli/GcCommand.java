package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.session.GarbageCollector;
import dev.crab.runtime.session.GarbageCollector.Garbage;
import dev.crab.runtime.session.GarbageCollector.PassedOver;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
        name = "gc",
        description =
                "Frees what nobody needs any more: generations beyond crab.keep-generations, what turns that never "
                        + "committed have left, what killed programs left running, chats from before their session had a sandbox. Sessions that somebody has open are passed over.",
        mixinStandardHelpOptions = true)
final class GcCommand extends Report {
    @Option(names = "--dry-run", description = "Change nothing; say what would go.")
    private boolean dryRun;

    @Override
    public Integer call() {
        GarbageCollector.Report found;
        try (CrabRuntime runtime = runtime()) {
            found = runtime.collectGarbage(dryRun);
        }
        long bytes = found.garbage().stream().mapToLong(Garbage::bytes).sum();
        if (json()) {
            ObjectNode document = Json.object();
            document.put("dryRun", dryRun).put("bytes", bytes);
            ArrayNode garbage = document.putArray("garbage");
            found.garbage()
                    .forEach(one -> garbage.addObject()
                            .put("session", one.session())
                            .put("kind", kind(one))
                            .put("name", one.name())
                            .put("bytes", one.bytes()));
            ArrayNode passedOver = document.putArray("passedOver");
            for (PassedOver one : found.passedOver()) {
                passedOver.addObject().put("session", one.session()).set("reason", Json.describe(one.reason()));
            }
            out().println(Json.text(document));
            return CrabCli.DONE;
        }
        if (!found.garbage().isEmpty()) {
            Table table = new Table("session", dryRun ? "would go" : "gone", "name", "bytes");
            found.garbage().forEach(one -> table.row(one.session(), kind(one), one.name(), one.bytes()));
            table.print(out());
        }
        for (PassedOver one : found.passedOver()) {
            out().println("passed over " + one.session() + ": "
                    + Table.printable(one.reason().why()));
        }
        out().println(found.garbage().size() + (dryRun ? " would go, " : " gone, ") + bytes
                + " bytes beside what snapshots hold");
        return CrabCli.DONE;
    }

    private static String kind(Garbage one) {
        return one.kind().name().toLowerCase(Locale.ROOT);
    }
}

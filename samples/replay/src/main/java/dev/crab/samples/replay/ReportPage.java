package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.cli.ChartPage;
import dev.crab.samples.common.Json;
import java.io.IOException;

/** The summaries as one page that needs nothing else: the chart library and the figures are in it. */
final class ReportPage {
    private ReportPage() {}

    /** The page of {@link Results#json()}. */
    static String of(ObjectNode found) throws IOException {
        ObjectNode shown = Json.object();
        for (String part : new String[] {"circumstances", "summaries", "notes", "refusals", "failures"}) {
            shown.set(part, found.path(part));
        }
        return ChartPage.of(ChartPage.resource(ReportPage.class, "page.html"), shown);
    }
}

package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** The summaries as one page that needs nothing else: the chart library and the figures are in it. */
final class ReportPage {
    private static final String CHART = "/META-INF/resources/webjars/chart.js/";

    private ReportPage() {}

    /** The page of {@link Results#json()}. */
    static String of(ObjectNode found) throws IOException {
        ObjectNode shown = Json.object();
        for (String part : new String[] {"circumstances", "summaries", "notes", "failures"}) {
            shown.set(part, found.path(part));
        }
        String version = text("/META-INF/maven/org.webjars.npm/chart.js/pom.properties")
                .lines()
                .filter(line -> line.startsWith("version="))
                .map(line -> line.substring("version=".length()))
                .findFirst()
                .orElseThrow();
        return text("page.html")
                .replace("/*CHART*/", script(text(CHART + version + "/dist/chart.umd.min.js")))
                .replace("/*DATA*/", script(Json.write((JsonNode) shown)));
    }

    /** What stands within a script element must not seem to end it. */
    private static String script(String text) {
        return text.replaceAll("(?m)^//# sourceMappingURL=.*$", "").replace("</", "<\\/");
    }

    private static String text(String resource) throws IOException {
        try (InputStream in = ReportPage.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IOException(resource + " is not there: build Crab again");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}

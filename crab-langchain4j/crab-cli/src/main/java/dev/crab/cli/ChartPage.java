package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** A page with charts that needs nothing beside itself: the chart library and the data are in it. */
public final class ChartPage {
    private static final String CHART = "/META-INF/resources/webjars/chart.js/";

    private ChartPage() {}

    /**
     * Fills a page in.
     *
     * @param template the page, with a script element that holds {@code /*CHART*}{@code /} and one that holds {@code /*DATA*}{@code /}
     * @param data what the second one becomes, as JSON
     * @throws IOException if the chart library is not in the class path
     */
    public static String of(String template, ObjectNode data) throws IOException {
        String version = resource(ChartPage.class, "/META-INF/maven/org.webjars.npm/chart.js/pom.properties")
                .lines()
                .filter(line -> line.startsWith("version="))
                .map(line -> line.substring("version=".length()))
                .findFirst()
                .orElseThrow(() -> new IOException("the chart library does not say its version"));
        String chart = resource(ChartPage.class, CHART + version + "/dist/chart.umd.min.js");
        return template.replace("/*CHART*/", script(chart)).replace("/*DATA*/", script(Json.text(data)));
    }

    /** A resource as text, its name as that class sees it. */
    public static String resource(Class<?> beside, String name) throws IOException {
        try (InputStream in = beside.getResourceAsStream(name)) {
            if (in == null) {
                throw new IOException(name + " is not in the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** What stands within a script element must not seem to end it, and must not send a browser to look for more. */
    private static String script(String text) {
        return text.replaceAll("(?m)^//# sourceMappingURL=.*$", "").replace("</", "<\\/");
    }
}

package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpServer;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page in a real browser. */
class ReportPageTest {
    /** Put behind the page's own scripts: tells what was drawn, and what was asked for, into the document. */
    private static final String LOOK = """
            <script>
            const seen = {};
            document.querySelectorAll('canvas').forEach(canvas => {
              const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
              const colours = new Set();
              for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3]) colours.add(pixels.slice(i, i + 3).join());
              seen[canvas.id] = { visible: canvas.offsetParent !== null, colours: colours.size };
            });
            const result = document.createElement('pre');
            result.id = 'seen';
            result.textContent = JSON.stringify({ charts: seen, rows: document.querySelectorAll('tbody tr').length,
              requests: performance.getEntriesByType('resource').map(entry => entry.name) });
            document.body.appendChild(result);
            </script>
            """;

    /** Whom a browser asks on its own behalf. */
    private static final Set<String> OF_THE_BROWSER = Set.of("clients2.google.com", "update.googleapis.com");

    private final List<String> asked = new CopyOnWriteArrayList<>();

    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    Path directory;

    @Test
    void page_drawsEveryChart_andAsksNobodyForAnything() throws Exception {
        String page = ReportPage.of(found());
        assertThat(page).doesNotContain("/*CHART*/").doesNotContain("/*DATA*/");

        JsonNode seen = browse(page);

        assertThat(seen.path("charts")).hasSize(8);
        seen.path("charts").properties().forEach(chart -> {
            assertThat(chart.getValue().path("visible").asBoolean())
                    .as(chart.getKey())
                    .isTrue();
            // Letters and grid are of a few shades of grey; bars add theirs.
            assertThat(chart.getValue().path("colours").asInt())
                    .as(chart.getKey() + " is drawn")
                    .isGreaterThan(8);
        });
        assertThat(seen.path("rows").asInt()).isEqualTo(8);
        assertThat(seen.path("requests")).isEmpty();
        assertThat(asked).isEmpty();
    }

    @Test
    void page_ofNothing_drawsNothing() throws Exception {
        JsonNode seen = browse(ReportPage.of(new Results(List.of("crab")).json()));

        assertThat(seen.path("charts"))
                .allSatisfy(
                        chart -> assertThat(chart.path("visible").asBoolean()).isFalse());
    }

    @Test
    void aPageThatAsksForSomething_isNoticed() throws Exception {
        browse("<body><img src='http://pictures.example/bird.png'></body>");

        assertThat(asked).containsExactly("http://pictures.example/bird.png");
    }

    private static ObjectNode found() {
        Results results = new Results(List.of("none", "crab"));
        results.circumstance("speed", 1.0);
        for (String policy : List.of("none", "crab")) {
            TurnRow row = policy.equals("none")
                    ? TurnRow.unsaved(1, 3_000_000_000L)
                    : new TurnRow(
                            1,
                            "FULL",
                            "PROCESSES_AND_FILES",
                            70_000,
                            3_000_000_000L,
                            30_000_000,
                            20_000_000,
                            40_000_000,
                            9_000_000);
            results.addMeasured(List.of(new Measured(
                    policy,
                    "one",
                    "service",
                    1,
                    3_100_000_000L,
                    3_000_000_000L,
                    List.of(row),
                    50_000_000,
                    9_000_000,
                    90_000_000,
                    30_000_000)));
            results.addCrashes(List.of(new Crash(
                    policy,
                    "one",
                    "service",
                    "every",
                    CrashKind.BOUNDARY,
                    1,
                    1,
                    policy.equals("none") ? 0 : 1,
                    List.of("</script>"),
                    List.of(),
                    List.of(),
                    "",
                    false,
                    300,
                    900,
                    "")));
        }
        return results.json();
    }

    /** Opens it in a headless browser that can reach a server of ours alone, and tells what the page has become. */
    private JsonNode browse(String page) throws IOException, InterruptedException {
        Path file = directory.resolve("page.html");
        Files.writeString(file, page.replace("</body>", LOOK + "</body>"));
        HttpServer proxy = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        proxy.createContext("/", exchange -> {
            if (!OF_THE_BROWSER.contains(exchange.getRequestURI().getHost())) {
                asked.add(exchange.getRequestURI().toString());
            }
            exchange.close();
        });
        proxy.start();
        try {
            Process browser = new ProcessBuilder(
                            "chromium",
                            "--headless",
                            "--no-sandbox",
                            "--disable-gpu",
                            "--disable-background-networking",
                            "--disable-component-update",
                            "--no-first-run",
                            "--proxy-server=127.0.0.1:" + proxy.getAddress().getPort(),
                            "--user-data-dir=" + directory.resolve("profile"),
                            "--window-size=1400,2000",
                            "--virtual-time-budget=5000",
                            "--dump-dom",
                            file.toUri().toString())
                    .redirectError(directory.resolve("browser.log").toFile())
                    .start();
            String document = new String(browser.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(browser.waitFor(60, TimeUnit.SECONDS)).isTrue();
            Matcher seen = Pattern.compile("<pre id=\"seen\">(.*?)</pre>", Pattern.DOTALL)
                    .matcher(document);
            assertThat(seen.find())
                    .as(document.substring(Math.max(0, document.length() - 2000)))
                    .isTrue();
            return Objects.requireNonNull(
                    Json.read(seen.group(1).replace("&quot;", "\"").replace("&amp;", "&")));
        } finally {
            proxy.stop(0);
        }
    }
}

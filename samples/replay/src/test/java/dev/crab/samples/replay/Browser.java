package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpServer;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A real browser without a window. */
final class Browser {
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

    private Browser() {}

    /**
     * What a page has become.
     *
     * @param page its charts, by their canvas, with whether they are visible and how many colours they have; rows of its tables; what it loaded
     * @param asked addresses that were asked for
     */
    record Seen(JsonNode page, List<String> asked) {
        void drewEveryChart(int charts) {
            assertThat(page.path("charts")).hasSize(charts);
            page.path("charts").properties().forEach(chart -> {
                assertThat(chart.getValue().path("visible").asBoolean())
                        .as(chart.getKey())
                        .isTrue();
                // Letters and grid are of a few shades of grey; bars add theirs.
                assertThat(chart.getValue().path("colours").asInt())
                        .as(chart.getKey() + " is drawn")
                        .isGreaterThan(8);
            });
        }

        void askedNobody() {
            assertThat(page.path("requests")).isEmpty();
            assertThat(asked).isEmpty();
        }
    }

    /** Opens it in a headless browser that can reach a server of ours alone, and tells what the page has become. */
    static Seen open(Path directory, String html) throws IOException, InterruptedException {
        Path file = directory.resolve("page.html");
        Files.writeString(file, html.replace("</body>", LOOK + "</body>"));
        List<String> asked = new CopyOnWriteArrayList<>();
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
            JsonNode page = Json.read(seen.group(1).replace("&quot;", "\"").replace("&amp;", "&"));
            return new Seen(page, List.copyOf(asked));
        } finally {
            proxy.stop(0);
        }
    }
}

package dev.crab.samples.truth;

import dev.crab.runtime.inspector.Effect;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Reads the catalogue of kinds, the resource {@code kinds.txt}: {@code = CATEGORY}, then for each kind a line {@code NAME TRUTH} or
 * {@code NAME TRUTH restless}, then indented lines of bash, {@code - } for what comes before the turn and {@code > } for the turn.
 */
final class KindCatalogue {
    private static final String RESOURCE = "kinds.txt";

    private final List<Kind> kinds = new ArrayList<>();
    private final Set<String> names = new HashSet<>();
    private String category = "";
    private String[] heading = {};
    private StringBuilder before = new StringBuilder();
    private StringBuilder turn = new StringBuilder();

    private KindCatalogue() {}

    static List<Kind> load() throws IOException {
        try (InputStream in = KindCatalogue.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IOException("the resource " + RESOURCE + " is missing");
            }
            return parse(new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    static List<Kind> parse(String text) {
        KindCatalogue catalogue = new KindCatalogue();
        text.lines().forEach(catalogue::line);
        catalogue.end();
        return List.copyOf(catalogue.kinds);
    }

    private void line(String line) {
        if (line.isBlank() || line.startsWith("#")) {
            return;
        }
        if (line.startsWith("= ")) {
            end();
            category = line.substring(2);
        } else if (line.startsWith("  - ")) {
            before.append(line, 4, line.length()).append('\n');
        } else if (line.startsWith("  > ")) {
            turn.append(line, 4, line.length()).append('\n');
        } else {
            end();
            heading = line.split(" ", -1);
            if (heading.length < 2 || !names.add(heading[0])) {
                throw new IllegalArgumentException("no kind, or a name twice: " + line);
            }
        }
    }

    private void end() {
        if (heading.length > 0) {
            if (turn.isEmpty()) {
                throw new IllegalArgumentException("no turn: " + heading[0]);
            }
            boolean restless = heading.length > 2 && heading[2].equals("restless");
            kinds.add(new Kind(
                    category, heading[0], Effect.valueOf(heading[1]), restless, before.toString(), turn.toString()));
        }
        heading = new String[0];
        before = new StringBuilder();
        turn = new StringBuilder();
    }
}

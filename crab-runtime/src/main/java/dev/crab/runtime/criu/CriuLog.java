package dev.crab.runtime.criu;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Picks the evidence out of CRIU's log. */
final class CriuLog {
    static final String NAME = "criu.log";

    private static final Pattern TIME = Pattern.compile("^\\(\\d+\\.\\d+\\) *");

    /** CRIU says so where root lacks CAP_SYS_RESOURCE, and goes on. */
    private static final String HARMLESS = "Can't setup RLIMIT_NOFILE for self";

    private static final int BEFORE = 3;
    private static final int AFTER = 1;
    private static final int MAX_LINES = 40;
    private static final int MAX_BYTES = 8 << 20;

    private CriuLog() {}

    /** The lines around each error, or the last lines if there is none; gaps are marked. Never fails. */
    static String errors(Path directory) {
        List<String> lines;
        try (InputStream in = Files.newInputStream(directory.resolve(NAME))) {
            // Names in it come from the sandbox: bytes, not text.
            lines = new String(in.readNBytes(MAX_BYTES), StandardCharsets.ISO_8859_1)
                    .lines()
                    .toList();
        } catch (IOException e) {
            return "no log (" + e + ")";
        }
        return excerpt(lines);
    }

    /** Without the parts that are true of every run here; empty if nothing else is said. */
    static String message(String said) {
        return said.lines()
                .filter(line -> !line.contains(HARMLESS))
                .map(String::strip)
                .filter(line -> !line.isEmpty())
                .collect(Collectors.joining("; "));
    }

    static String excerpt(List<String> lines) {
        boolean[] wanted = new boolean[lines.size()];
        boolean any = false;
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).contains("Error (") && !lines.get(i).contains(HARMLESS)) {
                any = true;
                for (int j = Math.max(0, i - BEFORE); j <= Math.min(lines.size() - 1, i + AFTER); j++) {
                    wanted[j] = true;
                }
            }
        }
        List<String> excerpt = new ArrayList<>();
        Set<String> said = new HashSet<>();
        for (int i = any ? 0 : Math.max(0, lines.size() - MAX_LINES); i < lines.size(); i++) {
            if (excerpt.size() == MAX_LINES) {
                excerpt.add("…");
                break;
            }
            if (!any || wanted[i]) {
                // It tries some things again and again: once is enough to know.
                if (said.add(TIME.matcher(lines.get(i)).replaceFirst(""))) {
                    excerpt.add(lines.get(i));
                }
            } else if (i > 0
                    && wanted[i - 1]
                    && !excerpt.get(excerpt.size() - 1).equals("…")) {
                excerpt.add("…");
            }
        }
        return excerpt.isEmpty() ? "its log is empty" : String.join("\n", excerpt);
    }
}

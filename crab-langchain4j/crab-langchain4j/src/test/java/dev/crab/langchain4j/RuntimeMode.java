package dev.crab.langchain4j;

import java.nio.file.Path;
import java.util.List;

/** What the killable agent's sandbox is. */
final class RuntimeMode {
    private RuntimeMode() {}

    static String name() {
        return "directory";
    }

    static List<String> jvmOptions(Path directory) {
        return List.of();
    }
}

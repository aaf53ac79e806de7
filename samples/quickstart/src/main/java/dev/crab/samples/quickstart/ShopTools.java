package dev.crab.samples.quickstart;

import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.ExternalEffect;
import dev.crab.langchain4j.OnUnknown;
import dev.crab.langchain4j.ReadOnlyEffect;
import dev.crab.langchain4j.SandboxEffect;
import dev.crab.runtime.sandbox.Sandbox;
import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import java.nio.charset.StandardCharsets;

/** Tools of the agent's own, beside the ready-made ones: one for each kind of effect. */
final class ShopTools {
    private final Sandbox sandbox;
    private final Announcements announcements;

    ShopTools(Sandbox sandbox, Announcements announcements) {
        this.sandbox = sandbox;
        this.announcements = announcements;
    }

    @Tool(name = "run_tests", value = "Runs the project's unit tests and returns the last line of the report.")
    @SandboxEffect
    String runTests() {
        return sandbox.exec("cd " + Script.PROJECT + " && python3 -B -m unittest 2>&1 | tail -n 1")
                .text();
    }

    @Tool(name = "count_lines", value = "Counts the lines of a text file.")
    @ReadOnlyEffect
    String countLines(@P("absolute path of the file") String path) {
        String text = new String(sandbox.readFile(path, 1 << 20), StandardCharsets.UTF_8);
        return Long.toString(text.lines().count());
    }

    @Tool(name = "announce", value = "Announces something to everybody. It cannot be taken back.")
    @ExternalEffect(onUnknown = OnUnknown.RETRY)
    String announce(@P("what to announce") String text) {
        announcements.post(Crab.idempotencyKey().orElse("no key"), text);
        return "announced";
    }
}

package dev.crab.samples.replay;

import dev.crab.langchain4j.SandboxEffect;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.samples.common.RecordedCalls;
import dev.crab.samples.common.Recording;
import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import org.jspecify.annotations.Nullable;

/** The tools that recorded agents had: a command line, and edits of files. They run for real. */
final class RecordedTools {
    /** Characters of a result that the model gets; the middle of a longer one is left out. */
    private static final int LIMIT = 16_384;

    private final RecordedCalls calls;

    RecordedTools(Sandbox sandbox, Recording recording) {
        calls = new RecordedCalls(sandbox, recording);
    }

    @Tool(name = "bash", value = "Runs a command line and returns its output.")
    @SandboxEffect
    String bash(@P("the command line") String command) {
        return bound(calls.make(new Recording.Command(command, null)));
    }

    @Tool(name = "edit", value = "Edits a file: create, view, str_replace or insert.")
    @SandboxEffect
    String edit(
            @P("create, view, str_replace or insert") String command,
            @P("absolute path of the file") String path,
            @P(value = "the text to write, to put in or to put in place", required = false) @Nullable String text,
            @P(value = "the passage to replace", required = false) @Nullable String old,
            @P(value = "the line behind which to put the text", required = false) @Nullable Integer line) {
        String written = text == null ? "" : text;
        return bound(calls.make(
                switch (command) {
                    case "create" -> new Recording.Create(path, written);
                    case "str_replace" -> new Recording.Replace(path, old == null ? "" : old, written);
                    case "insert" -> new Recording.Insert(path, line == null ? 0 : line, written);
                    default -> new Recording.View(path);
                }));
    }

    private static String bound(String text) {
        if (text.length() <= LIMIT) {
            return text;
        }
        return text.substring(0, LIMIT / 2) + "\n[...]\n" + text.substring(text.length() - LIMIT / 2);
    }
}

package dev.crab.samples.langchain4j;

import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.ExternalEffect;
import dev.crab.langchain4j.OnUnknown;
import dev.crab.runtime.sandbox.Sandbox;
import dev.langchain4j.agent.tool.ReturnBehavior;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.TextContent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** Tools whose effects can be counted in the sandbox, and which note on the host every time they really run. */
final class Tools {
    /** A process that counts in its memory only: a plus adds one, and whatever it reads it answers with the count. */
    static final String COUNTER = """
            mkdir -p /srv /opt/count && cd /opt/count && mkfifo in out && touch lock
            setsid bash -c 'exec 3<>in; n=0
            while read line <&3; do if [ "$line" = + ]; then n=$((n+1)); fi; echo $n > out; done' \
                > /dev/null 2>&1 < /dev/null &
            """;

    private final Sandbox sandbox;
    private final Path executions;

    Tools(Sandbox sandbox, Path executions) {
        this.sandbox = sandbox;
        this.executions = executions;
    }

    static void note(Path file, String line) {
        try {
            Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Notes that a tool really runs, and which call it is. */
    private void note(String tool) {
        note(executions, tool + "\t" + Crab.idempotencyKey().orElse("none"));
    }

    private String add(String line) {
        count("+");
        return run("echo " + line + " >> /srv/log-" + line + "; wc -l < /srv/log-" + line);
    }

    /** Tells the process that counts, which answers. */
    String count(String what) {
        return run("cd /opt/count && flock lock bash -c 'echo " + what + " > in; read n < out; echo $n'");
    }

    @Tool("Appends a line to the log of that name")
    String append(String line) {
        note("append " + line);
        return add(line);
    }

    @Tool(value = "Appends, and that is the answer", returnBehavior = ReturnBehavior.IMMEDIATE)
    String finish(String line) {
        note("finish " + line);
        return "finished " + add(line);
    }

    @Tool("Changes a file and fails")
    String fail(String line) {
        note("fail " + line);
        add(line);
        throw new IllegalStateException("no luck with " + line);
    }

    @Tool("Appends and shows a picture of it")
    List<Content> draw(String line) {
        note("draw " + line);
        return List.of(TextContent.from(add(line)), ImageContent.from("aGVsbG8=", "image/png"));
    }

    @Tool("Sends a mail")
    @ExternalEffect(onUnknown = OnUnknown.RETRY)
    String mail(String text) {
        note("mail " + text);
        note(
                executions.resolveSibling("mails"),
                text + " " + Crab.idempotencyKey().orElse("none"));
        return "sent";
    }

    String run(String command) {
        var result = sandbox.exec(command);
        if (!result.isSuccess()) {
            throw new IllegalStateException(command + ": " + result.text());
        }
        return result.out().strip();
    }
}

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

    @Tool("Appends a line to the log of that name")
    String append(String line) {
        note(executions, "append " + line);
        return run("echo " + line + " >> /srv/log-" + line + "; wc -l < /srv/log-" + line);
    }

    @Tool(value = "Appends, and that is the answer", returnBehavior = ReturnBehavior.IMMEDIATE)
    String finish(String line) {
        note(executions, "finish " + line);
        return "finished " + run("echo " + line + " >> /srv/log-" + line + "; wc -l < /srv/log-" + line);
    }

    @Tool("Changes a file and fails")
    String fail(String line) {
        note(executions, "fail " + line);
        run("echo " + line + " >> /srv/log-" + line);
        throw new IllegalStateException("no luck with " + line);
    }

    @Tool("Appends and shows a picture of it")
    List<Content> draw(String line) {
        note(executions, "draw " + line);
        return List.of(
                TextContent.from(run("echo " + line + " >> /srv/log-" + line + "; wc -l < /srv/log-" + line)),
                ImageContent.from("aGVsbG8=", "image/png"));
    }

    @Tool("Sends a mail")
    @ExternalEffect(onUnknown = OnUnknown.RETRY)
    String mail(String text) {
        note(executions, "mail " + text);
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

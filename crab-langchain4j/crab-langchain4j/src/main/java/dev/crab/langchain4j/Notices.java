package dev.crab.langchain4j;

import dev.crab.overlap.OutsideEffect;
import dev.crab.overlap.Untold;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.service.tool.ToolExecutionResult;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What the model is told with a tool's result about where its sandbox is. */
final class Notices {
    private Notices() {}

    /** After an opening; null if all is as it was. */
    static @Nullable String of(Recovery recovery) {
        if (!(recovery instanceof Recovery.Restored restored)) {
            return null;
        }
        List<String> facts = new ArrayList<>();
        if (!restored.skipped().isEmpty()) {
            facts.add("It is back at turn " + restored.commit().turn()
                    + ", because later checkpoints were damaged: what was done after that turn is undone.");
        }
        if (!restored.lost().isEmpty()) {
            facts.add("Not restored, because it could not be captured: " + String.join(", ", restored.lost()));
        }
        if (!restored.restarted().isEmpty()) {
            facts.add("Of these, started again without what they had in memory: "
                    + String.join(", ", restored.restarted()));
        }
        return facts.isEmpty() ? null : "\n[The sandbox was restored. " + String.join(" ", facts) + "]";
    }

    /** A tool's result with what the model has to be told beside it: nothing that was lost in a restore is kept from it. */
    static ToolExecutionResult with(@Nullable String notice, ToolExecutionResult result) {
        if (notice == null) {
            return result;
        }
        List<Content> contents = new ArrayList<>(result.resultContents());
        contents.add(TextContent.from(notice));
        String text = contents.stream()
                .map(content -> content instanceof TextContent one ? one.text() : "")
                .collect(Collectors.joining());
        boolean textOnly = contents.stream().allMatch(TextContent.class::isInstance);
        ToolExecutionResult.Builder builder = ToolExecutionResult.builder()
                .isError(result.isError())
                .result(result.result())
                .attributes(result.attributes());
        return textOnly
                ? builder.resultText(text).build()
                : builder.resultContents(contents).build();
    }

    /** After one that the model wanted itself. */
    static String wentBack(List<OutsideEffect> effects, String why) {
        StringBuilder text = new StringBuilder(
                        "[You went back to an earlier point: the sandbox and this conversation are as they were then. ")
                .append("What you tried from here before, and why it failed: ")
                .append(why)
                .append(" Do not try it again.");
        outside(text, effects);
        return text.append(']').toString();
    }

    /** After a rollback. */
    static String rolledBack(Untold back) {
        StringBuilder text = new StringBuilder("\n[The sandbox and this conversation went back to turn ")
                .append(back.turn())
                .append(": what was done after it is undone. Why: ")
                .append(back.note())
                .append('.');
        outside(text, back.outside());
        return text.append(']').toString();
    }

    private static void outside(StringBuilder text, List<OutsideEffect> effects) {
        if (!effects.isEmpty()) {
            text.append(" Done outside the sandbox since, and not undone: ")
                    .append(effects.stream().map(OutsideEffect::tool).collect(Collectors.joining(", ")))
                    .append('.');
        }
    }
}

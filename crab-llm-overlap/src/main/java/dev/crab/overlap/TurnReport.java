package dev.crab.overlap;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.inspector.EffectReason;
import dev.crab.runtime.session.TurnOutcome;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a turn did and what protecting it cost. Durations in nanoseconds.
 *
 * @param turn the turn's number in the session, from 1
 * @param tools names of the tools that ran in it, in the order in which they started
 * @param committed whether it became the recovery point
 * @param effect what it did to the sandbox; {@link Effect#FULL} if it could not be judged
 * @param reasons why, in the inspector's words
 * @param saved what was stored for it
 * @param bytes written to the store for it
 * @param windowNanos how long the LLM call was in flight that began at the turn's boundary; 0 if none did
 * @param captureWaitNanos how long the capture waited for its turn on the host; part of captureNanos
 * @param captureNanos from the boundary until the sandbox ran freely again
 * @param freezeNanos the part of it in which the sandbox was held still
 * @param persistWaitNanos how long what was captured waited for its turn to be written; part of persistNanos
 * @param persistNanos from then until the commit was durable
 * @param exposedNanos the part of capture and commit that outlasted the window
 * @param claimBroken whether all its tools claimed to be read-only and the inspector found otherwise
 * @param failure why it was not committed; null if it was
 */
public record TurnReport(
        long turn,
        List<String> tools,
        boolean committed,
        Effect effect,
        List<EffectReason> reasons,
        TurnOutcome.Saved saved,
        long bytes,
        long windowNanos,
        long captureWaitNanos,
        long captureNanos,
        long freezeNanos,
        long persistWaitNanos,
        long persistNanos,
        long exposedNanos,
        boolean claimBroken,
        @Nullable String failure) {
    public TurnReport {
        tools = List.copyOf(tools);
        reasons = List.copyOf(reasons);
    }

    /** Of a turn that was not committed. */
    static TurnReport uncommitted(long turn, List<String> tools, long exposedNanos, String failure) {
        return new TurnReport(
                turn,
                tools,
                false,
                Effect.FULL,
                List.of(),
                TurnOutcome.Saved.NOTHING,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                exposedNanos,
                false,
                failure);
    }

    /** The report as it is kept in the journal and printed by {@code --json}. */
    public ObjectNode toJson() {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        json.put("turn", turn);
        ArrayNode names = json.putArray("tools");
        tools.forEach(names::add);
        json.put("committed", committed).put("effect", effect.name());
        ArrayNode list = json.putArray("reasons");
        for (EffectReason reason : reasons) {
            ArrayNode evidence = list.addObject()
                    .put("rule", reason.rule())
                    .put("effect", reason.effect().name())
                    .putArray("evidence");
            reason.evidence().forEach(evidence::add);
        }
        json.put("saved", saved.name())
                .put("bytes", bytes)
                .put("windowNanos", windowNanos)
                .put("captureWaitNanos", captureWaitNanos)
                .put("captureNanos", captureNanos)
                .put("freezeNanos", freezeNanos)
                .put("persistWaitNanos", persistWaitNanos)
                .put("persistNanos", persistNanos)
                .put("exposedNanos", exposedNanos)
                .put("claimBroken", claimBroken);
        if (failure != null) {
            json.put("failure", failure);
        }
        return json;
    }

    /**
     * Reads what {@link #toJson} wrote.
     *
     * @throws IllegalArgumentException if an effect or a kind of saving is unknown
     */
    public static TurnReport fromJson(JsonNode json) {
        List<String> tools = new ArrayList<>();
        json.path("tools").forEach(name -> tools.add(name.asText()));
        List<EffectReason> reasons = new ArrayList<>();
        json.path("reasons").forEach(reason -> {
            List<String> evidence = new ArrayList<>();
            reason.path("evidence").forEach(one -> evidence.add(one.asText()));
            reasons.add(new EffectReason(
                    reason.path("rule").asText(),
                    Effect.valueOf(reason.path("effect").asText()),
                    evidence));
        });
        return new TurnReport(
                json.path("turn").asLong(),
                tools,
                json.path("committed").asBoolean(),
                Effect.valueOf(json.path("effect").asText()),
                reasons,
                TurnOutcome.Saved.valueOf(json.path("saved").asText()),
                json.path("bytes").asLong(),
                json.path("windowNanos").asLong(),
                json.path("captureWaitNanos").asLong(),
                json.path("captureNanos").asLong(),
                json.path("freezeNanos").asLong(),
                json.path("persistWaitNanos").asLong(),
                json.path("persistNanos").asLong(),
                json.path("exposedNanos").asLong(),
                json.path("claimBroken").asBoolean(),
                json.hasNonNull("failure") ? json.path("failure").asText() : null);
    }
}

package dev.crab.langchain4j;

import dev.crab.overlap.InvocationReplay;
import dev.crab.overlap.ToolEffect;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import java.util.Optional;

/** Carries out {@link OnUnknown}. */
final class UnknownEffects {
    private UnknownEffects() {}

    /**
     * Decides about a call whose outcome is unknown.
     *
     * @return the text that the model gets instead of a result; empty if the tool has to run again
     * @throws CrabException EFFECT_UNKNOWN if the run has to stop; SESSION_PARKED if it has to wait; STATE_INVALID if the session went back
     *     meanwhile
     */
    static Optional<String> decide(
            SessionEntry entry, InvocationReplay replay, ToolExecutionRequest request, String key, OnUnknown declared) {
        return switch (declared) {
            case RETRY -> Optional.empty();
            case RECORDED ->
                Optional.of(
                        "This call was started before a crash. It is not known whether it took effect, and it was not run again.");
            case ASK -> ask(entry, replay, request, key);
            case FAIL -> throw unknown(request, "its declaration says to stop then");
        };
    }

    private static Optional<String> ask(
            SessionEntry entry, InvocationReplay replay, ToolExecutionRequest request, String key) {
        SessionHub hub = entry.hub();
        UnknownEffectHandler handler = hub.options().unknownEffectHandler;
        if (handler == null) {
            throw unknown(request, "it says to ask, and CrabOptions name nobody to be asked");
        }
        UnknownEffectHandler.Decision decision = PatientWait.run(
                entry,
                replay,
                null,
                ToolEffect.EXTERNAL,
                key,
                hub.config().parkAfter(),
                () -> decide(handler, request, replay.idempotencyKey(key)));
        if (decision instanceof UnknownEffectHandler.Decision.Retry) {
            return Optional.empty();
        }
        if (decision instanceof UnknownEffectHandler.Decision.Answer answer) {
            return Optional.of(answer.text());
        }
        if (decision instanceof UnknownEffectHandler.Decision.Later) {
            throw parked("it is not known yet whether the tool " + request.name() + " took effect");
        }
        throw unknown(request, "who was asked said to stop");
    }

    private static UnknownEffectHandler.Decision decide(
            UnknownEffectHandler handler, ToolExecutionRequest request, String key) {
        try {
            return handler.decide(request, key);
        } catch (CrabException e) {
            throw e;
        } catch (RuntimeException e) {
            CrabException refusal = unknown(request, "who was asked failed: " + e);
            refusal.addSuppressed(e);
            throw refusal;
        }
    }

    static CrabException parked(String why) {
        return CrabException.of(
                ErrorCode.SESSION_PARKED,
                "the run waits, and everything it did is saved",
                why,
                "make the same call again when there is an answer, in this program or another: it goes on from here");
    }

    private static CrabException unknown(ToolExecutionRequest request, String why) {
        return CrabException.of(
                ErrorCode.EFFECT_UNKNOWN,
                "the tool " + request.name() + " may or may not have taken effect before the crash",
                why,
                "find out whether it did; then run again with onUnknown = RETRY (it did not, or it is idempotent) or RECORDED (it did)");
    }
}

package dev.crab.langchain4j;

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
     * @throws CrabException EFFECT_UNKNOWN if the run has to stop
     */
    static Optional<String> decide(ToolExecutionRequest request, String key, OnUnknown declared) {
        return switch (declared) {
            case RETRY -> Optional.empty();
            case RECORDED ->
                Optional.of(
                        "This call was started before a crash. It is not known whether it took effect, and it was not run again.");
            case ASK -> ask(request, key);
            case FAIL -> throw unknown(request, "its declaration says to stop then");
        };
    }

    private static Optional<String> ask(ToolExecutionRequest request, String key) {
        UnknownEffectHandler handler = Crab.hub().options().unknownEffectHandler;
        if (handler == null) {
            throw unknown(request, "it says to ask, and CrabOptions name nobody to be asked");
        }
        UnknownEffectHandler.Decision decision = handler.decide(request, key);
        if (decision instanceof UnknownEffectHandler.Decision.Retry) {
            return Optional.empty();
        }
        if (decision instanceof UnknownEffectHandler.Decision.Answer answer) {
            return Optional.of(answer.text());
        }
        throw unknown(request, "who was asked said to stop");
    }

    private static CrabException unknown(ToolExecutionRequest request, String why) {
        return CrabException.of(
                ErrorCode.EFFECT_UNKNOWN,
                "the tool " + request.name() + " may or may not have taken effect before the crash",
                why,
                "find out whether it did; then run again with onUnknown = RETRY (it did not, or it is idempotent) or RECORDED (it did)");
    }
}

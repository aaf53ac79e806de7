package dev.crab.samples.replay;

import java.io.IOException;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A turn cannot be saved, as the policy says by a typed error. */
final class Refusal extends IOException {
    private static final long serialVersionUID = 1L;

    /** Crab's errors, as they are logged and as they are thrown: code, what and why; behind that the cure. */
    private static final Pattern TYPED = Pattern.compile("CAPTURE_FAILED: (.*?)\\. Cure: ", Pattern.DOTALL);

    private Refusal(String message) {
        super(message);
    }

    /** The first refusal that a text tells of. */
    static Optional<Refusal> in(String text) {
        Matcher matcher = TYPED.matcher(text);
        return matcher.find() ? Optional.of(new Refusal("CAPTURE_FAILED: " + matcher.group(1))) : Optional.empty();
    }
}

package dev.crab.langchain4j;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The effect of this {@code @Tool} method lies outside the sandbox, where no restore can undo it. The journal holds when it starts and
 * what it returned: a recorded result is served again even if its turn was not committed, so the tool does not run twice. Only where it
 * was started and no result is recorded is the outcome unknown; then {@link #onUnknown} decides.
 *
 * <p>A tool that also changes the sandbox does not get its result served once the sandbox has been put back to before it: that is unknown
 * too.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface ExternalEffect {
    /** What to do when a crash left it unknown whether the effect took place. */
    OnUnknown onUnknown() default OnUnknown.FAIL;
}

package dev.crab.langchain4j;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The effect of this {@code @Tool} method lies in the session's sandbox. The default for tools that say nothing. A call whose turn was not
 * committed before a crash runs again, in the sandbox that was put back to before it.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface SandboxEffect {}

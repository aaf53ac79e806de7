package dev.crab.langchain4j;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * This {@code @Tool} method changes nothing. A claim, not a permission: the inspector judges the turn all the same, saves what it finds,
 * and reports a turn of such tools alone that changed the sandbox.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface ReadOnlyEffect {}

package dev.crab.langchain4j;

import dev.crab.langchain4j.CrabOptions.ToolDeclaration;
import dev.crab.overlap.ToolEffect;
import dev.langchain4j.service.tool.DefaultToolExecutor;
import dev.langchain4j.service.tool.ToolExecutor;
import java.lang.reflect.Method;

/** How a tool is declared: by name in the options, else by annotation, else as having its effect in the sandbox. */
final class ToolDeclarations {
    private ToolDeclarations() {}

    static ToolDeclaration of(CrabOptions options, String name, ToolExecutor executor) {
        ToolDeclaration byName = options.tools.get(name);
        if (byName != null) {
            return byName;
        }
        if (executor instanceof DefaultToolExecutor annotated) {
            Method method = annotated.originalMethod();
            ExternalEffect external = method.getAnnotation(ExternalEffect.class);
            if (external != null) {
                return new ToolDeclaration(ToolEffect.EXTERNAL, external.onUnknown());
            }
            if (method.isAnnotationPresent(ReadOnlyEffect.class)) {
                return new ToolDeclaration(ToolEffect.READ_ONLY, OnUnknown.FAIL);
            }
        }
        return ToolDeclaration.DEFAULT;
    }
}

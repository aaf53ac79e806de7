package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.crab.overlap.Digest;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ChatMessageSerializer;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.invocation.InvocationContext;
import dev.langchain4j.invocation.InvocationParameters;
import dev.langchain4j.invocation.LangChain4jManaged;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What is called: the same again after a crash if the program makes the same call.
 *
 * @param method interface and method
 * @param memory interface and memory id, by which invocations of one conversation are ordered
 * @param digest over method, memory and arguments
 */
record InvocationCall(String method, String memory, String digest) {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PASSING = "(made up)";

    /**
     * The call that a context tells of.
     *
     * @param scoped whether it is made inside a run or a tool, where its place tells it from others
     */
    static InvocationCall of(InvocationContext context, boolean scoped) {
        String method = context.interfaceName() + "." + context.methodName();
        Object id = context.chatMemoryId();
        List<Object> values = new ArrayList<>(context.methodArguments());
        if (scoped && isPassing(context, id)) {
            Object made = id;
            values.replaceAll(value -> made.equals(value) ? PASSING : value);
            id = PASSING;
        }
        String memory = context.interfaceName() + "/" + id;
        return new InvocationCall(method, memory, Digest.of(method, memory, Digest.canonical(arguments(values))));
    }

    /** An agentic system that was given no memory id makes one up, another one in the next process. */
    private static boolean isPassing(InvocationContext context, @Nullable Object id) {
        if (context.managedParameters() == null || context.managedParameters().isEmpty() || id == null) {
            return false;
        }
        try {
            return UUID.fromString(id.toString()).toString().equals(id.toString());
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** Whether a later call can have the same chat memory: not one whose identity was made up for this call's system. */
    boolean hasLastingMemory() {
        return !memory.endsWith("/" + PASSING);
    }

    private static JsonNode arguments(Collection<?> arguments) {
        var array = JsonNodeFactory.instance.arrayNode();
        for (Object argument : arguments) {
            array.add(canonical(argument));
        }
        return array;
    }

    private static JsonNode canonical(@Nullable Object argument) {
        if (argument == null) {
            return JsonNodeFactory.instance.nullNode();
        }
        if (argument instanceof InvocationParameters || argument instanceof LangChain4jManaged) {
            // Of this process only; it means nothing to the next.
            return JsonNodeFactory.instance.textNode(argument.getClass().getName());
        }
        if (argument instanceof ChatMessage message) {
            return JsonNodeFactory.instance.textNode(ChatMessageSerializer.messageToJson(message));
        }
        if (argument instanceof Content content) {
            return JsonNodeFactory.instance.textNode(
                    ChatMessageSerializer.messageToJson(UserMessage.from(List.of(content))));
        }
        if (argument instanceof Collection<?> collection) {
            return arguments(collection);
        }
        try {
            return JSON.valueToTree(argument);
        } catch (IllegalArgumentException e) {
            return notJson(argument, e);
        }
    }

    /** What cannot be written as JSON (java.time, Optional, what contains them) counts by its text, as in a prompt. */
    private static JsonNode notJson(Object argument, IllegalArgumentException cause) {
        if (argument instanceof Map<?, ?> map) {
            var object = JsonNodeFactory.instance.objectNode();
            map.forEach((key, value) -> object.set(String.valueOf(key), canonical(value)));
            return object;
        }
        try {
            if (argument.getClass().getMethod("toString").getDeclaringClass() != Object.class) {
                return JsonNodeFactory.instance.textNode(String.valueOf(argument));
            }
        } catch (NoSuchMethodException e) {
            throw new AssertionError(e); // every object has it
        }
        throw CrabException.of(
                ErrorCode.CONFIG_INVALID,
                "a call with an argument of " + argument.getClass().getName() + " cannot be protected",
                "it can neither be written as JSON nor has it a text of its own, so that after a crash the call could not be told"
                        + " from another one",
                "give that class getters or a toString(), or pass what the process alone needs as InvocationParameters",
                cause);
    }
}

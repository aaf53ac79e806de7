package dev.crab.langchain4j;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ChatMessageDeserializer;
import dev.langchain4j.data.message.ChatMessageSerializer;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.service.tool.DefaultToolExecutor;
import dev.langchain4j.service.tool.ToolExecutionResult;
import dev.langchain4j.service.tool.ToolExecutor;
import java.lang.reflect.Type;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** LangChain4j's objects as JSON for the journal and back. Messages in LangChain4j's own form. */
final class MessageCodec {
    private static final Logger LOG = LoggerFactory.getLogger(MessageCodec.class);
    /** With the limits that LangChain4j's own reader has: what goes beyond could be recorded, and never be read again. */
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Levels of a tool's result object at most; a journal takes 1,000 in all. */
    private static final int MAX_DEPTH = 900;

    private MessageCodec() {}

    static JsonNode messages(List<ChatMessage> messages) {
        return tree(ChatMessageSerializer.messagesToJson(messages));
    }

    static List<ChatMessage> messages(JsonNode json) {
        return ChatMessageDeserializer.messagesFromJson(json.toString());
    }

    static ObjectNode response(ChatResponse response) {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        json.set("message", tree(ChatMessageSerializer.messageToJson(response.aiMessage())));
        json.set("metadata", ResponseMetadata.toJson(response.metadata()));
        return json;
    }

    static ChatResponse response(ObjectNode json) {
        return ChatResponse.builder()
                .aiMessage(aiMessage(json))
                .metadata(ResponseMetadata.fromJson(json.path("metadata")))
                .build();
    }

    static AiMessage aiMessage(ObjectNode response) {
        return (AiMessage)
                ChatMessageDeserializer.messageFromJson(response.path("message").toString());
    }

    /**
     * A tool's result: what the model gets as a message, and what the program gets as an object where that can be written as JSON.
     */
    static ObjectNode result(ToolExecutionRequest request, ToolExecutionResult result) {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        json.set("message", tree(resultJson(request, result)));
        Object object = result.result();
        if (object != null) {
            try {
                JsonNode tree = JSON.valueToTree(object);
                if (isDeeper(tree, MAX_DEPTH)) {
                    LOG.debug("The result object of tool {} is not kept: it is too deep", request.name());
                } else {
                    json.set("object", tree);
                }
            } catch (IllegalArgumentException | StackOverflowError e) {
                LOG.debug("The result object of tool {} is not kept: {}", request.name(), e.toString());
            }
        }
        return json;
    }

    private static boolean isDeeper(JsonNode node, int levels) {
        if (!node.isContainerNode()) {
            return false;
        }
        if (levels == 0) {
            return true;
        }
        for (JsonNode child : node) {
            if (isDeeper(child, levels - 1)) {
                return true;
            }
        }
        return false;
    }

    private static String resultJson(ToolExecutionRequest request, ToolExecutionResult result) {
        try {
            return ChatMessageSerializer.messageToJson(resultMessage(request, result));
        } catch (RuntimeException e) {
            throw CrabException.of(
                    ErrorCode.INTERNAL,
                    "the result of the tool " + request.name() + " cannot be recorded",
                    "it cannot be written as JSON: " + e,
                    "let the tool return a text, and attributes of plain values",
                    e);
        }
    }

    static ToolExecutionResult result(ObjectNode json, ToolExecutor executor) {
        ToolExecutionResultMessage message = resultMessage(json);
        ToolExecutionResult.Builder builder = ToolExecutionResult.builder()
                .isError(Boolean.TRUE.equals(message.isError()))
                .attributes(message.attributes());
        List<Content> contents = message.contents();
        if (contents.isEmpty()) {
            builder.resultTextSupplier(() -> null);
        } else {
            builder.resultContents(contents);
        }
        if (json.hasNonNull("object")) {
            builder.result(object(json.path("object"), executor));
        }
        return builder.build();
    }

    static ToolExecutionResultMessage resultMessage(ObjectNode result) {
        return (ToolExecutionResultMessage)
                ChatMessageDeserializer.messageFromJson(result.path("message").toString());
    }

    private static ToolExecutionResultMessage resultMessage(ToolExecutionRequest request, ToolExecutionResult result) {
        List<Content> contents = result.resultContents();
        return ToolExecutionResultMessage.builder()
                .id(request.id())
                .toolName(request.name())
                .contents(contents.isEmpty() ? List.of(TextContent.from("")) : contents)
                .isError(result.isError())
                .attributes(result.attributes())
                .build();
    }

    /** Reads the object as what the tool's method declares: the journal never names a class. */
    private static @Nullable Object object(JsonNode json, ToolExecutor executor) {
        if (!(executor instanceof DefaultToolExecutor method)) {
            return json.isTextual() ? json.asText() : null;
        }
        Type type = method.originalMethod().getGenericReturnType();
        try {
            return JSON.readerFor(JSON.constructType(type)).readValue(json);
        } catch (java.io.IOException | IllegalArgumentException e) {
            LOG.warn(
                    "The recorded result of {} cannot be read as {}",
                    method.originalMethod().getName(),
                    type,
                    e);
            return null;
        }
    }

    private static JsonNode tree(String json) {
        try {
            return JSON.readTree(json);
        } catch (StreamConstraintsException e) {
            throw CrabException.of(
                    ErrorCode.LIMIT_EXCEEDED,
                    "a chat message cannot be recorded",
                    e.getOriginalMessage(),
                    "bound what a tool gives back, and what the model is told",
                    e);
        } catch (JsonProcessingException e) {
            throw CrabException.of(
                    ErrorCode.INTERNAL,
                    "a chat message cannot be recorded",
                    "LangChain4j writes it as something that is not JSON: " + e.getOriginalMessage(),
                    "check for a ChatMessageJsonCodec on the class path",
                    e);
        }
    }
}

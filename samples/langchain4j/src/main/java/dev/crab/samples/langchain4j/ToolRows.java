package dev.crab.samples.langchain4j;

import static dev.crab.samples.langchain4j.Script.append;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.mcp.McpToolProvider;
import dev.langchain4j.mcp.client.DefaultMcpClient;
import dev.langchain4j.mcp.client.McpClient;
import dev.langchain4j.mcp.client.transport.stdio.StdioMcpTransport;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.tool.ToolErrorHandlerResult;
import dev.langchain4j.service.tool.ToolExecutionResult;
import dev.langchain4j.service.tool.ToolExecutor;
import dev.langchain4j.service.tool.ToolProvider;
import dev.langchain4j.service.tool.ToolProviderRequest;
import dev.langchain4j.service.tool.ToolProviderResult;
import dev.langchain4j.service.tool.search.simple.SimpleToolSearchStrategy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Where an AI service gets its tools from, and what they may give back. */
final class ToolRows {
    private ToolRows() {}

    private static final ToolSpecification OTHER = ToolSpecification.builder()
            .name("other")
            .description("appends otherwise")
            .parameters(JsonObjectSchema.builder().addStringProperty("line").build())
            .build();

    private static Script.Call call(String id, String tool, String line) {
        return new Script.Call(id, tool, Map.of("line", line));
    }

    private static Script with(Script.Call... calls) {
        return new Script()
                .calls(null, calls)
                .calls(calls[calls.length - 1].id(), append("z1", "Z"))
                .says("z1", "all done");
    }

    private static void run(Stage stage, ObjectNode outcome, AiServices<ServiceRows.Plain> service) {
        Stage.put(
                outcome,
                service.chatModel(stage.model())
                        .chatMemory(stage.memory("default", 50))
                        .tools(stage.tools())
                        .build()
                        .work("go"));
    }

    private static AiServices<ServiceRows.Plain> service() {
        return AiServices.builder(ServiceRows.Plain.class);
    }

    private static ToolExecutor other(Stage stage) {
        Tools tools = stage.tools();
        return (request, memoryId) -> tools.append("O");
    }

    /** Offers the other tool; a dynamic provider only once the first tool has run. */
    private record Provider(Stage stage, boolean isDynamic) implements ToolProvider {
        @Override
        public ToolProviderResult provideTools(ToolProviderRequest request) {
            boolean offers =
                    !isDynamic || request.messages().stream().anyMatch(ToolExecutionResultMessage.class::isInstance);
            return offers
                    ? ToolProviderResult.builder().add(OTHER, other(stage)).build()
                    : ToolProviderResult.builder().build();
        }
    }

    private static void mcp(Stage stage, ObjectNode outcome) {
        StdioMcpTransport transport = StdioMcpTransport.builder()
                .command(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        McpServer.class.getName(),
                        stage.work().resolve("executions").toString()))
                .build();
        // The server ends with this program.
        McpClient client =
                DefaultMcpClient.builder().key("notes").transport(transport).build();
        run(
                stage,
                outcome,
                service()
                        .toolProvider(
                                McpToolProvider.builder().mcpClients(client).build()));
    }

    /** An executor whose result carries attributes, which stay in the chat memory and are not shown to the model. */
    private record WithAttributes(Tools tools) implements ToolExecutor {
        @Override
        public String execute(dev.langchain4j.agent.tool.ToolExecutionRequest request, Object memoryId) {
            return tools.append("O");
        }

        @Override
        public ToolExecutionResult executeWithContext(
                dev.langchain4j.agent.tool.ToolExecutionRequest request,
                dev.langchain4j.invocation.InvocationContext context) {
            return ToolExecutionResult.builder()
                    .resultText(tools.append("O"))
                    .attributes(Map.of("origin", "here", "lines", List.of("O")))
                    .build();
        }
    }

    /** This provider takes text only from tools: the picture is in the tool's result and in the chat memory. */
    private static ChatRequest withoutImages(ChatRequest request) {
        List<ChatMessage> messages = new ArrayList<>(request.messages());
        messages.replaceAll(message -> message instanceof ToolExecutionResultMessage result
                ? result.toBuilder()
                        .contents(result.contents().stream()
                                .filter(TextContent.class::isInstance)
                                .toList())
                        .build()
                : message);
        return request.toBuilder().messages(messages).build();
    }

    static List<Row> all() {
        return List.of(
                new Row(
                        "immediate-return",
                        new Script().calls(null, append("c1", "A")).calls("c1", call("c2", "finish", "F")),
                        (stage, outcome) -> run(stage, outcome, service())),
                new Row(
                        "tool-provider",
                        with(call("c1", "other", "x")),
                        (stage, outcome) -> run(stage, outcome, service().toolProvider(new Provider(stage, false)))),
                new Row(
                        "tool-provider-dynamic",
                        new Script()
                                .calls(null, append("c1", "A"))
                                .calls("c1", call("c2", "other", "x"))
                                .says("c2", "all done"),
                        (stage, outcome) -> run(stage, outcome, service().toolProvider(new Provider(stage, true)))),
                new Row(
                        "tool-search",
                        new Script()
                                .calls(
                                        null,
                                        new Script.Call("s1", "tool_search_tool", Map.of("terms", List.of("append"))))
                                .calls("s1", append("c1", "A"))
                                .says("c1", "all done"),
                        (stage, outcome) ->
                                run(stage, outcome, service().toolSearchStrategy(new SimpleToolSearchStrategy()))),
                new Row("tools-as-map", with(call("c1", "other", "x")), (stage, outcome) -> {
                    Stage.put(
                            outcome,
                            service()
                                    .chatModel(stage.model())
                                    .tools(stage.tools())
                                    .tools(Map.of(OTHER, other(stage)))
                                    .build()
                                    .work("go"));
                }),
                new Row("tools-of-mcp", with(append("c0", "A"), call("c1", "note", "N")), ToolRows::mcp),
                new Row(
                        "tool-error-handler",
                        with(call("c1", "fail", "A")),
                        (stage, outcome) -> run(
                                stage,
                                outcome,
                                service()
                                        .toolExecutionErrorHandler((error, context) ->
                                                ToolErrorHandlerResult.text("sorry: " + error.getMessage())))),
                new Row(
                        "tool-attributes",
                        with(call("c1", "other", "x")),
                        (stage, outcome) ->
                                run(stage, outcome, service().tools(Map.of(OTHER, new WithAttributes(stage.tools()))))),
                new Row(
                        "tool-image",
                        with(call("c1", "draw", "A")),
                        (stage, outcome) -> run(
                                stage, outcome, service().chatRequestTransformer(request -> withoutImages(request)))),
                new Row(
                        "external-tool",
                        with(append("c0", "A"), new Script.Call("c1", "mail", Map.of("text", "hello"))),
                        (stage, outcome) -> run(stage, outcome, service())));
    }
}

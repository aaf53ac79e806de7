package dev.crab.samples.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.samples.common.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** An MCP server over standard streams with one tool, {@code note}, whose effect is a line in the file that is its argument. */
final class McpServer {
    private McpServer() {}

    public static void main(String[] arguments) throws IOException {
        Path file = Path.of(arguments[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = Json.read(line);
            if (request.has("id")) {
                ObjectNode answer = Json.object().put("jsonrpc", "2.0");
                answer.set("id", request.path("id"));
                answer.set("result", result(request, file));
                System.out.println(Json.write(answer));
                System.out.flush();
            }
        }
    }

    private static ObjectNode result(JsonNode request, Path file) {
        ObjectNode result = Json.object();
        switch (request.path("method").asText()) {
            case "initialize" -> {
                result.set("protocolVersion", request.path("params").path("protocolVersion"));
                result.putObject("capabilities").putObject("tools");
                result.putObject("serverInfo").put("name", "notes").put("version", "1");
            }
            case "tools/list" -> {
                ObjectNode tool = result.putArray("tools").addObject();
                tool.put("name", "note").put("description", "Notes a line");
                ObjectNode schema = tool.putObject("inputSchema").put("type", "object");
                schema.putObject("properties").putObject("line").put("type", "string");
            }
            case "tools/call" -> {
                String line =
                        request.path("params").path("arguments").path("line").asText();
                Tools.note(file, "note " + line);
                result.putArray("content").addObject().put("type", "text").put("text", "noted " + line);
            }
            default -> {
                // an empty result answers a ping
            }
        }
        return result;
    }
}

package dev.crab.samples.quickstart;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.samples.common.Json;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What an agent and its sandbox are like at one moment, found by asking the sandbox itself.
 *
 * @param answer the agent's final answer
 * @param files digest of each file of the project by its path; mode and owner are part of the digest
 * @param processes the sandbox's processes, without those of the probe
 * @param counter what the service answers: pid, token, sold, total; a missing node if it does not
 * @param workingDirectory where the agent's shell stands
 * @param variable value of the variable that the agent exported in it
 * @param announcements what the world outside was told
 * @param chat the chat memory in the wire format of OpenAI's chat completions
 */
record AgentState(
        String answer,
        Map<String, String> files,
        List<Task> processes,
        JsonNode counter,
        String workingDirectory,
        String variable,
        List<String> announcements,
        JsonNode chat) {
    /** The shell session that the ready-made tools use. */
    private static final String SHELL = "main";

    /** A process in the sandbox, by pids of the sandbox's own namespace. */
    record Task(int pid, int parent, int group, int session, String state, String command) {}

    /** Asks the sandbox; runs a few commands in it. */
    static AgentState probe(Sandbox sandbox, String answer, List<String> announcements, List<ChatMessage> chat) {
        Sandbox.Shell shell = sandbox.shell(SHELL);
        String[] kept = shell.run("printf '%s\\n' \"$PWD\" \"$" + Script.VARIABLE + "\"")
                .out()
                .split("\n", -1);
        return new AgentState(
                answer,
                files(sandbox),
                processes(sandbox),
                counter(sandbox),
                kept[0],
                kept[1],
                announcements,
                wireFormat(chat));
    }

    private static Map<String, String> files(Sandbox sandbox) {
        String script = "cd " + Script.PROJECT + " && find . -type f ! -path '*/__pycache__/*' -print0 | sort -z"
                + " | xargs -0r -I{} sh -c 'printf \"%s %s %s\\n\" \"$(sha256sum < \"{}\" | cut -c1-64)\" \"$(stat -c %a:%u:%g \"{}\")\""
                + " \"{}\"'";
        Map<String, String> files = new TreeMap<>();
        checked(sandbox.exec(script)).lines().forEach(line -> {
            String[] fields = line.split(" ", 3);
            files.put(fields[2], fields[0] + " " + fields[1]);
        });
        return files;
    }

    private static List<Task> processes(Sandbox sandbox) {
        List<Task> processes = new ArrayList<>();
        int probe = -1;
        for (String line : checked(
                        sandbox.exec("echo $$; exec ps -e -o pid= -o ppid= -o pgid= -o sid= -o state= -o args="))
                .lines()
                .toList()) {
            String[] fields = line.strip().split(" +", 6);
            if (fields.length == 1) {
                probe = Integer.parseInt(fields[0]);
            } else if (Integer.parseInt(fields[0]) != probe) {
                processes.add(new Task(
                        Integer.parseInt(fields[0]),
                        Integer.parseInt(fields[1]),
                        Integer.parseInt(fields[2]),
                        Integer.parseInt(fields[3]),
                        fields[4],
                        fields[5]));
            }
        }
        return processes;
    }

    private static JsonNode counter(Sandbox sandbox) {
        return Json.tryRead(sandbox.exec(Script.ASK).out());
    }

    private static String checked(ExecResult result) {
        if (!result.isSuccess()) {
            throw new IllegalStateException("a probe failed: " + result.text());
        }
        return result.out();
    }

    static JsonNode wireFormat(List<ChatMessage> chat) {
        ArrayNode messages = Json.object().putArray("messages");
        for (ChatMessage message : chat) {
            if (message instanceof SystemMessage system) {
                messages.addObject().put("role", "system").put("content", system.text());
            } else if (message instanceof UserMessage user) {
                messages.addObject().put("role", "user").put("content", user.singleText());
            } else if (message instanceof ToolExecutionResultMessage result) {
                messages.addObject()
                        .put("role", "tool")
                        .put("tool_call_id", result.id())
                        .put("content", result.text());
            } else if (message instanceof AiMessage ai) {
                var entry = messages.addObject().put("role", "assistant").put("content", ai.text());
                ai.toolExecutionRequests()
                        .forEach(request -> entry.withArray("/tool_calls")
                                .addObject()
                                .put("id", request.id())
                                .put("name", request.name())
                                .put("arguments", request.arguments()));
            } else {
                throw new IllegalStateException("unexpected message in the chat: " + message.type());
            }
        }
        return messages;
    }
}

package dev.crab.samples.quickstart;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.samples.common.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What two runs of the same task must have in common, whether one of them was killed or not: files, processes, what the service counted,
 * the shell, the chat and the answer.
 *
 * <p>Left out is what two uncrashed runs differ in as well: the random token that the service draws and the pid that it gets. A pid is
 * the kernel's choice at the time of the fork, and when an uncommitted turn runs again, its new processes get other numbers. So a process
 * stands here by its command, its state, the command of its parent and its place in session and process group. That a process of a
 * committed turn kept its pid and its memory is checked within a run instead: the service's pid and token at the end must be those
 * that the chat says it had when it was started ({@link #sameService}).
 *
 * @param parts part to its canonical text
 */
record Fingerprint(Map<String, String> parts) {
    private static final Pattern SERVICE =
            Pattern.compile("\"pid\": (\\d+), \"sold\": (.*?), \"token\": \"([0-9a-f]{16})\"");

    static Fingerprint of(AgentState state) {
        Map<String, String> parts = new LinkedHashMap<>();
        parts.put("files", Json.write(new TreeMap<>(state.files())));
        parts.put("processes", processes(state.processes()));
        parts.put(
                "counter",
                Json.write(state.counter().path("sold")) + " total "
                        + state.counter().path("total"));
        parts.put("working directory", state.workingDirectory());
        parts.put("variable", state.variable());
        parts.put("announcements", Json.write(state.announcements()));
        parts.put("chat", normalise(Json.write(state.chat())));
        parts.put("answer", state.answer());
        return new Fingerprint(parts);
    }

    /** Names of the parts in which the other fingerprint differs, with both texts. */
    List<String> differences(Fingerprint other) {
        List<String> differences = new ArrayList<>();
        TreeSet<String> names = new TreeSet<>(parts.keySet());
        names.addAll(other.parts.keySet());
        for (String name : names) {
            String here = parts.getOrDefault(name, "");
            String there = other.parts.getOrDefault(name, "");
            if (!here.equals(there)) {
                differences.add(name + ": " + excerpt(here, there));
            }
        }
        return differences;
    }

    /** The service that answers at the end is the very process that the chat saw first: same pid, same token in its memory. */
    static boolean sameService(AgentState state) {
        for (JsonNode message : state.chat()) {
            Matcher service = SERVICE.matcher(message.path("content").asText());
            if (service.find()) {
                return service.group(1).equals(state.counter().path("pid").asText())
                        && service.group(3).equals(state.counter().path("token").asText());
            }
        }
        return false;
    }

    private static String normalise(String chat) {
        // In the chat's JSON the service's answer is a quoted text, so its quotes are escaped.
        return chat.replaceAll("\\\\\"pid\\\\\": \\d+", "\\\\\"pid\\\\\": PID")
                .replaceAll("\\\\\"token\\\\\": \\\\\"[0-9a-f]{16}", "\\\\\"token\\\\\": \\\\\"TOKEN");
    }

    private static String processes(List<AgentState.Task> processes) {
        Map<Integer, AgentState.Task> byPid =
                processes.stream().collect(Collectors.toMap(AgentState.Task::pid, Function.identity()));
        return processes.stream()
                .map(process -> process.command() + " [" + state(process) + "] child of "
                        + name(byPid, process.parent()) + ", group of " + relation(process, process.group())
                        + ", session of "
                        + relation(process, process.session()))
                .sorted()
                .collect(Collectors.joining("\n"));
    }

    private static String name(Map<Integer, AgentState.Task> byPid, int pid) {
        AgentState.Task process = byPid.get(pid);
        return process == null ? "nobody" : process.command();
    }

    private static String relation(AgentState.Task process, int leader) {
        return leader == process.pid()
                ? "its own"
                : leader == 1 ? "pid 1" : leader == process.parent() ? "its parent" : "another";
    }

    /** Running or sleeping is a matter of the instant; stopped and dead are not. */
    private static String state(AgentState.Task process) {
        return switch (process.state()) {
            case "T", "t" -> "stopped";
            case "Z", "X" -> "dead";
            default -> "alive";
        };
    }

    private static String excerpt(String here, String there) {
        int at = 0;
        while (at < Math.min(here.length(), there.length()) && here.charAt(at) == there.charAt(at)) {
            at++;
        }
        int from = Math.max(0, at - 20);
        return "expected …" + here.substring(from, Math.min(here.length(), at + 60)) + "… found …"
                + there.substring(from, Math.min(there.length(), at + 60)) + "…";
    }
}

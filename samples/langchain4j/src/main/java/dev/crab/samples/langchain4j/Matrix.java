package dev.crab.samples.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.samples.common.AgentJvm;
import dev.crab.samples.common.Events;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** One row: run uncrashed, then killed at each of its points and started again. Rows may run side by side. */
final class Matrix {
    /** Where a row is killed: every turn boundary, and inside every tool call. */
    private static final List<String> POINTS = List.of("turn.boundary", "tool.inside");

    /**
     * What a row came to.
     *
     * @param runs number of runs: the uncrashed one and one for each point
     * @param failures what went wrong, by run; empty if nothing
     */
    record Outcome(String row, int runs, Map<String, List<String>> failures, double seconds) {
        int held() {
            return runs - failures.size();
        }
    }

    private record Life(
            int status,
            @Nullable JsonNode outcome,
            @Nullable JsonNode points) {}

    private final AgentJvm jvm;
    private final Stub stub;
    private final Path directory;
    private final List<String> properties;
    private final Sessions sessions;

    /**
     * Prepares it.
     *
     * @param directory for what the agents write outside their sandboxes
     * @param properties system properties of the agents, {@code name=value}
     */
    Matrix(AgentJvm jvm, Stub stub, Path directory, List<String> properties, Sessions sessions) {
        this.jvm = jvm;
        this.stub = stub;
        this.directory = directory;
        this.properties = properties;
        this.sessions = sessions;
    }

    Outcome run(Row row) throws IOException, InterruptedException {
        long start = System.nanoTime();
        Map<String, List<String>> failures = new TreeMap<>();
        String session = sessions.next();
        Path work = Files.createDirectory(directory.resolve(session));
        stub.open(session, row.script(), row.pinned());
        Life whole = live(row, session, work, null);
        List<String> faults = stub.close(session);
        List<String> executions = executions(work);
        sessions.remove(session, row.sessions());
        if (whole.outcome() == null || whole.points() == null || !faults.isEmpty()) {
            failures.put("uncrashed", problems("it did not come to its end", whole, work, faults));
            return new Outcome(row.name(), 1, failures, (System.nanoTime() - start) / 1e9);
        }
        int runs = 1;
        for (String point : POINTS) {
            for (int i = 1; i <= whole.points().path(point).asInt(); i++) {
                List<String> differences = crash(row, point + "@" + i, whole.outcome(), executions);
                if (!differences.isEmpty()) {
                    failures.put(point + "@" + i, differences);
                }
                runs++;
            }
        }
        return new Outcome(row.name(), runs, failures, (System.nanoTime() - start) / 1e9);
    }

    private List<String> crash(Row row, String point, JsonNode wanted, List<String> uncrashed)
            throws IOException, InterruptedException {
        String session = sessions.next();
        Path work = Files.createDirectory(directory.resolve(session));
        stub.open(session, row.script(), row.pinned());
        try {
            Life killed = live(row, session, work, point);
            if (killed.status() != 137) {
                return problems("it was not killed", killed, work, stub.close(session));
            }
            List<String> first = executions(work);
            Set<String> settled = sessions.settled(session, row.sessions());
            Life second = live(row, session, work, null);
            JsonNode outcome = second.outcome();
            List<String> faults = stub.close(session);
            if (outcome == null || !faults.isEmpty()) {
                return problems("it did not come to its end after the kill", second, work, faults);
            }
            List<String> differences = new ArrayList<>();
            for (Iterator<String> names = wanted.fieldNames(); names.hasNext(); ) {
                String name = names.next();
                if (!wanted.path(name).equals(outcome.path(name))) {
                    differences.add(name + " is " + outcome.path(name) + ", without a kill " + wanted.path(name));
                }
            }
            List<String> all = executions(work);
            differences.addAll(repeated(tools(uncrashed), tools(all)));
            differences.addAll(settledRanAgain(settled, all.subList(first.size(), all.size())));
            return differences;
        } finally {
            sessions.remove(session, row.sessions());
        }
    }

    /** Tools may run again if their turn was not committed, once, and never those of a turn before it. */
    private static List<String> repeated(List<String> uncrashed, List<String> crashed) {
        Map<String, Long> wanted = count(uncrashed);
        List<String> problems = new ArrayList<>();
        count(crashed).forEach((tool, times) -> {
            long usual = wanted.getOrDefault(tool, 0L);
            if (times > usual + 1) {
                problems.add(tool + " ran " + times + " times, without a kill " + usual);
            }
        });
        wanted.keySet().stream()
                .filter(tool -> !crashed.contains(tool))
                .forEach(tool -> problems.add(tool + " never ran"));
        return problems;
    }

    /** Only what belongs to the turn that was not committed may run again, and that once. */
    private static List<String> settledRanAgain(Set<String> settled, List<String> second) {
        List<String> problems = new ArrayList<>();
        Set<String> ran = new HashSet<>();
        for (String execution : second) {
            String key = execution.substring(execution.indexOf('\t') + 1);
            if (settled.contains(key)) {
                problems.add(execution + " ran again, and its result was committed");
            }
            if (execution.indexOf('\t') >= 0 && !ran.add(key)) {
                problems.add(execution + " ran twice after the kill");
            }
        }
        return problems;
    }

    /** Executions without the keys of their calls. */
    private static List<String> tools(List<String> executions) {
        return executions.stream()
                .map(execution -> execution.split("\t", -1)[0])
                .toList();
    }

    private static Map<String, Long> count(List<String> lines) {
        return lines.stream().collect(Collectors.groupingBy(line -> line, Collectors.counting()));
    }

    private static List<String> problems(String what, Life life, Path work, List<String> faults) throws IOException {
        List<String> problems = new ArrayList<>();
        problems.add(what + ", status " + life.status());
        faults.forEach(fault -> problems.add("the model refused: " + fault));
        Path errors = work.resolve("errors");
        if (Files.exists(errors)) {
            try (Stream<String> lines = Files.lines(errors)) {
                problems.addAll(lines.filter(line -> !line.startsWith("\tat ") && !line.startsWith("    at "))
                        .limit(12)
                        .toList());
            }
        }
        return problems;
    }

    private static List<String> executions(Path work) throws IOException {
        Path file = work.resolve("executions");
        return Files.exists(file) ? Files.readAllLines(file) : List.of();
    }

    private Life live(Row row, String session, Path work, @Nullable String point)
            throws IOException, InterruptedException {
        List<String> own = new ArrayList<>(properties);
        if (point != null) {
            own.add(FaultPoints.PROPERTY + "=" + point);
        }
        List<String> command = new ArrayList<>(jvm.command(own, point == null));
        command.addAll(List.of(row.name(), stub.url(session), work.toString(), session));
        Process process = new ProcessBuilder(command)
                .redirectError(
                        ProcessBuilder.Redirect.appendTo(work.resolve("errors").toFile()))
                .start();
        JsonNode[] said = new JsonNode[2];
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("crab-fault ")) {
                    // SIGKILL; Process.destroyForcibly would close the stream that is being read.
                    process.toHandle().destroyForcibly();
                } else {
                    Events.parse(line, event -> said[event.kind().equals("outcome") ? 0 : 1] = event.body());
                }
            }
            return new Life(process.waitFor(), said[0], said[1]);
        } finally {
            process.destroyForcibly();
        }
    }
}

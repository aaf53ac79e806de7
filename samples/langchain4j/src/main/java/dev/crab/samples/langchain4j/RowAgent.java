package dev.crab.samples.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.CrabOptions;
import dev.crab.langchain4j.CrabSession;
import dev.crab.langchain4j.OnUnknown;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.samples.common.Events;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The program that is killed: the JVM of one row. Arguments: row, base URL of the model, work directory, session; the system property
 * {@code crab.prove.image} names another image.
 */
final class RowAgent {
    private RowAgent() {}

    public static void main(String[] arguments) throws Exception {
        Row row = Rows.all().stream()
                .filter(one -> one.name().equals(arguments[0]))
                .findFirst()
                .orElseThrow();
        Stage stage = new Stage(arguments[1], Path.of(arguments[2]), arguments[3]);
        Events events = new Events(System.out);
        Map<String, Integer> points = Collections.synchronizedMap(new TreeMap<>());
        if (System.getProperty(FaultPoints.PROPERTY) == null) {
            FaultPoints.handler((name, times) -> points.put(name, times));
        }
        CrabOptions.Builder options = CrabOptions.builder().externalTool("note", OnUnknown.RETRY);
        String image = System.getProperty("crab.prove.image");
        if (image != null) {
            options.sandbox(SandboxSpec.defaults().withImage(new SandboxImage.Directory(Path.of(image))));
        }
        if (row.sessions() > 1) {
            options.serviceSession(AgentRows.OwnAlpha.class, stage.session(1));
            options.serviceSession(AgentRows.OwnBeta.class, stage.session(2));
        }
        Crab.configure(options.build());
        ObjectNode outcome = Json.object();
        List<CrabSession> runs = new ArrayList<>();
        try {
            for (int i = 1; i <= row.sessions(); i++) {
                CrabSession run = Crab.run(stage.session(i));
                runs.add(run);
                run.prepare(sandbox -> sandbox.exec(Tools.COUNTER));
            }
            row.work().run(stage, outcome);
            for (int i = 1; i <= row.sessions(); i++) {
                outcome.put("sandbox " + i, stage.tools(i).run("cd /srv && for f in *; do echo $f $(cat $f); done"));
                outcome.put("process memory " + i, stage.tools(i).count("?"));
            }
            outcome.set("memory", memories(stage.work()));
            runs.forEach(CrabSession::complete);
        } finally {
            Collections.reverse(runs);
            runs.forEach(CrabSession::close);
        }
        Crab.close();
        if (row.steady()) {
            // From the store and not from reports: a call that failed may have left a commit under way.
            try (CrabRuntime runtime = CrabRuntime.builder().build()) {
                for (int i = 1; i <= row.sessions(); i++) {
                    outcome.put(
                            "turns " + i,
                            runtime.archive(stage.session(i)).turns().size());
                }
            }
        }
        events.emit("points", points);
        events.emit("outcome", outcome);
        System.exit(0);
    }

    private static JsonNode memories(Path work) throws IOException {
        ObjectNode memories = Json.object();
        try (Stream<Path> files = Files.list(work)) {
            for (Path file : files.filter(one -> one.getFileName().toString().endsWith(".json"))
                    .sorted()
                    .toList()) {
                // What differs from run to run by design: times and retrieved facts.
                String text = Files.readString(file).replaceAll("(now|fact) [0-9]+", "$1 N");
                memories.set(file.getFileName().toString(), Json.read(text));
            }
        }
        return memories;
    }
}

package dev.crab.samples.truth;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Labelled turns as JSON; docs/labelled-turns.md describes it. */
final class Json {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Json() {}

    static void write(Path file, long seed, Report report) throws IOException {
        Files.writeString(file, report(report).put("seed", seed).toPrettyString() + "\n");
    }

    static ObjectNode report(Report report) {
        ObjectNode root = JSON.createObjectNode();
        root.put("format", 1);
        root.put("misses", report.misses());
        root.put("disputes", report.disputes());
        ObjectNode rules = root.putObject("rules");
        RuleNeeds.of(report.turns())
                .forEach((rule, need) ->
                        rules.putObject(rule).put("held", need.held()).put("alone", need.alone()));
        ArrayNode turns = root.putArray("turns");
        report.turns().forEach(turn -> turns.add(turn(turn)));
        return root;
    }

    private static ObjectNode turn(LabelledTurn turn) {
        ObjectNode node = JSON.createObjectNode();
        node.put("category", turn.category());
        node.put("name", turn.name());
        node.put("fileSystem", turn.fileSystem().label());
        if (turn.declared() != null) {
            node.put("declared", turn.declared().name());
        }
        ObjectNode truth = node.putObject("truth");
        truth.put("effect", turn.truth().effect().name());
        turn.truth().evidence().forEach(truth.putArray("evidence")::add);
        ObjectNode judgement = node.putObject("judgement");
        judgement.put("effect", turn.judgement().effect().name());
        ArrayNode reasons = judgement.putArray("reasons");
        turn.judgement().reasons().forEach(reason -> {
            ObjectNode one = reasons.addObject();
            one.put("rule", reason.rule()).put("effect", reason.effect().name());
            reason.evidence().forEach(one.putArray("evidence")::add);
        });
        node.put("missed", turn.missed().name());
        node.put("falselyClaimed", turn.falselyClaimed().name());
        node.put("milliseconds", turn.nanos() / 1e6);
        return node;
    }
}

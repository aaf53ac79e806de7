package dev.crab.samples.truth;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.inspector.EffectReason;
import dev.crab.runtime.inspector.TurnEffects;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportTest {
    private static LabelledTurn turn(String name, Effect truth, EffectReason... reasons) {
        Truth found = new Truth(truth, List.of("process 7 memory 1000: a -> b"));
        return new LabelledTurn(
                "random", name, Ground.Type.EXT4, null, found, TurnEffects.of(List.of(reasons)), null, 5_000_000);
    }

    private static Report report() {
        Report report = new Report();
        report.add(turn("missed", Effect.FULL, new EffectReason("files-changed", Effect.FILES, List.of("/a"))));
        report.add(turn("alarm", Effect.NONE, new EffectReason("survivor-ran", Effect.PROCESSES, List.of("pid 7"))));
        report.add(turn("disputed", Effect.NONE).declaredAs(Effect.FILES));
        return report;
    }

    @Test
    void missesAndDisputes_areCounted() {
        assertThat(report().misses()).isEqualTo(1);
        assertThat(report().disputes()).isEqualTo(1);
    }

    @Test
    void lines_tellMissesWithEvidenceAndAlarmsWithRules() {
        assertThat(String.join("\n", report().lines()))
                .contains("3 turns: 1 misses, 1 disputed")
                .contains("- ext4, random: missed")
                .contains("process 7 memory 1000: a -> b")
                .contains("1 processes by survivor-ran")
                .contains("declared FILES");
    }

    @Test
    void rules_areNeededWhereNoOtherCoversWhatIsTrue() {
        EffectReason set = new EffectReason("process-set-differs", Effect.PROCESSES, List.of());
        EffectReason ran = new EffectReason("survivor-ran", Effect.PROCESSES, List.of());
        EffectReason held = new EffectReason("changed-file-held-by-survivor", Effect.FULL, List.of());
        Report report = new Report();
        report.add(turn("both", Effect.PROCESSES, set, ran));
        report.add(turn("one", Effect.PROCESSES, ran));
        report.add(turn("false", Effect.NONE, set));
        report.add(turn("full", Effect.FULL, held, ran)); // files by one rule, processes by two
        JsonNode rules = Json.report(report).get("rules");
        assertThat(rules.at("/process-set-differs/held").asInt()).isEqualTo(2);
        assertThat(rules.at("/process-set-differs/alone").asInt()).isZero();
        assertThat(rules.at("/survivor-ran/held").asInt()).isEqualTo(3);
        assertThat(rules.at("/survivor-ran/alone").asInt()).isEqualTo(1);
        assertThat(rules.at("/changed-file-held-by-survivor/alone").asInt()).isEqualTo(1);
        assertThat(String.join("\n", report.lines())).containsPattern("survivor-ran +3 +1 for instance one");
    }

    @Test
    void json_hasEveryTurn(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("turns.json");
        Json.write(file, 9, report());
        JsonNode root = new ObjectMapper().readTree(file.toFile());
        assertThat(root.get("seed").asLong()).isEqualTo(9);
        assertThat(root.get("turns")).hasSize(3);
        assertThat(root.at("/turns/0/missed").asText()).isEqualTo("PROCESSES");
        assertThat(root.at("/turns/1/judgement/reasons/0/rule").asText()).isEqualTo("survivor-ran");
        assertThat(root.at("/turns/2/declared").asText()).isEqualTo("FILES");
    }
}

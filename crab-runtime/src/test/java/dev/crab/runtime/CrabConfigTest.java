package dev.crab.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.FilePolicy;
import dev.crab.runtime.inspector.InspectorTier;
import dev.crab.runtime.os.HostMemory;
import dev.crab.runtime.session.DamagePolicy;
import dev.crab.runtime.session.LostPolicy;
import dev.crab.runtime.session.StandbyPolicy;
import dev.crab.runtime.session.UncapturedPolicy;
import dev.crab.runtime.snapshot.SnapshotKind;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CrabConfigTest {
    private static CrabConfig read(
            Map<String, String> inCode, Map<String, String> properties, Map<String, String> variables) {
        return CrabConfig.read(new Settings(inCode, properties::get, variables::get));
    }

    @Test
    void nothingSet_isTheDefaults() {
        assertThat(read(Map.of(), Map.of(), Map.of()))
                .isEqualTo(new CrabConfig(
                        true,
                        Path.of("/var/lib/crab"),
                        Optional.empty(),
                        "default",
                        UncapturedPolicy.FAIL,
                        LostPolicy.REPORT,
                        DamagePolicy.FALL_BACK,
                        3,
                        new StandbyPolicy(0, HostMemory.total() / 8),
                        InspectorTier.TRACEPOINT,
                        SnapshotKind.AUTO,
                        FilePolicy.EVERYTHING,
                        Duration.ofSeconds(20),
                        Duration.ofSeconds(30)));
    }

    @Test
    void code_goesBeforeProperty_thatBeforeVariable_andEmptyIsAbsent() {
        Map<String, String> variables = Map.of("CRAB_DATA", "/variable", "CRAB_ON_UNCAPTURED", "continue-unprotected");
        assertThat(read(Map.of(), Map.of(), variables).data()).isEqualTo(Path.of("/variable"));
        assertThat(read(Map.of(), Map.of(), variables).onUncaptured()).isEqualTo(UncapturedPolicy.CONTINUE_UNPROTECTED);
        Map<String, String> properties = Map.of("crab.data", "/property");
        assertThat(read(Map.of(), properties, variables).data()).isEqualTo(Path.of("/property"));
        assertThat(read(Map.of("crab.data", "/code/../in"), properties, variables)
                        .data())
                .isEqualTo(Path.of("/in"));
        assertThat(read(Map.of("crab.data", ""), properties, variables).data()).isEqualTo(Path.of("/property"));
    }

    @Test
    void listsAndTiers_areRead() {
        CrabConfig config = read(
                Map.of(
                        "crab.inspector", "scan",
                        "crab.ignore-files", " /root/**/__pycache__/** , /tmp/** ",
                        "crab.ignore-rewrites", "true"),
                Map.of(),
                Map.of());
        assertThat(config.inspector()).isEqualTo(InspectorTier.SCAN);
        assertThat(config.files()).isEqualTo(new FilePolicy(List.of("/root/**/__pycache__/**", "/tmp/**"), true));
    }

    @ParameterizedTest
    @CsvSource({
        "crab.data, relative/path, an absolute path",
        "crab.enabled, yes, true or false",
        "crab.keep-generations, 0, a number from 1 to 10000",
        "crab.keep-generations, many, a number from 1 to 10000",
        "crab.on-lost, ignore, one of [REPORT",
        "crab.on-damaged, ignore, one of [FALL_BACK",
        "crab.on-uncaptured, ignore, one of [FAIL",
        "crab.snapshotter, zfs, one of [AUTO",
        "crab.inspector, fentry, one of [TRACEPOINT",
        "crab.ignore-files, tmp/**, globs that begin with /",
        "crab.ignore-files, '/a,,/b', globs that begin with /",
    })
    void valueThatCannotBeUsed_isRefusedWithItsSourceAndTheCure(String key, String value, String cure) {
        String variable = CrabConfig.variable(key);
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> read(Map.of(), Map.of(), Map.of(variable, value)))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFIG_INVALID))
                .satisfies(e -> assertThat(e.why()).contains(variable, value))
                .satisfies(e -> assertThat(e.cure()).contains(cure));
    }
}

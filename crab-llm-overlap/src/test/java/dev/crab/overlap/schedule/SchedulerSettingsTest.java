package dev.crab.overlap.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.overlap.schedule.SchedulerSettings.HostWide;
import dev.crab.runtime.Settings;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SchedulerSettingsTest {
    private static SchedulerSettings read(Map<String, String> inCode, int processors) {
        return SchedulerSettings.read(new Settings(inCode, name -> null, name -> null), processors);
    }

    @Test
    void nothingSet_isTheDefaults() {
        Path directory = Path.of("/run/crab/scheduler");
        assertThat(read(Map.of(), 1))
                .isEqualTo(new SchedulerSettings(1, 2, 4L << 30, 0, HostWide.AUTO, directory, Duration.ofMinutes(5)));
        assertThat(read(Map.of(), 16))
                .isEqualTo(new SchedulerSettings(8, 16, 4L << 30, 0, HostWide.AUTO, directory, Duration.ofMinutes(5)));
    }

    @Test
    void variables_areRead() {
        Map<String, String> variables =
                Map.of("CRAB_SCHEDULER_BYTES_PER_SECOND", "5000", "CRAB_SCHEDULER_HOST_WIDE", "off");
        SchedulerSettings settings = SchedulerSettings.read(new Settings(Map.of(), name -> null, variables::get), 4);
        assertThat(settings.bytesPerSecond()).isEqualTo(5000);
        assertThat(settings.hostWide()).isEqualTo(HostWide.OFF);
    }

    @ParameterizedTest
    @CsvSource({
        "crab.scheduler.captures, 0, a number from 1",
        "crab.scheduler.persists, many, a number from 1",
        "crab.scheduler.unwritten-bytes, -1, a number from 0",
        "crab.scheduler.bytes-per-second, -1, a number from 0",
        "crab.scheduler.host-wide, yes, one of [AUTO",
        "crab.scheduler.directory, here, an absolute path",
        "crab.scheduler.max-wait, 0, a number from 1 to 86400",
    })
    void valueThatCannotBeUsed_isRefusedWithTheCure(String key, String value, String cure) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> read(Map.of(key, value), 4))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFIG_INVALID))
                .satisfies(e -> assertThat(e.cure()).contains(cure));
    }
}

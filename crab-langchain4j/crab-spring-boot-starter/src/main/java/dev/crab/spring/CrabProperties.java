package dev.crab.spring;

import dev.crab.overlap.schedule.SchedulerSettings;
import dev.crab.runtime.CrabConfig;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;

/** Crab's settings by the names that they have everywhere. What Spring does not know, Crab takes from where it ordinarily does. */
final class CrabProperties {
    static final List<String> NAMES = List.of(
            CrabConfig.ENABLED,
            CrabConfig.DATA,
            CrabConfig.CRIU,
            CrabConfig.SESSION,
            CrabConfig.ON_UNCAPTURED,
            CrabConfig.ON_LOST,
            CrabConfig.ON_DAMAGED,
            CrabConfig.KEEP,
            CrabConfig.STANDBY,
            CrabConfig.STANDBY_MEMORY,
            CrabConfig.INSPECTOR,
            CrabConfig.SNAPSHOTTER,
            CrabConfig.IGNORE_FILES,
            CrabConfig.IGNORE_REWRITES,
            CrabConfig.SHUTDOWN_WAIT,
            CrabConfig.PARK_AFTER,
            SchedulerSettings.CAPTURES,
            SchedulerSettings.PERSISTS,
            SchedulerSettings.UNWRITTEN,
            SchedulerSettings.BYTES,
            SchedulerSettings.HOST_WIDE,
            SchedulerSettings.DIRECTORY,
            SchedulerSettings.MAX_WAIT);

    private CrabProperties() {}

    /** The settings that the environment has. */
    static Map<String, String> read(Environment environment) {
        Binder binder = Binder.get(environment);
        Map<String, String> settings = new LinkedHashMap<>();
        for (String name : NAMES) {
            binder.bind(name, String.class).ifBound(value -> settings.put(name, value));
        }
        return settings;
    }
}

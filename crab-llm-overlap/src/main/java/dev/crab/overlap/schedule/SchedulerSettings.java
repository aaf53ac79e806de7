package dev.crab.overlap.schedule;

import dev.crab.runtime.Settings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/**
 * What bounds captures and the writes that follow them. Read as {@link dev.crab.runtime.CrabConfig} is: options in code, system property,
 * environment variable, default. Immutable.
 *
 * <table>
 * <caption>Settings</caption>
 * <tr><th>property</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@value #CAPTURES}</td><td>half the processors, at least 1</td><td>sandboxes captured at once; 1 to 10000</td></tr>
 * <tr><td>{@value #PERSISTS}</td><td>the processors, at least 2</td><td>captured states made durable at once; 1 to 10000</td></tr>
 * <tr><td>{@value #UNWRITTEN}</td><td>{@code 4294967296}</td><td>bytes of captured states that are not durable yet, from which on no
 * further capture begins; 0: no bound</td></tr>
 * <tr><td>{@value #BYTES}</td><td>{@code 0}</td><td>bytes a second written to the store in the long run; 0: no bound</td></tr>
 * <tr><td>{@value #HOST_WIDE}</td><td>{@code AUTO}</td><td>see {@link HostWide}</td></tr>
 * <tr><td>{@value #DIRECTORY}</td><td>{@code /run/crab/scheduler}</td><td>absolute path of where the programs of a host meet</td></tr>
 * <tr><td>{@value #MAX_WAIT}</td><td>{@code 300}</td><td>seconds that a commit waits at most, twice at that; 1 to 86400</td></tr>
 * </table>
 *
 * <p>Where several programs share a host, the bounds of the one whose scheduler serves the others hold for all.
 *
 * @param captures how many sandboxes are captured at once, from 1
 * @param persists how many captured states are made durable at once, from 1
 * @param unwrittenBytes from how many bytes of captured states that are not durable yet no further capture begins; 0 for no bound
 * @param bytesPerSecond how much is written to the store in the long run; 0 for no bound
 * @param hostWide whether the bounds hold for all programs of the host together
 * @param directory where they meet; absolute
 * @param maxWait how long one wait may take at most
 */
public record SchedulerSettings(
        int captures,
        int persists,
        long unwrittenBytes,
        long bytesPerSecond,
        HostWide hostWide,
        Path directory,
        Duration maxWait) {
    public static final String CAPTURES = "crab.scheduler.captures";
    public static final String PERSISTS = "crab.scheduler.persists";
    public static final String UNWRITTEN = "crab.scheduler.unwritten-bytes";
    public static final String BYTES = "crab.scheduler.bytes-per-second";
    public static final String HOST_WIDE = "crab.scheduler.host-wide";
    public static final String DIRECTORY = "crab.scheduler.directory";
    public static final String MAX_WAIT = "crab.scheduler.max-wait";

    private static final int MOST = 10_000;
    private static final long UNWRITTEN_BYTES = 4L << 30;

    /** Whether the bounds hold for all programs of the host together. */
    public enum HostWide {
        /** They do where it can be arranged; else each program keeps them by itself, and says so once. */
        AUTO,
        /** They do, or the scheduler refuses to be opened. What happens afterwards never costs a turn, as with {@link #AUTO}. */
        ON,
        /** Each program keeps them by itself. */
        OFF
    }

    /**
     * The settings of this process, behind values by property name that go before all others.
     *
     * @throws dev.crab.runtime.error.CrabException CONFIG_INVALID naming the setting and where its value came from
     */
    public static SchedulerSettings resolve(Map<String, String> inCode) {
        return read(Settings.of(inCode), Runtime.getRuntime().availableProcessors());
    }

    static SchedulerSettings read(Settings settings, int processors) {
        return new SchedulerSettings(
                (int) settings.number(CAPTURES, Math.max(1, processors / 2), 1, MOST),
                (int) settings.number(PERSISTS, Math.max(2, processors), 1, MOST),
                settings.number(UNWRITTEN, UNWRITTEN_BYTES, 0, Long.MAX_VALUE),
                settings.number(BYTES, 0, 0, Long.MAX_VALUE),
                settings.one(HOST_WIDE, HostWide.AUTO),
                settings.one(DIRECTORY, "/run/crab/scheduler", "an absolute path", Settings::absolute),
                Duration.ofSeconds(settings.number(MAX_WAIT, 300, 1, 86_400)));
    }

    AdmissionPolicy policy() {
        return AdmissionPolicy.of(captures, persists, unwrittenBytes, bytesPerSecond);
    }
}

package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.store.LostProcess;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The recipes of processes that cannot be captured: read while they live, followed after a restore. CRIU dumps a tree or nothing, since
 * what processes share (pipes, sockets, memory, sessions) has no meaning without all of its holders; so where one cannot be dumped, none is.
 */
final class LostProcesses {
    /** A command or environment longer than this is taken for unknown: 128 KiB, what Linux allows for one argument. */
    private static final int LIMIT = 128 << 10;

    private static final Duration START = Duration.ofSeconds(30);

    /** Leaves the process to pid 1, as the command that first started it did. */
    private static final String DETACH = "(exec setsid \"$@\" </dev/null >/dev/null 2>&1 &)";

    private static final Logger LOG = LoggerFactory.getLogger(LostProcesses.class);

    private LostProcesses() {}

    /**
     * Reads the recipes.
     *
     * @param hostPids of everything in the sandbox; those that end meanwhile are left out
     * @param init host pid of its pid 1, which is left out
     */
    static List<LostProcess> read(List<String> hostPids, int init) {
        Map<String, Map<String, String>> statuses = new LinkedHashMap<>();
        for (String pid : hostPids) {
            try {
                statuses.put(pid, status(pid));
            } catch (IOException e) {
                LOG.debug("process {} has ended meanwhile", pid, e);
            }
        }
        List<LostProcess> processes = new ArrayList<>();
        statuses.forEach((pid, status) -> {
            if (!pid.equals(Integer.toString(init))
                    && !status.getOrDefault("State", "Z").startsWith("Z")) {
                Map<String, String> parent = statuses.getOrDefault(status.getOrDefault("PPid", ""), Map.of());
                processes.add(new LostProcess(
                        last(status, "NSpid"),
                        last(parent, "NSpid"),
                        strings(pid, "cmdline"),
                        strings(pid, "environ"),
                        directory(pid),
                        second(status, "Uid"),
                        second(status, "Gid")));
            }
        });
        processes.sort(Comparator.comparingInt(LostProcess::pid));
        return processes;
    }

    /**
     * Starts again what can be.
     *
     * @return those that run again
     */
    static List<LostProcess> restart(String session, Sandbox sandbox, List<LostProcess> lost) {
        List<LostProcess> started = new ArrayList<>();
        for (LostProcess process : lost) {
            if (process.startedByCommand() && !process.command().isEmpty()) {
                try {
                    ExecResult result = sandbox.exec(request(process));
                    if (result.isSuccess()) {
                        started.add(process);
                    } else {
                        LOG.warn(
                                "session {}: {} cannot be started again: {}",
                                session,
                                process.describe(),
                                result.text());
                    }
                } catch (CrabException e) {
                    LOG.warn("session {}: {} cannot be started again", session, process.describe(), e);
                }
            }
        }
        return started;
    }

    private static ExecRequest request(LostProcess process) {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", DETACH, "crab"));
        if (process.uid() != 0 || process.gid() != 0) {
            command.addAll(
                    List.of("setpriv", "--reuid=" + process.uid(), "--regid=" + process.gid(), "--clear-groups", "--"));
        }
        command.addAll(process.command());
        Map<String, String> environment = new HashMap<>();
        for (String entry : process.environment()) {
            int equals = entry.indexOf('=');
            if (equals > 0) {
                environment.put(entry.substring(0, equals), entry.substring(equals + 1));
            }
        }
        return new ExecRequest(
                command, process.directory(), environment, new byte[0], START, ExecRequest.DEFAULT_OUTPUT_LIMIT);
    }

    private static Map<String, String> status(String pid) throws IOException {
        Map<String, String> fields = new HashMap<>();
        for (String line : Files.readAllLines(Path.of("/proc", pid, "status"), StandardCharsets.ISO_8859_1)) {
            int colon = line.indexOf(':');
            if (colon > 0) {
                fields.put(line.substring(0, colon), line.substring(colon + 1).trim());
            }
        }
        return fields;
    }

    /** The value in the innermost namespace; 0 where there is none. */
    private static int last(Map<String, String> status, String field) {
        String values = status.getOrDefault(field, "0");
        return Integer.parseInt(values.substring(values.lastIndexOf('\t') + 1));
    }

    /** The effective one of real, effective, saved and file system's. */
    private static int second(Map<String, String> status, String field) {
        String[] values = status.getOrDefault(field, "0\t0").split("\t", -1);
        return (int) Long.parseLong(values[1]);
    }

    /** What ends with a zero byte each; nothing where it cannot be read whole. */
    private static List<String> strings(String pid, String name) {
        try (InputStream in = Files.newInputStream(Path.of("/proc", pid, name))) {
            byte[] content = in.readNBytes(LIMIT + 1);
            if (content.length == 0 || content.length > LIMIT) {
                return List.of();
            }
            String text = new String(content, StandardCharsets.UTF_8);
            return List.of((text.endsWith("\0") ? text.substring(0, text.length() - 1) : text).split("\0", -1));
        } catch (IOException e) {
            return List.of();
        }
    }

    private static String directory(String pid) {
        try {
            String path = Files.readSymbolicLink(Path.of("/proc", pid, "cwd")).toString();
            return path.startsWith("/") && !path.endsWith(" (deleted)") ? path : "/";
        } catch (IOException e) {
            return "/";
        }
    }
}

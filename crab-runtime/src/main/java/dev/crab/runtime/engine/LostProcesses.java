package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.ProcFs;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxProcesses;
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
public final class LostProcesses {
    /** A command or environment longer than this is taken for unknown: 128 KiB, what Linux allows for one argument. */
    private static final int LIMIT = 128 << 10;

    private static final Duration START = Duration.ofSeconds(30);

    /** Leaves the process to pid 1, as the command that first started it did. */
    private static final String DETACH = "(exec setsid \"$@\" </dev/null >/dev/null 2>&1 &)";

    private static final Logger LOG = LoggerFactory.getLogger(LostProcesses.class);

    private LostProcesses() {}

    /**
     * Reads the recipes of everything in a sandbox but its pid 1; of what ends meanwhile there is none.
     *
     * @throws CrabException SANDBOX_LOST if the sandbox is gone
     */
    public static List<LostProcess> read(SandboxProcesses sandbox) {
        Map<Integer, Map<String, String>> statuses = new LinkedHashMap<>();
        for (int pid : members(sandbox)) {
            try {
                statuses.put(pid, ProcFs.status(pid));
            } catch (IOException e) {
                LOG.debug("process {} has ended meanwhile", pid, e);
            }
        }
        List<LostProcess> processes = new ArrayList<>();
        statuses.forEach((pid, status) -> {
            if (pid != sandbox.initPid() && !status.getOrDefault("State", "Z").startsWith("Z")) {
                int ppid = Integer.parseInt(status.getOrDefault("PPid", "0"));
                Map<String, String> parent = statuses.getOrDefault(ppid, Map.of());
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

    private static List<Integer> members(SandboxProcesses sandbox) {
        try {
            return ProcessTable.members(sandbox.cgroup());
        } catch (IOException e) {
            throw CrabException.of(
                    ErrorCode.SANDBOX_LOST,
                    "the processes of a sandbox cannot be listed",
                    "its cgroup cannot be read: " + CrabException.reason(e),
                    "close the session and open it again: it comes back as the last commit left it",
                    e);
        }
    }

    /**
     * Starts again what can be: what a command had started, and not what another process had.
     *
     * @param session for the log
     * @return those that run again
     */
    public static List<LostProcess> restart(String session, Sandbox sandbox, List<LostProcess> lost) {
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

    /** The value in the innermost namespace; 0 where there is none. */
    private static int last(Map<String, String> status, String field) {
        return ProcFs.innermost(status.getOrDefault(field, "0"));
    }

    /** The effective one of real, effective, saved and file system's. */
    private static int second(Map<String, String> status, String field) {
        String[] values = status.getOrDefault(field, "0\t0").split("\t", -1);
        return (int) Long.parseLong(values[1]);
    }

    /** What ends with a zero byte each; nothing where it cannot be read whole. */
    private static List<String> strings(int pid, String name) {
        try (InputStream in = Files.newInputStream(Path.of("/proc/" + pid, name))) {
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

    private static String directory(int pid) {
        try {
            String path = Files.readSymbolicLink(Path.of("/proc/" + pid, "cwd")).toString();
            return path.startsWith("/") && !path.endsWith(" (deleted)") ? path : "/";
        } catch (IOException e) {
            return "/";
        }
    }
}

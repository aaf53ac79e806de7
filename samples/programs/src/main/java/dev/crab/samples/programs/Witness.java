package dev.crab.samples.programs;

import dev.crab.runtime.sandbox.Sandbox;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What is looked at beside every program: its processes, the times of all files that nobody has touched, a file that was changed after the
 * checkpoint, one that was born after it and one that was deleted.
 */
final class Witness {
    /** Long enough that a file this old was not written by a program in the middle of something. */
    private static final double UNTOUCHED_SECONDS = 1;

    private static final String KEPT = "/srv/witness-kept";
    private static final String BORN = "/srv/witness-born";
    private static final String DELETED = "/srv/witness-deleted";

    /** Lists everything but pid 1 and the shell that does it. */
    static final String PROCESSES =
            "ps -e -o pid=,ppid=,pgid=,sid=,comm= | awk -v own=$$ '$1 != 1 && $1 != own && $2 != own'";

    private static final String TIMES =
            "date +%s.%N; find /etc /home /opt /root /run /srv /tmp /var -xdev -type f -printf '%T@ %p\\n'";

    private final SortedMap<String, String> processes;
    private final Map<String, String> times;
    private final double at;

    private Witness(SortedMap<String, String> processes, Map<String, String> times, double at) {
        this.processes = processes;
        this.times = times;
        this.at = at;
    }

    /** The last that is done in a turn. */
    static void mark(Sandbox sandbox, int cycle) {
        Commands.run(sandbox, "echo kept $n > " + KEPT + "; echo deleted $n > " + DELETED, cycle);
    }

    /** What is done after the commit, and what the crash must take back. */
    static void spoil(Sandbox sandbox, int cycle) {
        Commands.run(sandbox, "echo more >> " + KEPT + "; rm " + DELETED + "; echo born > " + BORN, cycle);
    }

    static Witness look(Sandbox sandbox, Program program) {
        Map<String, String> names = new HashMap<>();
        SortedMap<String, String> processes = new TreeMap<>();
        for (String line : Commands.run(sandbox, PROCESSES, 0).lines().toList()) {
            String[] fields = line.strip().split("\\s+", 5);
            names.put(fields[0], fields[4]);
            processes.put(fields[0], String.join(" ", fields));
        }
        processes.keySet().removeIf(pid -> comesAndGoes(processes.get(pid), names, program));
        Map<String, String> times = new LinkedHashMap<>();
        List<String> lines = Commands.run(sandbox, TIMES, 0).lines().toList();
        for (String line : lines.subList(1, lines.size())) {
            int space = line.indexOf(' ');
            String path = line.substring(space + 1);
            if (program.restless().stream().noneMatch(path::startsWith)) {
                times.put(path, line.substring(0, space));
            }
        }
        return new Witness(processes, times, Double.parseDouble(lines.get(0)));
    }

    /** Between fork and exec, a child that comes and goes bears its parent's name. */
    private static boolean comesAndGoes(@Nullable String process, Map<String, String> names, Program program) {
        String[] fields = Objects.requireNonNull(process).split(" ", 5);
        return program.comeAndGo().contains(fields[4])
                || (!program.comeAndGo().isEmpty() && fields[4].equals(names.get(fields[1])));
    }

    int processCount() {
        return processes.size();
    }

    /**
     * Compares a restored sandbox with what was looked at.
     *
     * @throws TrialFailure if not all is as it was
     */
    void requireSame(Program program, Sandbox sandbox, int cycle) {
        List<String> differences = differences(look(sandbox, program), sandbox, cycle);
        if (!differences.isEmpty()) {
            throw new TrialFailure(String.join("; ", differences));
        }
    }

    private List<String> differences(Witness restored, Sandbox sandbox, int cycle) {
        List<String> differences = new ArrayList<>();
        if (!processes.equals(restored.processes)) {
            differences.add("processes were " + processes.values() + " and are " + restored.processes.values());
        }
        times.forEach((path, time) -> {
            String now = restored.times.get(path);
            if (at - Double.parseDouble(time) > UNTOUCHED_SECONDS && !time.equals(now)) {
                differences.add("untouched " + path + " was of " + time + " and is of " + now);
            }
        });
        String files = Commands.run(
                        sandbox, "cat " + KEPT + " " + DELETED + "; ls " + BORN + " 2> /dev/null || echo unborn", 0)
                .strip();
        String expected = Expectation.of("kept {n}\ndeleted {n}\nunborn", cycle);
        if (!files.equals(expected)) {
            differences.add("witnesses say \"" + files + "\" instead of \"" + expected + "\"");
        }
        return differences;
    }
}

package dev.crab.samples.replay;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;

/**
 * At which turns of a trajectory its agent is killed, and where. One agent is killed again and again, each time further on.
 *
 * @param label as on the command line
 */
record CrashPlan(String label) {
    /** A kill behind that turn; its delay is counted from the request that ends the turn, or for tools from the answer that starts the next. */
    record Stop(CrashKind kind, long delayNanos) {}

    CrashPlan {
        if (!label.matches("every|tool|capture|random:[1-9][0-9]*")) {
            throw new IllegalArgumentException(
                    "no way to crash is named " + label + ": every, tool, capture, random:K, none");
        }
    }

    /** The kills by turn, from 1; for tools, that of the turn before, from 0. */
    TreeMap<Integer, Stop> stops(int turns, long seed) {
        Random random = new Random(seed);
        TreeMap<Integer, Stop> stops = new TreeMap<>();
        switch (label) {
            case "every" -> {
                for (int turn = 1; turn <= turns; turn++) {
                    stops.put(turn, new Stop(CrashKind.BOUNDARY, 0));
                }
            }
            case "tool" -> {
                for (int turn = 0; turn < turns; turn++) {
                    stops.put(turn, stop(CrashKind.TOOL, random));
                }
            }
            case "capture" -> {
                for (int turn = 1; turn <= turns; turn++) {
                    stops.put(turn, stop(CrashKind.CAPTURE, random));
                }
            }
            default -> {
                List<Integer> all = new ArrayList<>();
                for (int turn = 0; turn <= turns; turn++) {
                    all.add(turn);
                }
                Collections.shuffle(all, random);
                int count = Integer.parseInt(label.substring("random:".length()));
                for (int turn : all.subList(0, Math.min(count, all.size()))) {
                    List<CrashKind> kinds = turn == 0
                            ? List.of(CrashKind.TOOL)
                            : turn == turns
                                    ? List.of(CrashKind.BOUNDARY, CrashKind.CAPTURE)
                                    : List.of(CrashKind.values());
                    stops.put(turn, stop(kinds.get(random.nextInt(kinds.size())), random));
                }
            }
        }
        return stops;
    }

    /** Tools take from milliseconds to seconds, so their delays are spread evenly over orders of magnitude: 2 ms to 1 s. */
    private static Stop stop(CrashKind kind, Random random) {
        return switch (kind) {
            case BOUNDARY -> new Stop(kind, 0);
            case TOOL -> new Stop(kind, Math.round(2e6 * Math.pow(500, random.nextDouble())));
            case CAPTURE -> new Stop(kind, Math.round(80e6 * random.nextDouble()));
        };
    }
}

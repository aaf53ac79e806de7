package dev.crab.samples.leaks;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A JVM that has sessions open and does what it is told, line by line on standard input; it answers each line with one that begins with
 * {@code ok}, or with {@code failed} and ends. Its end of input ends it.
 *
 * <ul>
 *   <li>{@code open SESSION}, {@code reopen SESSION}: answers with the turn that the sandbox is at
 *   <li>{@code turns N}: that many turns, in the sessions in rotation; answers with their kinds
 *   <li>{@code rest}: ends all that runs in the sandboxes, in a turn of each; {@code count}: a turn of each that counts
 *   <li>{@code check}: what the sandboxes hold must be what was committed
 *   <li>{@code close}: closes everything; the JVM stays, so that it can be looked at
 *   <li>{@code delete SESSION}
 *   <li>{@code exit}
 * </ul>
 */
final class Worker {
    private final Path data;
    private final SandboxSpec spec;
    private final Workload workload;
    private final Map<String, SandboxSession> sessions = new LinkedHashMap<>();
    private CrabRuntime runtime;
    private int turn;

    private Worker(Path data, Path image, long seed) {
        this.data = data;
        this.spec = SandboxSpec.defaults().withImage(new SandboxImage.Directory(image));
        this.workload = new Workload(data, seed);
        this.runtime = newRuntime();
    }

    /** Arguments: data directory, image, seed. */
    public static void main(String[] arguments) throws IOException {
        Worker worker = new Worker(Path.of(arguments[0]), Path.of(arguments[1]), Long.parseLong(arguments[2]));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        say("ok ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("exit")) {
                worker.runtime.close();
                System.exit(0);
            }
            try {
                say("ok " + worker.obey(line.split(" ", -1)));
            } catch (RuntimeException | Error e) {
                e.printStackTrace();
                say("failed " + line + ": " + e);
                System.exit(1);
            }
        }
        // Whoever told it what to do is gone.
        Runtime.getRuntime().halt(3);
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private String obey(String[] words) {
        switch (words[0]) {
            case "open" -> {
                return open(words[1]);
            }
            case "reopen" -> {
                session(words[1]).close();
                return open(words[1]);
            }
            case "turns" -> {
                return turns(Integer.parseInt(words[1]));
            }
            case "rest" -> {
                sessions.values().forEach(workload::rest);
                return "rests";
            }
            case "count" -> {
                sessions.values().forEach(session -> workload.run(session, Workload.Kind.COUNTS));
                return "counted";
            }
            case "check" -> {
                sessions.values().forEach(Workload::check);
                return "checked";
            }
            case "close" -> {
                runtime.close();
                sessions.clear();
                runtime = newRuntime();
                return "closed";
            }
            case "delete" -> {
                runtime.delete(words[1]);
                return "deleted";
            }
            default -> throw new IllegalArgumentException("unknown: " + words[0]);
        }
    }

    private CrabRuntime newRuntime() {
        return CrabRuntime.builder()
                .dataDirectory(data)
                .keepGenerations(Census.KEPT)
                .build();
    }

    private String open(String name) {
        SandboxSession session = runtime.open(name, spec);
        sessions.put(name, session);
        Workload.check(session);
        return session.recovery() instanceof SandboxSession.Recovery.Restored restored
                ? restored.commit().turn() + " " + restored.processesRestored()
                : "0 0";
    }

    private String turns(int count) {
        Map<Workload.Kind, Integer> kinds = new EnumMap<>(Workload.Kind.class);
        String[] names = sessions.keySet().toArray(new String[0]);
        for (int i = 0; i < count; i++) {
            Workload.Kind kind = workload.choose();
            workload.run(session(names[turn++ % names.length]), kind);
            kinds.merge(kind, 1, Integer::sum);
        }
        StringBuilder told = new StringBuilder();
        kinds.forEach((kind, times) ->
                told.append(told.isEmpty() ? "" : " ").append(kind).append('=').append(times));
        return told.toString();
    }

    private SandboxSession session(String name) {
        SandboxSession session = sessions.get(name);
        if (session == null) {
            throw new IllegalArgumentException("session " + name + " is not open");
        }
        return session;
    }
}

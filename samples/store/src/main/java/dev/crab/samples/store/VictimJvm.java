package dev.crab.samples.store;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;

/** Starts a {@link Victim} in a JVM of its own, with a fault in wait for it, and follows it to its end. Used once. */
final class VictimJvm {
    private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();

    static {
        // A driver that is interrupted must not leave victims that wait at their fault points.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> RUNNING.forEach(VictimJvm::kill)));
    }

    private final Place place;
    private final String session;
    private final Map<String, String> properties = new LinkedHashMap<>();
    private final Map<String, String> environment = new LinkedHashMap<>();
    private BiConsumer<String, Process> listener = (line, process) -> {};
    private boolean unharmed;

    VictimJvm(Place place, String session) {
        this.place = place;
        this.session = session;
        properties.put(Victim.CONTROL, place.control().toString());
    }

    VictimJvm property(String name, String value) {
        properties.put(name, value);
        return this;
    }

    /** Puts the shim between the victim and its files. */
    VictimJvm shim(Path library, Map<String, String> settings) {
        environment.put("LD_PRELOAD", library.toString());
        environment.put("CRAB_SHIM_ROOT", place.data().toString());
        environment.put("CRAB_SHIM_STASH", place.stash().toString());
        environment.put("CRAB_SHIM_CONTROL", place.control().toString());
        settings.forEach((name, value) -> environment.put("CRAB_SHIM_" + name, value));
        return this;
    }

    /** Nothing is in wait for it: its loaded classes are kept for those that come after it. */
    VictimJvm unharmed() {
        unharmed = true;
        return this;
    }

    /** Is told each line, with the process, which it may kill. */
    VictimJvm listener(BiConsumer<String, Process> told) {
        listener = told;
        return this;
    }

    Life run() throws IOException {
        Files.write(place.control(), new byte[Control.BYTES]);
        ProcessBuilder builder = new ProcessBuilder(command());
        builder.environment().putAll(environment);
        builder.redirectError(ProcessBuilder.Redirect.appendTo(place.log().toFile()));
        Process process = builder.start();
        RUNNING.add(process);
        List<String> lines = new ArrayList<>();
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                lines.add(line);
                listener.accept(line, process);
            }
            return new Life(lines, process.waitFor());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } finally {
            kill(process);
            RUNNING.remove(process);
        }
    }

    /** SIGKILL; what it has said already can still be read. */
    static void kill(Process process) {
        process.toHandle().destroyForcibly();
    }

    private List<String> command() {
        List<String> defined = new ArrayList<>();
        properties.forEach((name, value) -> defined.add(name + "=" + value));
        List<String> command = new ArrayList<>(place.jvm().command(defined, unharmed));
        command.addAll(List.of(place.data().toString(), session, place.image().toString()));
        return command;
    }

    /** An empty entry would mean the working directory. */
    static String classPath() {
        List<String> entries = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            if (!entry.isEmpty()) {
                entries.add(entry);
            }
        }
        return String.join(File.pathSeparator, entries);
    }
}

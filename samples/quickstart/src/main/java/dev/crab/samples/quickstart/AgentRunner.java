package dev.crab.samples.quickstart;

import dev.crab.overlap.TurnReport;
import dev.crab.samples.common.AgentJvm;
import dev.crab.samples.common.Events;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Runs agents: each run has a session and a directory of its own, and as many JVMs as it is killed times, plus one. Thread-safe.
 */
final class AgentRunner implements AutoCloseable {
    /** Told what happens in a run, as it happens. */
    interface Listener {
        /** Tells nobody. */
        Listener NONE = new Listener() {};

        default void event(int life, Events.Event event) {}

        default void ended(int life, AgentProcess.Ending ending) {}
    }

    /** Marks a fault that is not the JVM's end, but a full disk. */
    static final String FILL = "fill:";

    private final Path directory;
    private final AgentJvm jvm;
    private final @Nullable ScriptedModel model;
    private final boolean protectedByCrab;
    private volatile @Nullable Path filler;

    /**
     * A runner.
     *
     * @param model the scripted model; null for the model that the environment names
     * @param protectedByCrab false to switch Crab off and see what is lost without it
     */
    AgentRunner(@Nullable ScriptedModel model, boolean protectedByCrab) {
        this.model = model;
        this.protectedByCrab = protectedByCrab;
        try {
            directory = Files.createTempDirectory("crab-quickstart-");
            jvm = new AgentJvm(directory, CodingAgent.class, true);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Runs an agent.
     *
     * @param session name of its session; nothing of that name may exist
     * @param speed divides the scripted model's waits
     * @param faults the fault point at which each JVM but the last is killed; or, with {@value #FILL} before it, at which the disk is
     *     filled, until that JVM has ended
     * @param tellPoints whether the run shall record the fault points it passes
     */
    AgentRun run(String session, double speed, List<String> faults, boolean tellPoints, Listener listener) {
        Path place = directory.resolve(session);
        Path log = place.resolve("agent.log");
        Path commands = place.resolve("commands");
        try {
            Files.createDirectories(place);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Collector collector = new Collector();
        List<AgentRun.Life> lives = new ArrayList<>();
        for (int life = 1; life <= faults.size() + 1; life++) {
            List<String> properties = new ArrayList<>(List.of(
                    "quickstart.session=" + session, "quickstart.directory=" + place, "quickstart.life=" + life));
            if (model != null) {
                properties.add("quickstart.model=" + model.baseUrl(session, speed));
            }
            if (tellPoints && life == 1) {
                properties.add("quickstart.points=true");
            }
            if (!protectedByCrab) {
                properties.add("crab.enabled=false");
            }
            String fault = life <= faults.size() ? faults.get(life - 1) : "";
            boolean fills = fault.startsWith(FILL);
            if (fills) {
                properties.add("quickstart.fill=" + fault.substring(FILL.length()) + ":" + filler);
            } else if (!fault.isEmpty()) {
                properties.add("crab.fault=" + fault);
            }
            passOn(properties);
            int number = life;
            collector.recovered = -1;
            collector.failure = null;
            AgentProcess.Ending ending = AgentProcess.run(jvm.command(properties, faults.isEmpty()), log, event -> {
                collector.accept(event);
                listener.event(number, event);
            });
            lives.add(new AgentRun.Life(
                    collector.recovered, collector.processes, collector.restoreMillis, ending, collector.failure));
            listener.ended(life, ending);
            if (fills) {
                freeSpace();
            } else if (!(ending instanceof AgentProcess.Ending.Killed)) {
                break;
            }
        }
        return new AgentRun(
                session,
                List.copyOf(lives),
                collector.turns,
                collector.state,
                operations(CommandLog.read(commands)),
                collector.points,
                model == null ? -1 : model.requests(session),
                model == null ? List.of() : model.refusals(session),
                log);
    }

    /** The file that fills the disk of runs from now on, for faults that do so. */
    void filler(Path file) {
        filler = file;
    }

    private void freeSpace() {
        try {
            Files.deleteIfExists(Objects.requireNonNull(filler));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Settings of Crab that this JVM was started with hold for the agents, too. */
    private static void passOn(List<String> properties) {
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("crab.") && !name.equals("crab.fault") && !name.equals("crab.enabled"))
                .forEach(name -> properties.add(name + "=" + System.getProperty(name)));
    }

    /** Each request to the model ends a turn, replayed or not; so counting them tells the turn of what follows. */
    static List<AgentRun.Operation> operations(List<CommandLog.Entry> entries) {
        List<AgentRun.Operation> operations = new ArrayList<>();
        int life = 0;
        int turn = 0;
        for (CommandLog.Entry entry : entries) {
            if (entry.life() != life) {
                life = entry.life();
                turn = 0;
            }
            if (entry.operation().equals(CodingAgent.REQUEST)) {
                turn++;
            } else {
                operations.add(new AgentRun.Operation(life, turn, entry.operation()));
            }
        }
        return operations;
    }

    /** Removes the runs' directories (not their sessions). */
    @Override
    public void close() {
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static final class Collector {
        final TreeMap<Long, TurnReport> turns = new TreeMap<>();
        final List<String> points = new ArrayList<>();

        @Nullable
        AgentState state;

        @Nullable
        String failure;

        long recovered = -1;
        int processes;
        long restoreMillis;

        void accept(Events.Event event) {
            switch (event.kind()) {
                case "started" -> {
                    recovered = event.body().path("turn").asLong();
                    processes = event.body().path("processes").asInt();
                    restoreMillis = event.body().path("restoreMillis").asLong();
                }
                case "filled", "turn" -> {
                    // For those who watch. The session tells all of its turns at the end, those before the crash
                    // included.
                }
                case "turns" ->
                    event.body().forEach(body -> {
                        TurnReport report = TurnReport.fromJson(body);
                        if (report.committed()) {
                            turns.put(report.turn(), report);
                        }
                    });
                case "point" -> points.add(event.body().asText());
                case "finished" -> state = Json.read(event.body(), AgentState.class);
                case "failed" -> failure = event.body().asText();
                default -> throw new IllegalStateException("unknown event " + event.kind());
            }
        }
    }
}

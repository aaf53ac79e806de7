package dev.crab.samples.quickstart;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.overlap.TurnReport;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.snapshot.Snapshotters;
import dev.crab.samples.common.Json;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * A coding agent is killed in the middle of its work, started again, and goes on; probes prove that nothing was lost or done twice.
 *
 * <p>This class is the driver: it runs the scripted model, starts the agent ({@link CodingAgent}) in JVMs of their own, kills them, and
 * compares what they leave with a run that was not killed.
 */
@Command(
        name = "quickstart",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "A coding agent is killed in the middle of its work, and goes on.",
            "",
            "A scripted model answers over HTTP. With OPENAI_BASE_URL and OPENAI_API_KEY set (and OPENAI_MODEL, default gpt-4o-mini) that"
                    + " model does the work instead; then only those probes are made that hold whatever a model does.",
            ""
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {"0:every probe held", "1:a probe failed, or a run could not be carried out", "2:wrong arguments"
        })
public final class Quickstart implements Callable<Integer> {
    private static final double MATRIX_SPEED = 50;
    private static final int REAL_MODELS_CALL = 6;

    /** In the capture of the turn in which things were sold, which only the service's memory holds. */
    private static final String DISK_FULL_AT = "capture.begin@5";

    @Option(
            names = "--crash-at",
            paramLabel = "all|every|POINT|POINT@N",
            description =
                    "Kill at the N-th passing of a fault point (tool.inside@20); or make one run for each passing of that point,"
                            + " or for each turn boundary, inside of a tool call, and moment of a capture and commit (all), or for whatever"
                            + " point there is (every).")
    private @Nullable String crashAt;

    @Option(
            names = "--disk-full",
            paramLabel = "POINT@N",
            arity = "0..1",
            fallbackValue = DISK_FULL_AT,
            description =
                    "Fill the disk instead of killing: one run each for the disk of the objects and that of the snapshots, small"
                            + " ones made for it. At the N-th passing of a fault point; default: ${FALLBACK-VALUE}.")
    private @Nullable String diskFull;

    @Option(
            names = "--speed",
            paramLabel = "X",
            description = "Divide the scripted model's waits by X. Default: 1, and 50 where no one watches.")
    private @Nullable Double speed;

    @Option(
            names = "--jobs",
            paramLabel = "N",
            defaultValue = "3",
            description = "Runs side by side with --crash-at all. Default: ${DEFAULT-VALUE}.")
    private int jobs;

    @Option(
            names = "--json",
            description = "Write the result as JSON to standard output; the story goes to standard error.")
    private boolean json;

    @Option(names = "--keep", description = "Keep the sessions in the data directory.")
    private boolean keep;

    @Option(
            names = "--data",
            paramLabel = "DIR",
            description = "The data directory. Default: CRAB_DATA, else /var/lib/crab.")
    private @Nullable Path data;

    @Option(names = "--unprotected", description = "Switch Crab off, to see what a crash costs without it.")
    private boolean unprotected;

    private final PrintStream out;
    private final PrintStream err;

    Quickstart(PrintStream out, PrintStream err) {
        this.out = out;
        this.err = err;
    }

    public static void main(String[] arguments) {
        System.exit(run(System.out, System.err, arguments));
    }

    /** The command, with its streams given; answers with the exit code. */
    static int run(PrintStream out, PrintStream err, String... arguments) {
        return new CommandLine(new Quickstart(out, err))
                .setExecutionExceptionHandler((failure, commandLine, parsed) -> {
                    err.println("quickstart: " + CrabException.reason(failure));
                    return 1;
                })
                .execute(arguments);
    }

    @Override
    public Integer call() {
        String kill = crashAt;
        if (data != null) {
            System.setProperty("crab.data", data.toAbsolutePath().toString());
        }
        Narrator narrator = new Narrator(json ? err : out, Narrator.isTerminal(json ? 2 : 1));
        boolean real = System.getenv("OPENAI_BASE_URL") != null && System.getenv("OPENAI_API_KEY") != null;
        ObjectNode result;
        if (diskFull != null) {
            result = fullDisks(narrator, diskFull);
            if (json) {
                out.println(Json.pretty(result));
            }
            return result.path("ok").asBoolean() ? 0 : 1;
        }
        try (Sessions sessions = new Sessions(keep);
                ScriptedModel model = real ? null : new ScriptedModel();
                AgentRunner runner = new AgentRunner(model, !unprotected)) {
            if (real) {
                result = realModel(runner, sessions, narrator);
            } else if (kill != null && kill.indexOf('@') < 0) {
                result = matrix(runner, sessions, narrator, kill);
            } else {
                result = scripted(runner, sessions, narrator);
            }
            if (keep) {
                narrator.say("");
                narrator.say("Kept: " + String.join(", ", sessions.names())
                        + ". Look at them with ./crab show NAME and ./crab timeline NAME.");
            }
        }
        if (json) {
            out.println(Json.pretty(result));
        }
        return result.path("ok").asBoolean() ? 0 : 1;
    }

    private ObjectNode scripted(AgentRunner runner, Sessions sessions, Narrator narrator) {
        String point = crashAt == null ? KillWindow.POINT + "@1" : crashAt;
        double pace = speed == null ? 1 : speed;
        narrator.say("An agent is killed in the middle of its work, and goes on.");
        narrator.say("");
        AgentRun reference = reference(runner, sessions, narrator, Math.max(pace, MATRIX_SPEED), false);
        narrator.say("");
        narrator.say("2. The same work, killed at " + point + "; the model's waits " + pace(pace));
        AgentRun run = runner.run(sessions.next(), pace, List.of(point), false, new Story(narrator));
        return conclude(run, Check.scripted(reference, run), narrator);
    }

    private ObjectNode fullDisks(Narrator narrator, String point) {
        double pace = speed == null ? MATRIX_SPEED : speed;
        Path images = CrabConfig.resolve().data().resolve("images");
        String before = System.getProperty(CrabConfig.DATA);
        narrator.say("An agent's disk becomes full in the middle of its work. Space is freed, the agent is");
        narrator.say("started again, and goes on.");
        ObjectNode result = Json.object().put("ok", true);
        for (SmallDisk.Kind kind : SmallDisk.Kind.values()) {
            narrator.say("");
            narrator.say("Full: " + kind.label());
            try (SmallDisk disk = new SmallDisk(kind, images)) {
                System.setProperty(CrabConfig.DATA, disk.data().toString());
                try (Sessions sessions = new Sessions(false);
                        ScriptedModel model = new ScriptedModel();
                        AgentRunner runner = new AgentRunner(model, true)) {
                    runner.filler(disk.filler());
                    AgentRun reference = reference(runner, sessions, narrator, Math.max(pace, MATRIX_SPEED), false);
                    narrator.say("");
                    narrator.say("2. The same work; the disk is full from " + point + " on");
                    AgentRun run = runner.run(
                            sessions.next(), pace, List.of(AgentRunner.FILL + point), false, new Story(narrator));
                    ObjectNode one = conclude(run, Check.diskFull(reference, run), narrator);
                    result.set(kind.name().toLowerCase(java.util.Locale.ROOT), one);
                    result.put(
                            "ok",
                            result.path("ok").asBoolean() && one.path("ok").asBoolean());
                } finally {
                    Snapshotters.release(disk.data());
                    if (before == null) {
                        System.clearProperty(CrabConfig.DATA);
                    } else {
                        System.setProperty(CrabConfig.DATA, before);
                    }
                }
            }
        }
        return result;
    }

    private ObjectNode realModel(AgentRunner runner, Sessions sessions, Narrator narrator) {
        String point = crashAt == null || crashAt.indexOf('@') < 0 ? "tool.inside@" + REAL_MODELS_CALL : crashAt;
        narrator.say("An agent is killed in the middle of its work, and goes on.");
        narrator.say("The model at " + System.getenv("OPENAI_BASE_URL")
                + " does the work. There is no second run to compare");
        narrator.say("with, so only those probes are made that hold whatever a model does.");
        narrator.say("");
        AgentRun run = runner.run(sessions.next(), 1, List.of(point), false, new Story(narrator));
        return conclude(run, Check.general(run), narrator);
    }

    private ObjectNode conclude(AgentRun run, List<Check> checks, Narrator narrator) {
        boolean ok = checks.stream().allMatch(Check::held);
        narrator.say("");
        narrator.say(TurnTable.lines(run.turns().values()));
        narrator.say("");
        narrator.say(run.finished() ? "Answer: " + run.end().answer() : "No answer.");
        narrator.say("");
        narrator.say("3. The proof");
        narrator.checks(checks);
        narrator.say("");
        long held = checks.stream().filter(Check::held).count();
        narrator.say(held + " of " + checks.size() + " probes held" + (ok ? "." : ". Log of the agent:"));
        if (!ok) {
            narrator.say(Logs.tail(run.log(), 30));
        }
        ObjectNode result = Json.object().put("ok", ok);
        result.put("answer", run.finished() ? run.end().answer() : null);
        result.set("lives", Json.tree(run.lives().stream().map(LifeJson::of).toList()));
        result.set(
                "turns",
                Json.tree(run.turns().values().stream().map(TurnReport::toJson).toList()));
        result.set("total", Json.tree(Total.of(run.turns().values())));
        result.set("probes", Json.tree(checks));
        return result;
    }

    private ObjectNode matrix(AgentRunner runner, Sessions sessions, Narrator narrator, String points) {
        double pace = speed == null ? MATRIX_SPEED : speed;
        narrator.say("An agent is killed at one point after another, one run each, and has to get to the");
        narrator.say("same end each time.");
        narrator.say("");
        long start = System.nanoTime();
        AgentRun reference = reference(runner, sessions, narrator, pace, true);
        List<List<String>> passings = CrashMatrix.points(reference, points);
        narrator.say("");
        narrator.say("2. " + passings.size() + " runs, each killed at another point and started again");
        CrashMatrix crashes = new CrashMatrix(runner, sessions, pace, reference, narrator);
        List<CrashMatrix.Outcome> outcomes = crashes.run(passings, jobs);
        long held = outcomes.stream().filter(CrashMatrix.Outcome::held).count();
        boolean ok = held == outcomes.size() && !outcomes.isEmpty();
        long seconds = (System.nanoTime() - start) / 1_000_000_000;
        narrator.say("");
        narrator.say(held + " of " + outcomes.size() + " ended as the run that was not killed (" + seconds + " s).");
        ObjectNode result = Json.object().put("ok", ok);
        result.put("runs", outcomes.size()).put("held", held).put("seconds", seconds);
        result.set("fingerprint", Json.tree(Fingerprint.of(reference.end()).parts()));
        result.set("points", Json.tree(outcomes));
        return result;
    }

    private AgentRun reference(
            AgentRunner runner, Sessions sessions, Narrator narrator, double pace, boolean tellPoints) {
        narrator.say("1. The work, not killed, to compare with; the model's waits " + pace(pace));
        AgentRun reference = runner.run(sessions.next(), pace, List.of(), tellPoints, AgentRunner.Listener.NONE);
        if (!reference.finished()) {
            Logs.tail(reference.log(), 30).forEach(narrator::say);
            throw new IllegalStateException(
                    "the run without a crash did not get to its end: " + Check.failure(reference));
        }
        narrator.say("   " + reference.turns().size() + " turns. Answer:");
        narrator.say("   " + reference.end().answer());
        return reference;
    }

    private static String pace(double speed) {
        return speed == 1 ? "as they are" : "divided by " + Math.round(speed);
    }
}

package dev.crab.samples.store;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.Commit;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.session.TurnOutcome;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * The program that is killed: plays the {@link Script} in one session and says each thing on standard output as soon as it is so. A
 * refusal is answered as a user would: commit again, else close and open again.
 */
final class Victim {
    /** System property: path of the {@link Control}. */
    static final String CONTROL = "crab.store.control";

    /** System property: say every fault point that is passed. */
    static final String POINTS = "crab.store.points";

    /** System property: seed of the jumps of the clock; without it the clock is left alone. */
    static final String CLOCK = "crab.store.clock";

    /** System property: one opening, without the one in the middle. */
    static final String ONCE = "crab.store.once";

    /** How often the session is opened anew behind a refusal before the victim gives up. */
    private static final int OPENINGS = 12;

    private static final long YEAR = 365L * 24 * 3600;

    private final CrabRuntime runtime;
    private final String session;
    private final Path image;
    private final Control control;
    private final @Nullable Random clock;
    private long acknowledged;
    private boolean refused;

    private Victim(CrabRuntime runtime, String session, Path image, Control control) {
        this.runtime = runtime;
        this.session = session;
        this.image = image;
        this.control = control;
        String seed = System.getProperty(CLOCK);
        this.clock = seed == null ? null : new Random(Long.parseLong(seed));
    }

    /** Arguments: data directory, session, image. */
    public static void main(String[] arguments) throws IOException {
        if (Boolean.getBoolean(POINTS)) {
            FaultPoints.handler((name, times) -> say("point " + name + "@" + times));
        }
        try (CrabRuntime runtime = CrabRuntime.builder()
                .dataDirectory(Path.of(arguments[0]))
                .keepGenerations(Place.KEPT)
                .build()) {
            Control control = Control.open(Path.of(System.getProperty(CONTROL)));
            new Victim(runtime, arguments[1], Path.of(arguments[2]), control).run();
            say("finished");
        } catch (RuntimeException e) {
            e.printStackTrace();
            say("untyped " + e);
            System.exit(3);
        }
    }

    static SandboxSpec spec(Path image) {
        return SandboxSpec.defaults().withImage(new SandboxImage.Directory(image));
    }

    private void run() {
        for (int opening = 1; opening <= OPENINGS; opening++) {
            try (SandboxSession opened = Place.patiently(() -> runtime.open(session, spec(image)))) {
                long turn = turn(opened);
                say("opened " + turn);
                checkAfterRefusal(opened, turn);
                if (play(opened)) {
                    say("closing");
                    return;
                }
            } catch (CrabException e) {
                refused("open or close", e);
            }
        }
        throw new IllegalStateException("the session does not come to its end");
    }

    /** Plays until the script's middle or end; gives whether it is the end. */
    private boolean play(SandboxSession opened) {
        long from = turn(opened);
        long to = from < Script.REOPENED_AFTER && !Boolean.getBoolean(ONCE) ? Script.REOPENED_AFTER : Script.TURNS;
        for (long number = from + 1; number <= to; number++) {
            jump();
            Turn turn;
            try {
                turn = opened.beginTurn();
                Script.play(opened.sandbox(), number);
            } catch (CrabException e) {
                refused("turn " + number, e);
                return false;
            }
            jump();
            if (!commit(opened, turn)) {
                return false;
            }
        }
        return to == Script.TURNS;
    }

    /** Commits, twice if need be; gives whether the turn is committed. */
    private boolean commit(SandboxSession opened, Turn turn) {
        for (int attempt = 1; attempt <= 2; attempt++) {
            try {
                TurnOutcome outcome = turn.commit(Script.position(turn.number()));
                acknowledged = turn.number();
                say("committed " + acknowledged + " " + outcome.commit().effect() + " " + control.operations());
                return true;
            } catch (CrabException e) {
                refused("commit of turn " + turn.number(), e);
                if (turn(opened) >= turn.number()) {
                    return true; // it is recorded all the same
                }
            }
        }
        return false;
    }

    private void refused(String what, CrabException e) {
        refused |= e.code() != ErrorCode.SESSION_LOCKED;
        control.disarm();
        say("refused " + e.code() + " " + what + ": "
                + String.valueOf(e.getMessage()).replace('\n', ' '));
        if (e.code() == ErrorCode.INTERNAL) {
            throw e;
        }
    }

    /** Whatever was refused, the session is at the last turn that was acknowledged, or at the one that was being committed. */
    private void checkAfterRefusal(SandboxSession opened, long turn) {
        if (!refused) {
            return;
        }
        List<String> differences = Script.differences(opened, turn);
        if (turn < acknowledged || turn > acknowledged + 1 || !differences.isEmpty()) {
            say("mix after turn " + acknowledged + ": back at turn " + turn + " " + differences);
            System.exit(5);
        }
    }

    private void jump() {
        if (clock != null) {
            control.clock(clock.nextInt(3) * YEAR - YEAR);
        }
    }

    private static long turn(SandboxSession opened) {
        Commit last = opened.lastCommit();
        return last == null ? 0 : last.turn();
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}

package dev.crab.samples.truth;

import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.samples.common.RecordedCalls;
import dev.crab.samples.common.RecordedSetup;
import dev.crab.samples.common.Recording;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A recorded session as a source of turns: its set-up, then every reply's calls. Between turns nothing runs but what the session left in
 * the background, for as long as the model took, up to a limit.
 */
final class RecordedSource implements TurnSource {
    private final Recording recording;
    private final Map<String, Path> copies;
    private final Duration longestWait;
    private int compared;
    private int alike;
    private Settled settled = Settled.NEVER;

    /**
     * A replay.
     *
     * @param copies directories of the sandbox, and those of the host whose files are put there before the set-up
     * @param longestWait longer waits for the model are cut to this
     */
    RecordedSource(Recording recording, Map<String, Path> copies, Duration longestWait) {
        this.recording = recording;
        this.copies = Map.copyOf(copies);
        this.longestWait = longestWait;
    }

    /** How many of the commands with a recorded exit status exited with it again, as text. */
    String fidelity() {
        return alike + "/" + compared;
    }

    /** How often the memory that a thaw left survivors was taken for the state before a turn. */
    Settled settled() {
        return settled;
    }

    @Override
    public void run(Harness harness, Consumer<LabelledTurn> labelled) throws IOException {
        Sandbox sandbox = harness.arena().sandbox();
        harness.prepare(() -> RecordedSetup.run(sandbox, recording, copies));
        RecordedCalls calls = new RecordedCalls(sandbox, recording);
        int number = 0;
        for (Recording.Turn turn : recording.turns()) {
            harness.settle();
            settled = harness.settled();
            await(turn.thinking());
            String name = recording.id() + "#" + ++number + " " + turn.title();
            labelled.accept(harness.observe(recording.category(), name, () -> calls.make(turn)));
            compared = calls.compared();
            alike = calls.alike();
        }
    }

    private void await(Duration wait) throws IOException {
        try {
            TimeUnit.MILLISECONDS.sleep(Math.min(wait.toMillis(), longestWait.toMillis()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted between two turns");
        }
    }
}

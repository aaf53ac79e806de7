package dev.crab.samples.quickstart;

import dev.crab.overlap.TurnReport;
import dev.crab.samples.common.Events;

/** Tells a killed run while it happens. */
final class Story implements AgentRunner.Listener {
    private final Narrator narrator;

    Story(Narrator narrator) {
        this.narrator = narrator;
    }

    @Override
    public void event(int life, Events.Event event) {
        switch (event.kind()) {
            case "started" -> started(life, event);
            case "turn" -> turn(TurnReport.fromJson(event.body()));
            case "filled" ->
                narrator.say("   *** the disk is filled at " + event.body().asText() + " ***");
            case "failed" -> narrator.say("   the agent failed: " + event.body().asText());
            default -> {
                // The rest is for the checks.
            }
        }
    }

    @Override
    public void ended(int life, AgentProcess.Ending ending) {
        if (ending instanceof AgentProcess.Ending.Killed killed) {
            boolean running = killed.point().startsWith(KillWindow.POINT);
            narrator.say("   *** kill -9 "
                    + (running ? "while the tool runs: " + Script.LONG_COMMAND : "at " + killed.point()) + " ***");
        } else if (ending instanceof AgentProcess.Ending.Failed failed) {
            narrator.say("   the agent's JVM ended with status " + failed.status());
        }
    }

    private void started(int life, Events.Event event) {
        long turn = event.body().path("turn").asLong();
        if (life == 1) {
            narrator.say("   the agent starts: " + event.body().path("session").asText());
        } else if (turn == 0) {
            narrator.say("   started again; nothing was committed, so it begins anew");
        } else {
            narrator.say("   started again: sandbox back at turn " + turn + " with "
                    + event.body().path("processes").asInt() + " processes, "
                    + event.body().path("restoreMillis").asLong() + " ms");
        }
    }

    private void turn(TurnReport turn) {
        narrator.say(TurnTable.fit(
                turn.committed()
                        ? "   turn " + turn.turn() + ": " + String.join(", ", turn.tools())
                        : "   turn " + turn.turn() + " was NOT committed: " + turn.failure()));
    }
}

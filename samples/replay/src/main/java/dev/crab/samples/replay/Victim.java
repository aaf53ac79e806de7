package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.samples.common.Events;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** An agent that is killed and started again: its JVM, one after the other, and its requests to the model, each held back until told. */
final class Victim {
    private static final long PATIENCE_SECONDS = 900;
    private static final int LOG_LENGTH = 8000;

    /** What happened to the agent. */
    sealed interface Happening {
        /** It asks its model, and waits. */
        record Asked(int turn, JsonNode messages, long nanos, Hold release) implements Happening {}

        /** Its model has answered. */
        record Answered() implements Happening {}

        /** It has its sandbox, and waits for {@link #go}. */
        record Opened() implements Happening {}

        /** Its JVM has ended. */
        record Ended() implements Happening {}
    }

    private final Lab lab;
    private final String policy;
    private final Trajectory trajectory;
    private final String name;
    private final LinkedBlockingQueue<String> probes = new LinkedBlockingQueue<>();

    private LinkedBlockingQueue<Happening> happenings = new LinkedBlockingQueue<>();
    private SandboxView view;
    private int life;
    private @Nullable LiveJvm jvm;
    private long openedAt;
    private volatile long restoreMillis;
    private volatile int restoredTurn;
    private volatile String answer = "";
    private volatile String failure = "";

    Victim(Lab lab, String policy, Trajectory trajectory) {
        this.lab = lab;
        this.policy = policy;
        this.trajectory = trajectory;
        this.name = lab.nextName();
        this.view = lab.view(policy, name);
    }

    /** Holds a request back. */
    static final class Hold {
        private final CountDownLatch latch = new CountDownLatch(1);
        private volatile boolean dropped;

        void countDown() {
            latch.countDown();
        }

        /** Whoever asked is dead. */
        void drop() {
            dropped = true;
            latch.countDown();
        }

        void await() throws InterruptedException {
            latch.await();
            if (dropped) {
                throw new InterruptedException("nobody waits for the answer");
            }
        }
    }

    /** Listens to one life. */
    private final class Listener implements ReplayModel.Listener {
        private final LinkedBlockingQueue<Happening> happenings;

        Listener(LinkedBlockingQueue<Happening> happenings) {
            this.happenings = happenings;
        }

        @Override
        public void asked(int turn, JsonNode messages, long nanos) throws InterruptedException {
            Hold release = new Hold();
            happenings.add(new Happening.Asked(turn, messages, nanos, release));
            release.await();
        }

        @Override
        public void answered(int turn, long nanos) {
            happenings.add(new Happening.Answered());
        }

        @Override
        public void refused(List<String> faults) {
            failure = "the model refused the chat: " + faults;
        }
    }

    private void told(LinkedBlockingQueue<Happening> own, Events.Event event) {
        switch (event.kind()) {
            case "opened" -> {
                restoreMillis = event.body().path("restoreMillis").asLong();
                restoredTurn = event.body().path("turn").asInt();
                own.add(new Happening.Opened());
            }
            case "probe" -> probes.add(event.body().path("answer").asText());
            case "finished" -> answer = event.body().path("answer").asText();
            case "failed" -> failure = event.body().path("message").asText();
            default -> {
                // Turns are measured elsewhere.
            }
        }
    }

    String name() {
        return name;
    }

    /** When its newest life began, in nanoseconds since 1970 UTC. */
    long openedAt() {
        return openedAt;
    }

    /** How long that life took to have its sandbox. */
    long restoreMillis() {
        return restoreMillis;
    }

    /** The turn that its sandbox came back to. */
    int restoredTurn() {
        return restoredTurn;
    }

    /** Its last answer; empty before. */
    String answer() {
        return answer;
    }

    /** Why its newest life went wrong; empty if it did not. */
    String failure() {
        return failure;
    }

    /** Looks at its sandbox. */
    SandboxState look() throws IOException {
        return view.look();
    }

    /** Starts the next life, up to where it has its sandbox and nothing has been done in it. False if it does not get there. */
    boolean open() throws IOException, InterruptedException {
        LinkedBlockingQueue<Happening> own = new LinkedBlockingQueue<>();
        happenings = own;
        view = lab.view(policy, name);
        failure = "";
        openedAt = now();
        // Each life has a model of its own: what a dead one still had under way cannot be taken for the next one's.
        lab.model().forget(name + "-" + life);
        life++;
        AgentPlan agents = lab.plan(
                policy,
                true,
                0,
                List.of(),
                List.of(new AgentPlan.Agent(
                        name,
                        trajectory.file().toString(),
                        lab.place(name).toString(),
                        lab.model().register(name + "-" + life, trajectory, lab.speed(), new Listener(own)))));
        jvm = lab.start(name, agents, false, event -> told(own, event), status -> own.add(new Happening.Ended()));
        return happenings.poll(PATIENCE_SECONDS, TimeUnit.SECONDS) instanceof Happening.Opened;
    }

    /** Lets it begin, or go on; answers with its next request, or null if it ends without one. */
    Happening.@Nullable Asked go() throws IOException, InterruptedException {
        Objects.requireNonNull(jvm).tell("go");
        return next();
    }

    /** Its next request; null if it ends without one. */
    Happening.@Nullable Asked next() throws InterruptedException {
        while (true) {
            Happening happening = happenings.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            if (happening instanceof Happening.Asked asked) {
                return asked;
            }
            if (!(happening instanceof Happening.Answered)) {
                if (happening == null) {
                    failure = "it does nothing any more";
                }
                return null;
            }
        }
    }

    /** Its next request, if that comes within so long of the answer to the one before; null if not. */
    Happening.@Nullable Asked askedWithin(long nanos) throws InterruptedException {
        Happening happening = happenings.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        if (happening instanceof Happening.Answered) {
            happening = happenings.poll(nanos, TimeUnit.NANOSECONDS);
        }
        return happening instanceof Happening.Asked asked ? asked : null;
    }

    /** SIGKILL, while it waits for that answer or its tools run. */
    void kill(Happening.Asked asked) throws InterruptedException {
        Objects.requireNonNull(jvm).kill();
        asked.release().drop();
    }

    /** The end of what the JVMs have said beside events. */
    String log() throws IOException {
        Path file = lab.log(name);
        String text = Files.exists(file) ? Files.readString(file) : "";
        return "\n" + text.substring(Math.max(0, text.length() - LOG_LENGTH));
    }

    /** Asks its sandbox, by its JVM, what the trajectory's probe asks. */
    String probe() throws IOException, InterruptedException {
        probes.clear();
        Objects.requireNonNull(jvm).tell("probe " + name);
        String said = probes.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        return said == null ? "(no answer)" : said;
    }

    /** Ends it, and removes what it has left. */
    void remove() throws IOException, InterruptedException {
        LiveJvm last = jvm;
        if (last != null) {
            last.kill();
        }
        lab.model().forget(name + "-" + life);
        lab.remove(policy, name);
    }

    /** The time, in nanoseconds since 1970 UTC. */
    static long now() {
        Instant now = Instant.now();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
    }
}

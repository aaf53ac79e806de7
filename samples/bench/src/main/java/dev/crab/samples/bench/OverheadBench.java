package dev.crab.samples.bench;

import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.CrabOptions;
import dev.crab.langchain4j.CrabSession;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.fault.FaultPoints;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.service.AiServices;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** What Crab adds to an LLM call where nothing crashes and nothing is done in the sandbox. */
@Command(
        name = "overhead",
        mixinStandardHelpOptions = true,
        defaultValueProvider = OverheadBench.WarmUp.class,
        description = {
            "AI services with Crab on and off, turn about, against a server that answers like a model: what Crab adds to each LLM call.",
            "",
            "Nothing crashes and no tool uses the sandbox. What of it the agent waits until records of the journal are on the disk is shown apart,"
                    + " and so are the first " + OverheadBench.COLD + " runs, in which the JVM is new.",
            ""
        })
final class OverheadBench extends Measurement {
    /** Runs at the beginning that are shown apart. */
    static final int COLD = 20;

    /** Until the compiler has seen a thousand calls, they are about it. */
    static final class WarmUp extends LongWarmUp {
        WarmUp() {
            super(200);
        }
    }

    @Option(
            names = "--latency",
            paramLabel = "MS",
            defaultValue = "50",
            description = "Milliseconds that the model takes to answer. Default: ${DEFAULT-VALUE}.")
    private int latency;

    @Option(
            names = "--calls",
            paramLabel = "N",
            defaultValue = "6",
            description = "LLM calls of an agent's run; all but the last ask for a tool. Default: ${DEFAULT-VALUE}.")
    private int calls;

    interface Agent {
        String work(String task);
    }

    /** A tool that does nothing anywhere. */
    static final class Tools {
        @Tool("Looks at the clock on the wall")
        String look(String where) {
            return "it is noon";
        }
    }

    /** What a thread waits until records that it appended are on the disk: from their being written until they are noted as durable. */
    private static final class FlushClock implements FaultPoints.Handler {
        private final Thread agent = Thread.currentThread();
        private long began;
        private long waited;
        private long flushes;

        @Override
        public void reached(String name, int times) {
            if (Thread.currentThread() != agent) {
                return;
            }
            if (name.equals("journal.written")) {
                began = System.nanoTime();
            } else if (name.equals("journal.noted")) {
                waited += System.nanoTime() - began;
                flushes++;
            }
        }
    }

    /** One agent that runs with Crab and without. */
    private static final class Pair {
        private final String name;
        private final Agent off;
        private final Agent on;
        private final int calls;
        private final FlushClock clock;
        private final Series plain;
        private final Series protectedOne;
        private final Series added = new Series("  added to each");
        private final Series flushed = new Series("    of that, until records are on the disk");
        private final Series rest = new Series("    all else");
        private final Series cold = new Series("  all else, in the first " + COLD + " runs");
        private long flushes;
        private int runs;

        Pair(String name, Agent off, Agent on, int calls, FlushClock clock) {
            this.name = name;
            this.off = off;
            this.on = on;
            this.calls = calls;
            this.clock = clock;
            this.plain = new Series(name + ", Crab off: an LLM call");
            this.protectedOne = new Series(name + ", Crab on: an LLM call");
        }

        void run(int number, boolean counts, boolean isCold) {
            final long waited = clock.waited;
            final long before = clock.flushes;
            // Each goes first in half of the runs.
            long first = number % 2 == 0 ? time(off, number) : time(on, number);
            long second = number % 2 == 0 ? time(on, number) : time(off, number);
            long without = number % 2 == 0 ? first : second;
            long with = number % 2 == 0 ? second : first;
            long onDisk = clock.waited - waited;
            add(plain, without / calls, counts);
            add(protectedOne, with / calls, counts);
            add(added, (with - without) / calls, counts);
            add(flushed, onDisk / calls, counts);
            add(rest, (with - without - onDisk) / calls, counts);
            add(cold, (with - without - onDisk) / calls, isCold);
            flushes += clock.flushes - before;
            runs++;
        }

        private static long time(Agent agent, int number) {
            long start = System.nanoTime();
            agent.work("task " + number);
            return System.nanoTime() - start;
        }

        void report(Report report) {
            report.add(plain, protectedOne, added, flushed, rest);
            if (cold.runs() > 0) {
                report.add(cold);
            }
            report.note(String.format(
                    Locale.ROOT,
                    "%s: of %.2f ms added to an LLM call at the median, waiting for %.1f flushes is %.2f ms, and all else %.2f ms",
                    name,
                    added.median(),
                    flushes / (double) (runs * calls),
                    flushed.median(),
                    rest.median()));
        }
    }

    @Override
    Report measure(CrabRuntime runtime, int count) {
        String session = sessionName("overhead");
        FlushClock clock = new FlushClock();
        try (ModelStub stub = new ModelStub(latency, calls)) {
            Crab.configure(
                    CrabOptions.builder().set(CrabConfig.ENABLED, "false").build());
            Agent agentOff = agent(stub.model());
            Agent chatOff = chat(stub.model());
            Crab.close();
            Crab.configure(CrabOptions.builder().build());
            try (CrabSession scope = Crab.session(session)) {
                scope.sandbox().exec("true");
                FaultPoints.handler(clock);
                List<Pair> pairs = List.of(
                        new Pair("agent with tools", agentOff, agent(stub.model()), calls, clock),
                        new Pair("chat", chatOff, chat(stub.model()), 1, clock));
                int done = 0;
                for (Pair pair : pairs) {
                    for (int i = -warmUp; i < count; i++) {
                        pair.run(i, i >= 0, i < Math.min(0, COLD - warmUp));
                        progress("run", ++done, pairs.size() * (count + warmUp));
                    }
                }
                Report report = new Report("Overhead of Crab, model answers in " + latency + " ms", Machine.describe());
                pairs.forEach(pair -> pair.report(report));
                return report;
            } finally {
                FaultPoints.handler(null);
                Crab.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Agent agent(ChatModel model) {
        return AiServices.builder(Agent.class)
                .chatModel(model)
                .tools(new Tools())
                .build();
    }

    private static Agent chat(ChatModel model) {
        return AiServices.builder(Agent.class).chatModel(model).build();
    }
}

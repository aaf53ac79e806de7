package dev.crab.samples.bench;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.CrabOptions;
import dev.crab.langchain4j.CrabSession;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.os.OwnFiles;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.JournalRecord;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.service.AiServices;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** What Crab adds to an LLM call where nothing crashes and nothing is done in the sandbox. */
@Command(
        name = "overhead",
        mixinStandardHelpOptions = true,
        description = {
            "AI services with Crab on and off, turn about, against a server that answers like a model: what Crab adds to each LLM call.",
            "",
            "Nothing crashes and no tool uses the sandbox. What flushing the journal costs on this disk is shown beside it: how many flushes",
            "an LLM call waits for, and how long each takes.",
            ""
        })
final class OverheadBench extends Measurement {
    /** Kinds of journal records that somebody waits for; a commit is made durable while the model answers. */
    private static final Set<String> WAITED_FOR = Set.of("start", "response", "result", "result-begun", "end");

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

    /** One agent that runs with Crab and without. */
    private record Pair(Agent off, Agent on, int calls, Series plain, Series protectedOne, Series added) {
        Pair(String name, Agent off, Agent on, int calls) {
            this(
                    off,
                    on,
                    calls,
                    new Series(name + ", Crab off: an LLM call"),
                    new Series(name + ", Crab on: an LLM call"),
                    new Series("  added to each"));
        }

        void run(int number, boolean counts) {
            // Each goes first in half of the runs.
            long first = number % 2 == 0 ? time(off, number) : time(on, number);
            long second = number % 2 == 0 ? time(on, number) : time(off, number);
            long without = number % 2 == 0 ? first : second;
            long with = number % 2 == 0 ? second : first;
            Measurement.add(plain, without / calls, counts);
            Measurement.add(protectedOne, with / calls, counts);
            Measurement.add(added, (with - without) / calls, counts);
        }

        private static long time(Agent agent, int number) {
            long start = System.nanoTime();
            agent.work("task " + number);
            return System.nanoTime() - start;
        }
    }

    @Override
    Report measure(CrabRuntime runtime, int count) {
        String session = sessionName("overhead");
        Path journals = runtime.config().data().resolve(session + ".flush");
        try (ModelStub stub = new ModelStub(latency, calls)) {
            Files.createDirectories(journals);
            Crab.configure(
                    CrabOptions.builder().set(CrabConfig.ENABLED, "false").build());
            Agent agentOff = agent(stub.model());
            Agent chatOff = chat(stub.model());
            Crab.close();
            Crab.configure(CrabOptions.builder().build());
            try (CrabSession scope = Crab.session(session);
                    FileJournal journal = FileJournal.open(journals)) {
                scope.sandbox().exec("true");
                Pair agent = new Pair("agent with tools", agentOff, agent(stub.model()), calls);
                Pair chat = new Pair("chat", chatOff, chat(stub.model()), 1);
                Series flush = new Series("a flush of the journal");
                long before = waitedFor(runtime, session);
                for (int i = -warmUp; i < count; i++) {
                    agent.run(i, i >= 0);
                    add(flush, flush(journal), i >= 0);
                    progress("run", i + 1 + warmUp, 2 * (count + warmUp));
                }
                long middle = waitedFor(runtime, session);
                for (int i = -warmUp; i < count; i++) {
                    chat.run(i, i >= 0);
                    add(flush, flush(journal), i >= 0);
                    progress("run", count + i + 1 + 2 * warmUp, 2 * (count + warmUp));
                }
                long after = waitedFor(runtime, session);
                int runs = count + warmUp;
                return report(
                        agent,
                        (middle - before) / (double) (runs * calls),
                        chat,
                        (after - middle) / (double) runs,
                        flush);
            } finally {
                Crab.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            removeJournals(journals);
        }
    }

    private static void removeJournals(Path journals) {
        try {
            OwnFiles.remove(journals);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Report report(Pair agent, double agentFlushes, Pair chat, double chatFlushes, Series flush) {
        Report report = new Report("Overhead of Crab, model answers in " + latency + " ms", Machine.describe());
        report.add(agent.plain, agent.protectedOne, agent.added);
        report.add(chat.plain, chat.protectedOne, chat.added);
        report.add(flush);
        report.note(note("agent with tools", agent.added, agentFlushes, flush));
        report.note(note("chat", chat.added, chatFlushes, flush));
        return report;
    }

    private static String note(String name, Series added, double flushes, Series flush) {
        double flushed = flushes * flush.median();
        return String.format(
                Locale.ROOT,
                "%s: of %.2f ms added to an LLM call at the median, %.1f flushes are %.2f ms, and all else %.2f ms",
                name,
                added.median(),
                flushes,
                flushed,
                added.median() - flushed);
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

    private static long waitedFor(CrabRuntime runtime, String session) {
        return runtime.archive(session).records().stream()
                .map(JournalRecord::kind)
                .filter(WAITED_FOR::contains)
                .count();
    }

    /** As long as a response's record. */
    private static long flush(FileJournal journal) {
        ObjectNode body = JsonNodeFactory.instance.objectNode().put("text", "x".repeat(600));
        long start = System.nanoTime();
        journal.append("flush", body);
        return System.nanoTime() - start;
    }
}

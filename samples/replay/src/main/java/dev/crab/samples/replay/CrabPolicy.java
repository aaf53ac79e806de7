package dev.crab.samples.replay;

import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.CrabOptions;
import dev.crab.langchain4j.CrabSession;
import dev.crab.overlap.TurnListener;
import dev.crab.overlap.TurnReport;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.samples.common.FileChatMemoryStore;
import dev.crab.samples.common.RecordedSetup;
import dev.crab.samples.common.Recording;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.service.AiServices;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** Crab as any user has it: the interceptor and a session, and a program that does the same whether it was killed or not. */
final class CrabPolicy implements Policy {
    private final SandboxSpec spec;
    private final Map<String, Path> copies;
    private final Map<String, Consumer<TurnRow>> listeners = new ConcurrentHashMap<>();

    CrabPolicy(Path data, Path image, Map<String, Path> copies) {
        this.copies = copies;
        spec = SandboxSpec.defaults().withImage(new SandboxImage.Directory(image));
        Crab.configure(CrabOptions.builder()
                .set("crab.data", data.toString())
                .listener(new TurnListener() {
                    @Override
                    public void turnReported(String sessionId, TurnReport report) {
                        TurnRow row = TurnRow.of(report);
                        if (row.turn() > 0) {
                            listeners.getOrDefault(sessionId, ignored -> {}).accept(row);
                        }
                    }
                })
                .build());
    }

    @Override
    public Life open(AgentPlan.Agent agent, Recording recording, Consumer<TurnRow> turns) {
        listeners.put(agent.name(), turns);
        CrabSession run = Crab.run(agent.name(), spec);
        run.prepare(sandbox -> {
            try {
                RecordedSetup.run(sandbox, recording, copies);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        return new CrabLife(run, agent, recording);
    }

    @Override
    public void close() {
        Crab.close();
    }

    private record CrabLife(CrabSession run, AgentPlan.Agent agent, Recording recording) implements Life {
        @Override
        public Sandbox sandbox() {
            return run.sandbox();
        }

        @Override
        public int recovered() {
            return run.recovery() instanceof Recovery.Restored restored
                    ? (int) restored.commit().turn() - 1
                    : 0;
        }

        @Override
        public String work() {
            Coder coder = AiServices.builder(Coder.class)
                    .chatModel(AgentModel.at(agent.model()))
                    .chatMemory(MessageWindowChatMemory.builder()
                            .id(agent.name())
                            .maxMessages(AgentModel.LONGEST_CHAT)
                            .chatMemoryStore(
                                    new FileChatMemoryStore(agent.place().resolve("chat.json")))
                            .build())
                    .maxToolCallingRoundTrips(AgentModel.LONGEST_CHAT)
                    .tools(new RecordedTools(run.sandbox(), recording))
                    .build();
            String answer = coder.chat(AgentModel.TASK); // killed? run the same program again: it goes on
            run.complete();
            return answer;
        }

        @Override
        public void close() {
            run.close();
            Crab.close(agent.name());
        }
    }
}

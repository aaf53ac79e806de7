package dev.crab.samples.search;

import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.CrabSession;
import dev.crab.langchain4j.SandboxTools;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.service.AiServices;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One way through the task: an answer to each decision, in a session of its own.
 *
 * @param session where
 * @param first the answer to the first decision
 * @param second the answer to the second
 * @param scoreAfterFirst tests that passed after the first
 * @param score tests that passed in the end
 */
record Attempt(String session, int first, int second, int scoreAfterFirst, int score) {
    private static final Pattern PASSED = Pattern.compile("passed (\\d) of 6");

    /** The agent. */
    interface Coder {
        String work(String task);
    }

    /** The turn behind the prefix: the preparation and a turn for each command. */
    static final int DECISION = 1 + RepairTask.PREFIX.size();

    /** Goes that way in that session, from wherever the session is; tokens that had to be paid for are added up. */
    static Attempt run(String session, int first, int second, AtomicLong tokens, long thinkNanos) {
        List<String> commands = new ArrayList<>(RepairTask.PREFIX);
        commands.add(RepairTask.first(first));
        commands.add(RepairTask.second(second));
        ScriptedCoder model = new ScriptedCoder(commands, tokens, thinkNanos);
        try (CrabSession scope = Crab.session(session)) {
            scope.prepare(RepairTask::prepare);
            Coder coder = AiServices.builder(Coder.class)
                    .chatModel(model)
                    .chatMemory(MessageWindowChatMemory.withMaxMessages(200))
                    .tools(new SandboxTools(scope.sandbox()))
                    .build();
            coder.work("Two things are wrong in /srv/shop/prices.py. Mend them until tests.py passes.");
            return new Attempt(
                    session,
                    first,
                    second,
                    passed(model.results().get(RepairTask.PREFIX.size())),
                    RepairTask.score(scope.sandbox()));
        }
    }

    private static int passed(String result) {
        Matcher passed = PASSED.matcher(result);
        return passed.find() ? Integer.parseInt(passed.group(1)) : 0;
    }
}

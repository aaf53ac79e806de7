package dev.crab.samples.langchain4j;

import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * One path through LangChain4j's loop.
 *
 * @param name how it is chosen and shown
 * @param script what the model answers
 * @param pinned whether the first messages that the model sees must stay the same throughout
 * @param steady whether its calls come to the same number of turns whenever they are made; agents side by side in one sandbox share turns as it
 *     happens
 * @param sessions how many sessions it has, each with a sandbox
 * @param work the program that is killed
 */
record Row(String name, Script script, boolean pinned, boolean steady, int sessions, Work work) {
    /** Runs the agent and puts into the outcome what must be the same as without a crash. */
    @FunctionalInterface
    interface Work {
        void run(Stage stage, ObjectNode outcome) throws Exception;
    }

    Row(String name, Script script, Work work) {
        this(name, script, true, 1, work);
    }

    Row(String name, Script script, boolean pinned, int sessions, Work work) {
        this(name, script, pinned, true, sessions, work);
    }
}

package dev.crab.samples.replay;

/** The agent as LangChain4j sees it. */
interface Coder {
    String chat(String message);
}

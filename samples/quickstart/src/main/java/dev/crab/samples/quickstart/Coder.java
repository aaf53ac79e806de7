package dev.crab.samples.quickstart;

import dev.langchain4j.service.SystemMessage;

/** The agent, as its user sees it. */
interface Coder {
    @SystemMessage(
            "You are a careful programmer. Work in the sandbox by the tools you have, then answer in one or two sentences.")
    String chat(String task);
}

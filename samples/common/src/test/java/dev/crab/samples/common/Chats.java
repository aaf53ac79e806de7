package dev.crab.samples.common;

import com.fasterxml.jackson.databind.JsonNode;

/** Chats for tests, from messages with single quotes. */
final class Chats {
    private Chats() {}

    static JsonNode of(String... messages) {
        return Json.read("[" + String.join(",", messages).replace('\'', '"') + "]");
    }
}

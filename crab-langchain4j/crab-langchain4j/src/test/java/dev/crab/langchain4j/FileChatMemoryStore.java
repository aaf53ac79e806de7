package dev.crab.langchain4j;

import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ChatMessageDeserializer;
import dev.langchain4j.data.message.ChatMessageSerializer;
import dev.langchain4j.store.memory.chat.ChatMemoryStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A chat memory that outlives the process, one file a memory. */
record FileChatMemoryStore(Path directory) implements ChatMemoryStore {
    private Path file(Object id) {
        return directory.resolve("memory-" + id + ".json");
    }

    @Override
    public List<ChatMessage> getMessages(Object memoryId) {
        try {
            Path file = file(memoryId);
            return Files.exists(file) ? ChatMessageDeserializer.messagesFromJson(Files.readString(file)) : List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void updateMessages(Object memoryId, List<ChatMessage> messages) {
        try {
            Files.writeString(file(memoryId), ChatMessageSerializer.messagesToJson(messages));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void deleteMessages(Object memoryId) {
        try {
            Files.deleteIfExists(file(memoryId));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

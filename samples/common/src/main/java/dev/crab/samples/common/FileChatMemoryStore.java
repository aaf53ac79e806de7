package dev.crab.samples.common;

import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ChatMessageDeserializer;
import dev.langchain4j.data.message.ChatMessageSerializer;
import dev.langchain4j.store.memory.chat.ChatMemoryStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;

/** A chat memory in one JSON file, replaced as a whole by a rename. Knows one memory, whatever its id. */
public record FileChatMemoryStore(Path file) implements ChatMemoryStore {
    @Override
    public List<ChatMessage> getMessages(Object memoryId) {
        try {
            return Files.exists(file) ? ChatMessageDeserializer.messagesFromJson(Files.readString(file)) : List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void updateMessages(Object memoryId, List<ChatMessage> messages) {
        try {
            Path next = file.resolveSibling(file.getFileName() + ".next");
            Files.writeString(next, ChatMessageSerializer.messagesToJson(messages));
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void deleteMessages(Object memoryId) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

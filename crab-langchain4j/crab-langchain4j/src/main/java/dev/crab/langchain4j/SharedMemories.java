package dev.crab.langchain4j;

import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.memory.ChatMemory;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which chat memories of a session go by one identity. AI services of one interface that have no memory id are the same to the journal;
 * with memories of their own, nothing there tells whose a record is. Thread-safe.
 */
final class SharedMemories {
    private static final Logger LOG = LoggerFactory.getLogger(SharedMemories.class);

    private final Map<String, WeakReference<ChatMemory>> newest = new HashMap<>();
    private final Set<String> shared = new HashSet<>();

    /**
     * Whether memories that differ have had that identity in this process, this one among them. An AI service built anew on the same
     * stored messages is no other one.
     */
    synchronized boolean isShared(String session, String identity, ChatMemory memory) {
        WeakReference<ChatMemory> before = newest.put(identity, new WeakReference<>(memory));
        ChatMemory other = before == null ? null : before.get();
        if (other != null && other != memory && !shared.contains(identity) && differ(other, memory)) {
            LOG.warn(
                    "Session {}: chat memories that differ are both known as {}. When a call of one is interrupted, the next call finds its"
                            + " memory as the program gives it, and a rollback cannot put them back. Give the AI services memory ids,"
                            + " or a session each",
                    session,
                    identity);
            shared.add(identity);
        }
        return shared.contains(identity);
    }

    /** One that cannot be read any more counts as another. */
    private static boolean differ(ChatMemory other, ChatMemory memory) {
        List<ChatMessage> messages = memory.messages();
        try {
            return !other.messages().equals(messages);
        } catch (RuntimeException e) {
            LOG.debug("A chat memory that was used before cannot be read", e);
            return true;
        }
    }
}

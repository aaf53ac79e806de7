package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.overlap.Digest;
import dev.langchain4j.data.message.ChatMessage;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * The messages of a request, as JSON and digested once: beside the LLM call if somebody {@linkplain #work() runs} that by then, else by whoever
 * asks. Digests are over canonical JSON. Thread-safe.
 */
final class SentMessages {
    private record Form(JsonNode json, String digest) {}

    private final List<ChatMessage> messages;
    private final FutureTask<Form> form;

    SentMessages(List<ChatMessage> messages) {
        this.messages = messages;
        form = new FutureTask<>(() -> {
            JsonNode json = MessageCodec.messages(messages);
            return new Form(json, Digest.of(Digest.canonical(json)));
        });
    }

    List<ChatMessage> messages() {
        return messages;
    }

    /** What is to be done, by any thread. */
    Runnable work() {
        return form;
    }

    /** As JSON; not to be changed. */
    JsonNode json() {
        return form().json();
    }

    /** 64 hexadecimal digits. */
    String digest() {
        return form().digest();
    }

    private Form form() {
        form.run(); // nothing if it was run, or is being run
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return form.get();
                } catch (InterruptedException e) {
                    interrupted = true; // it is short
                }
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw e.getCause() instanceof RuntimeException failure ? failure : new IllegalStateException(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}

package dev.crab.langchain4j;

import dev.crab.langchain4j.ProtectedInvocation.ModelCall;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.CompleteToolCall;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.PartialThinking;
import dev.langchain4j.model.chat.response.PartialThinkingContext;
import dev.langchain4j.model.chat.response.PartialToolCall;
import dev.langchain4j.model.chat.response.PartialToolCallContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.chat.response.StreamingHandle;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The events of one streamed LLM call of a protected invocation, on their way to LangChain4j. What only shows text passes at once; what
 * may start a tool is held back until the response is in the journal.
 *
 * <p>It is also where a failure is seen: {@code ignoreErrors()} fires no event, and an {@link Error} that leaves a handler is lost in the
 * thread of the provider's client. Hence a failure of Crab's reaches the program by {@code onError}. Events come one after the other, as
 * the provider's contract says; a cancellation may come from any thread.
 */
final class ProtectedStream implements StreamingChatResponseHandler {
    private static final Logger LOG = LoggerFactory.getLogger(ProtectedStream.class);

    private final ProtectedInvocation invocation;
    private final ModelCall call;
    private final StreamingChatResponseHandler handler;
    private final List<CompleteToolCall> held = new ArrayList<>();

    ProtectedStream(ProtectedInvocation invocation, ModelCall call, StreamingChatResponseHandler handler) {
        this.invocation = invocation;
        this.call = call;
        this.handler = handler;
    }

    @Override
    public void onPartialResponse(String partialResponse) {
        handler.onPartialResponse(partialResponse);
    }

    @Override
    public void onPartialResponse(PartialResponse partialResponse, PartialResponseContext context) {
        handler.onPartialResponse(
                partialResponse, new PartialResponseContext(new EndingHandle(context.streamingHandle())));
    }

    @Override
    public void onPartialThinking(PartialThinking partialThinking) {
        handler.onPartialThinking(partialThinking);
    }

    @Override
    public void onPartialThinking(PartialThinking partialThinking, PartialThinkingContext context) {
        handler.onPartialThinking(
                partialThinking, new PartialThinkingContext(new EndingHandle(context.streamingHandle())));
    }

    @Override
    public void onPartialToolCall(PartialToolCall partialToolCall) {
        handler.onPartialToolCall(partialToolCall);
    }

    @Override
    public void onPartialToolCall(PartialToolCall partialToolCall, PartialToolCallContext context) {
        handler.onPartialToolCall(
                partialToolCall, new PartialToolCallContext(new EndingHandle(context.streamingHandle())));
    }

    @Override
    public void onCompleteToolCall(CompleteToolCall completeToolCall) {
        held.add(completeToolCall);
    }

    @Override
    public void onUnmappedRawEvent(Object rawEvent) {
        handler.onUnmappedRawEvent(rawEvent);
    }

    @Override
    public void onCompleteResponse(ChatResponse response) {
        try {
            invocation.answered(call, response);
        } catch (CrabError e) {
            onError(e);
            return;
        }
        complete(response);
    }

    @Override
    public void onError(Throwable error) {
        call.window().close();
        invocation.failed(error);
        CrabError ours = CrabError.within(error);
        handler.onError(ours == null ? error : ours);
    }

    /** Serves a response from the journal: its text in one piece, and every tool call, as a provider would. */
    void replay(ChatResponse response) {
        AiMessage message = response.aiMessage();
        String thinking = message.thinking();
        if (thinking != null && !thinking.isEmpty()) {
            served(() -> handler.onPartialThinking(new PartialThinking(thinking)));
        }
        String text = message.text();
        if (text != null && !text.isEmpty()) {
            served(() -> handler.onPartialResponse(text));
        }
        int index = 0;
        for (ToolExecutionRequest request : message.toolExecutionRequests()) {
            held.add(new CompleteToolCall(index++, request));
        }
        served(() -> complete(response));
    }

    /** Providers tell a handler's own exception to the handler. */
    private void served(Runnable event) {
        try {
            event.run();
        } catch (RuntimeException e) {
            try {
                onError(e);
            } catch (RuntimeException again) {
                LOG.warn("A handler of {} failed, and so did its error handler", invocation.sessionId(), again);
            }
        }
    }

    private void complete(ChatResponse response) {
        try {
            held.forEach(handler::onCompleteToolCall);
            handler.onCompleteResponse(response);
        } catch (RuntimeException e) {
            if (CrabError.within(e) == null) {
                throw e; // comes back by onError
            }
            onError(e);
        } catch (CrabError e) {
            onError(e);
        } catch (Error e) {
            onError(e);
            throw e;
        }
    }

    /** A stream that was cancelled ends without another event. */
    private final class EndingHandle implements StreamingHandle {
        private final StreamingHandle handle;

        EndingHandle(StreamingHandle handle) {
            this.handle = handle;
        }

        @Override
        public void cancel() {
            handle.cancel();
            call.window().close();
            invocation.failed();
        }

        @Override
        public boolean isCancelled() {
            return handle.isCancelled();
        }
    }
}

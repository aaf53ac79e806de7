package dev.crab.langchain4j;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessageSerializer;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.CompleteToolCall;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import dev.langchain4j.observability.api.listener.AiServiceCompletedListener;
import dev.langchain4j.observability.api.listener.AiServiceErrorListener;
import dev.langchain4j.observability.api.listener.AiServiceListener;
import dev.langchain4j.observability.api.listener.AiServiceRequestIssuedListener;
import dev.langchain4j.observability.api.listener.AiServiceResponseReceivedListener;
import dev.langchain4j.observability.api.listener.AiServiceStartedListener;
import dev.langchain4j.observability.api.listener.ToolExecutedEventListener;
import dev.langchain4j.service.Result;
import dev.langchain4j.service.TokenStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Everything that a program can see of one use of AI services, in text: answers, errors, tools, requests, events and memories. */
final class ParityObservation {
    private final List<String> seen = Collections.synchronizedList(new ArrayList<>());
    private final List<String> tools = Collections.synchronizedList(new ArrayList<>());
    private final List<ChatMemory> memories = new ArrayList<>();
    private final Script script = new Script();

    /** What the model answers, one answer after the other. */
    static final class Script {
        private final Deque<Object> answers = new ArrayDeque<>();
        private int calls;

        /** Tool calls: names and arguments in turn. */
        Script calls(String... namesAndArguments) {
            List<ToolExecutionRequest> requests = new ArrayList<>();
            for (int i = 0; i < namesAndArguments.length; i += 2) {
                requests.add(ParityCases.request("call_" + ++calls, namesAndArguments[i], namesAndArguments[i + 1]));
            }
            answers.add(AiMessage.from(requests));
            return this;
        }

        Script says(String text) {
            answers.add(AiMessage.from(text));
            return this;
        }

        Script fails(String why) {
            answers.add(new IllegalStateException(why));
            return this;
        }

        synchronized ChatResponse next() {
            Object answer = answers.remove();
            if (answer instanceof RuntimeException failure) {
                throw failure;
            }
            AiMessage message = (AiMessage) answer;
            return ChatResponse.builder()
                    .id("response")
                    .modelName("scripted")
                    .aiMessage(message)
                    .tokenUsage(new TokenUsage(10, 5))
                    .finishReason(message.hasToolExecutionRequests() ? FinishReason.TOOL_EXECUTION : FinishReason.STOP)
                    .build();
        }
    }

    Script script() {
        return script;
    }

    private void asked(ChatRequest request) {
        seen.add("request " + ChatMessageSerializer.messagesToJson(request.messages()) + " "
                + request.toolSpecifications() + " " + request.parameters());
    }

    ChatModel model() {
        return new ChatModel() {
            @Override
            public ChatResponse doChat(ChatRequest request) {
                asked(request);
                return script.next();
            }
        };
    }

    StreamingChatModel streamingModel() {
        return new StreamingChatModel() {
            @Override
            public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
                asked(request);
                ChatResponse response;
                try {
                    response = script.next();
                } catch (RuntimeException e) {
                    handler.onError(e);
                    return;
                }
                AiMessage message = response.aiMessage();
                if (message.text() != null) {
                    for (String word : message.text().split("(?<= )", -1)) {
                        handler.onPartialResponse(word);
                    }
                }
                int index = 0;
                for (ToolExecutionRequest call : message.toolExecutionRequests()) {
                    handler.onCompleteToolCall(new CompleteToolCall(index++, call));
                }
                handler.onCompleteResponse(response);
            }
        };
    }

    ChatMemory memory() {
        return memory("default");
    }

    ChatMemory memory(Object id) {
        ChatMemory memory =
                MessageWindowChatMemory.builder().id(id).maxMessages(20).build();
        memories.add(memory);
        return memory;
    }

    /** A tool really runs. Those of one response may run in any order. */
    void ran(String tool) {
        tools.add(tool);
    }

    void event(String event) {
        seen.add("event " + event);
    }

    void answer(Object answer) {
        seen.add("answer " + answer);
    }

    void failed(Throwable failure) {
        StringBuilder chain = new StringBuilder("failure");
        int depth = 0;
        for (Throwable one = failure; one != null && depth++ < 10; one = one.getCause()) {
            chain.append(' ').append(one.getClass().getName()).append(": ").append(one.getMessage());
        }
        seen.add(chain.toString());
    }

    void result(Result<?> result) {
        answer(result.content());
        seen.add("tokens " + result.tokenUsage() + " " + result.finishReason());
        result.toolExecutions()
                .forEach(one -> seen.add("execution " + one.request() + " " + one.resultContents() + " "
                        + one.resultObject() + " " + one.hasFailed()));
        result.intermediateResponses().forEach(one -> seen.add("intermediate " + one));
        seen.add("final " + result.finalResponse());
    }

    void stream(TokenStream stream) throws Exception {
        CompletableFuture<Object> end = new CompletableFuture<>();
        stream.onPartialResponse(text -> event("partial " + text))
                .onIntermediateResponse(response -> event("intermediate " + response))
                .beforeToolExecution(before -> event("before " + before.request()))
                .onToolExecuted(one -> event("executed " + one.request() + " " + one.result()))
                .onCompleteResponse(end::complete)
                .onError(end::complete)
                .start();
        Object outcome = end.get(60, TimeUnit.SECONDS);
        if (outcome instanceof Throwable failure) {
            failed(failure);
        } else {
            answer(outcome);
        }
    }

    List<AiServiceListener<?>> listeners() {
        return List.of(
                (AiServiceStartedListener) event -> event("started " + event.userMessage()),
                (AiServiceRequestIssuedListener)
                        event -> event("issued " + event.request().messages()),
                (AiServiceResponseReceivedListener)
                        event -> event("received " + event.response().aiMessage()),
                (ToolExecutedEventListener) event -> event("tool " + event.request() + " " + event.resultText()),
                (AiServiceCompletedListener) event -> event("completed " + event.result()),
                (AiServiceErrorListener) event -> event("error " + event.error()));
    }

    /** All of it. */
    List<String> lines() {
        List<String> lines = new ArrayList<>(seen);
        tools.stream().sorted().forEach(tool -> lines.add("ran " + tool));
        memories.forEach(memory -> lines.add("memory " + ChatMessageSerializer.messagesToJson(memory.messages())));
        return lines;
    }
}

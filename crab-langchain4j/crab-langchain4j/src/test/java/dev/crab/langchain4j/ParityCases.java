package dev.crab.langchain4j;

import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.ReturnBehavior;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolMemoryId;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.guardrail.InputGuardrail;
import dev.langchain4j.guardrail.InputGuardrailRequest;
import dev.langchain4j.guardrail.InputGuardrailResult;
import dev.langchain4j.guardrail.OutputGuardrail;
import dev.langchain4j.guardrail.OutputGuardrailRequest;
import dev.langchain4j.guardrail.OutputGuardrailResult;
import dev.langchain4j.invocation.InvocationParameters;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.MemoryId;
import dev.langchain4j.service.Result;
import dev.langchain4j.service.SystemMessage;
import dev.langchain4j.service.TokenStream;
import dev.langchain4j.service.UserMessage;
import dev.langchain4j.service.V;
import dev.langchain4j.service.tool.ToolErrorHandlerResult;
import dev.langchain4j.service.tool.ToolExecutor;
import dev.langchain4j.service.tool.ToolProviderResult;
import dev.langchain4j.service.tool.search.simple.SimpleToolSearchStrategy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What AI services with tools do, case by case: each is run with Crab and without, and must come to the same. */
final class ParityCases {
    private ParityCases() {}

    /** One use of AI services: everything that it comes to goes into the observation. */
    record Case(String name, Work work) {
        @Override
        public String toString() {
            return name;
        }
    }

    @FunctionalInterface
    interface Work {
        void run(ParityObservation seen) throws Exception;
    }

    enum Unit {
        CELSIUS,
        FAHRENHEIT
    }

    record Address(String street, int number) {}

    record Person(String name, List<Address> addresses) {}

    interface Chat {
        String chat(String text);
    }

    interface Whole {
        Result<String> chat(String text);
    }

    interface ById {
        String chat(@MemoryId String id, @UserMessage String text);
    }

    interface WithParameters {
        String chat(@UserMessage String text, InvocationParameters parameters);
    }

    interface Templated {
        @SystemMessage("You are {{who}}.")
        @UserMessage("Say {{what}}")
        String chat(@V("who") String who, @V("what") String what);
    }

    interface Extractor {
        Person extract(String text);
    }

    interface Streaming {
        TokenStream chat(String text);
    }

    /** Tools of many shapes, which note that they ran. */
    static final class Tools {
        private final ParityObservation seen;

        Tools(ParityObservation seen) {
            this.seen = seen;
        }

        @Tool("no parameters")
        String now() {
            seen.ran("now");
            return "noon";
        }

        @Tool("numbers and flags")
        double mixed(int a, long b, double c, float d, boolean e, Integer f) {
            seen.ran("mixed " + a + b + c + d + e + f);
            return a + b + c;
        }

        @Tool("an enum and a list of them")
        Unit units(Unit one, List<Unit> all) {
            seen.ran("units " + one + all);
            return one;
        }

        @Tool("an object, a list and a map")
        Person people(Person person, List<String> names, Map<String, Integer> ages) {
            seen.ran("people " + person + names + ages);
            return person;
        }

        @Tool("an optional parameter, and one with a default")
        String defaults(
                @P(value = "may be left out", required = false) String first,
                @P(value = "has a default", defaultValue = "7") int second) {
            seen.ran("defaults " + first + second);
            return first + second;
        }

        @Tool("returns nothing")
        void nothing() {
            seen.ran("nothing");
        }

        @Tool("returns null")
        @Nullable
        String nullable() {
            seen.ran("nullable");
            return null;
        }

        @Tool("fails")
        String fails(String why) {
            seen.ran("fails " + why);
            throw new IllegalStateException(why);
        }

        @Tool(value = "is the answer", returnBehavior = ReturnBehavior.IMMEDIATE)
        String immediate(String text) {
            seen.ran("immediate " + text);
            return "at once: " + text;
        }

        @Tool("a picture")
        List<Content> picture() {
            seen.ran("picture");
            return List.of(TextContent.from("look"), ImageContent.from("aGVsbG8=", "image/png"));
        }

        @Tool("who asks")
        String memoryOf(@ToolMemoryId Object id, String text) {
            seen.ran("memoryOf " + id + " " + text);
            return String.valueOf(id);
        }

        @Tool("what came with the call")
        String parameters(String name, InvocationParameters parameters) {
            seen.ran("parameters " + name + "=" + parameters.get(name));
            return String.valueOf(parameters.<Object>get(name));
        }
    }

    private static <T> AiServices<T> with(ParityObservation seen, Class<T> type) {
        return AiServices.builder(type).chatModel(seen.model()).tools(new Tools(seen));
    }

    private static Case tool(String name, String arguments) {
        return new Case("tool " + name + arguments, seen -> {
            seen.script().calls(name, arguments).says("done");
            seen.result(
                    with(seen, Whole.class).chatMemory(seen.memory()).build().chat("go"));
        });
    }

    private static final ToolSpecification ECHO = ToolSpecification.builder()
            .name("echo")
            .description("says it back")
            .parameters(JsonObjectSchema.builder().addStringProperty("text").build())
            .build();

    private static ToolExecutor echo(ParityObservation seen) {
        return (request, id) -> {
            seen.ran("echo " + request.arguments() + " for " + id);
            return request.arguments();
        };
    }

    private static Stream<Case> shapes() {
        return Stream.of(
                tool("now", "{}"),
                tool("mixed", "{\"a\":1,\"b\":2,\"c\":1.5,\"d\":2.5,\"e\":true,\"f\":9}"),
                tool("units", "{\"one\":\"CELSIUS\",\"all\":[\"FAHRENHEIT\",\"CELSIUS\"]}"),
                tool(
                        "people",
                        "{\"person\":{\"name\":\"Ada\",\"addresses\":[{\"street\":\"Main\",\"number\":7}]},"
                                + "\"names\":[\"a\",\"b\"],\"ages\":{\"a\":1}}"),
                tool("defaults", "{}"),
                tool("defaults", "{\"first\":\"x\",\"second\":3}"),
                tool("nothing", "{}"),
                tool("nullable", "{}"),
                tool("fails", "{\"why\":\"no luck\"}"),
                tool("immediate", "{\"text\":\"now\"}"),
                tool("picture", "{}"),
                tool("memoryOf", "{\"text\":\"x\"}"),
                tool("now", "not json"),
                tool("mixed", "{\"a\":\"many\"}"),
                tool("unheardOf", "{}"));
    }

    private static Stream<Case> loops() {
        return Stream.of(
                new Case("no tool is called", seen -> {
                    seen.script().says("hello");
                    seen.answer(with(seen, Chat.class).build().chat("hi"));
                }),
                new Case("tools one after the other", seen -> {
                    seen.script()
                            .calls("now", "{}")
                            .calls("nothing", "{}")
                            .calls("now", "{}")
                            .says("done");
                    seen.result(with(seen, Whole.class)
                            .chatMemory(seen.memory())
                            .build()
                            .chat("go"));
                }),
                new Case("several calls in one response", seen -> {
                    seen.script()
                            .calls("now", "{}", "nothing", "{}", "now", "{}")
                            .says("done");
                    seen.result(with(seen, Whole.class)
                            .chatMemory(seen.memory())
                            .build()
                            .chat("go"));
                }),
                new Case("several calls, side by side", seen -> {
                    seen.script().calls("now", "{}", "now", "{}").says("done");
                    seen.result(with(seen, Whole.class)
                            .executeToolsConcurrently(Executors.newFixedThreadPool(2))
                            .chatMemory(seen.memory())
                            .build()
                            .chat("go"));
                }),
                new Case("immediate beside another", seen -> {
                    seen.script()
                            .calls("now", "{}", "immediate", "{\"text\":\"x\"}")
                            .says("done");
                    seen.result(with(seen, Whole.class)
                            .chatMemory(seen.memory())
                            .build()
                            .chat("go"));
                }),
                new Case("too many round trips", seen -> {
                    seen.script().calls("now", "{}").calls("now", "{}").calls("now", "{}");
                    seen.result(with(seen, Whole.class)
                            .maxToolCallingRoundTrips(2)
                            .build()
                            .chat("go"));
                }),
                new Case("two calls with one memory", seen -> {
                    seen.script()
                            .calls("now", "{}")
                            .says("first")
                            .calls("nothing", "{}")
                            .says("second");
                    Chat chat = with(seen, Chat.class).chatMemory(seen.memory()).build();
                    seen.answer(chat.chat("one"));
                    seen.answer(chat.chat("two"));
                }),
                new Case("memory by id", seen -> {
                    seen.script()
                            .calls("memoryOf", "{\"text\":\"x\"}")
                            .says("for ada")
                            .says("for bob");
                    ById chat = with(seen, ById.class)
                            .chatMemoryProvider(seen::memory)
                            .build();
                    seen.answer(chat.chat("ada", "hi"));
                    seen.answer(chat.chat("bob", "hi"));
                }),
                new Case("parameters of the call", seen -> {
                    seen.script().calls("parameters", "{\"name\":\"user\"}").says("done");
                    seen.answer(with(seen, WithParameters.class)
                            .build()
                            .chat("go", InvocationParameters.from("user", "ada")));
                }),
                new Case("templates", seen -> {
                    seen.script().calls("now", "{}").says("done");
                    seen.answer(with(seen, Templated.class)
                            .chatMemory(seen.memory())
                            .build()
                            .chat("a poet", "something"));
                }),
                new Case("an object for an answer", seen -> {
                    seen.script()
                            .calls("now", "{}")
                            .says("{\"name\":\"Ada\",\"addresses\":[{\"street\":\"x\",\"number\":1}]}");
                    seen.answer(with(seen, Extractor.class).build().extract("Ada"));
                }),
                new Case("the model fails", seen -> {
                    seen.script().calls("now", "{}").fails("no route");
                    seen.result(with(seen, Whole.class)
                            .chatMemory(seen.memory())
                            .build()
                            .chat("go"));
                }));
    }

    private static Stream<Case> handlers() {
        return Stream.of(
                new Case("execution errors handled", seen -> {
                    seen.script().calls("fails", "{\"why\":\"oh\"}").says("done");
                    seen.result(with(seen, Whole.class)
                            .chatMemory(seen.memory())
                            .toolExecutionErrorHandler(
                                    (error, context) -> ToolErrorHandlerResult.text("sorry: " + error.getMessage()))
                            .build()
                            .chat("go"));
                }),
                new Case("execution errors thrown on", seen -> {
                    seen.script().calls("fails", "{\"why\":\"oh\"}").says("done");
                    seen.result(with(seen, Whole.class)
                            .chatMemory(seen.memory())
                            .toolExecutionErrorHandler((error, context) -> {
                                throw new IllegalArgumentException("given up", error);
                            })
                            .build()
                            .chat("go"));
                }),
                new Case("argument errors handled", seen -> {
                    seen.script().calls("mixed", "{\"a\":\"many\"}").says("done");
                    seen.result(with(seen, Whole.class)
                            .chatMemory(seen.memory())
                            .toolArgumentsErrorHandler((error, context) -> ToolErrorHandlerResult.text("say it again"))
                            .build()
                            .chat("go"));
                }),
                new Case("hallucinated names answered", seen -> {
                    seen.script().calls("unheardOf", "{}").says("done");
                    seen.result(with(seen, Whole.class)
                            .chatMemory(seen.memory())
                            .hallucinatedToolNameStrategy(request ->
                                    ToolExecutionResultMessage.from(request, "there is no " + request.name()))
                            .build()
                            .chat("go"));
                }),
                new Case("before and after each tool", seen -> {
                    seen.script().calls("now", "{}", "fails", "{\"why\":\"x\"}").says("done");
                    seen.answer(with(seen, Chat.class)
                            .beforeToolExecution(before ->
                                    seen.event("before " + before.request().name()))
                            .afterToolExecution(after ->
                                    seen.event("after " + after.request().name() + " " + after.result()))
                            .build()
                            .chat("go"));
                }),
                new Case("listeners", seen -> {
                    seen.script().calls("now", "{}").says("done");
                    seen.answer(with(seen, Chat.class)
                            .registerListeners(seen.listeners())
                            .build()
                            .chat("go"));
                }),
                new Case("an input guardrail refuses", seen -> {
                    seen.script().says("done");
                    seen.answer(with(seen, Chat.class)
                            .inputGuardrails(new InputGuardrail() {
                                @Override
                                public InputGuardrailResult validate(InputGuardrailRequest request) {
                                    return fatal("not that");
                                }
                            })
                            .build()
                            .chat("go"));
                }),
                new Case("an output guardrail asks again", seen -> {
                    seen.script().calls("now", "{}").says("rude").says("please");
                    seen.answer(with(seen, Chat.class)
                            .chatMemory(seen.memory())
                            .outputGuardrails(new OutputGuardrail() {
                                @Override
                                public OutputGuardrailResult validate(OutputGuardrailRequest request) {
                                    String text = request.responseFromLLM()
                                            .aiMessage()
                                            .text();
                                    return text.equals("please") ? success() : reprompt("rude", "say please");
                                }
                            })
                            .build()
                            .chat("go"));
                }));
    }

    private static Stream<Case> sources() {
        return Stream.of(
                new Case("tools as a map", seen -> {
                    seen.script().calls("echo", "{\"text\":\"x\"}").says("done");
                    seen.answer(AiServices.builder(ById.class)
                            .chatModel(seen.model())
                            .chatMemoryProvider(seen::memory)
                            .tools(Map.of(ECHO, echo(seen)))
                            .build()
                            .chat("ada", "go"));
                }),
                new Case("tools of a provider, by what was said", seen -> {
                    seen.script().calls("echo", "{\"text\":\"x\"}").says("done").says("no tools");
                    Chat chat = AiServices.builder(Chat.class)
                            .chatModel(seen.model())
                            .toolProvider(request ->
                                    request.userMessage().singleText().contains("echo")
                                            ? ToolProviderResult.builder()
                                                    .add(ECHO, echo(seen))
                                                    .build()
                                            : ToolProviderResult.builder().build())
                            .build();
                    seen.answer(chat.chat("please echo"));
                    seen.answer(chat.chat("hello"));
                }),
                new Case("tools that are searched for", seen -> {
                    seen.script()
                            .calls("tool_search_tool", "{\"terms\":[\"now\"]}")
                            .calls("now", "{}")
                            .says("done");
                    seen.result(with(seen, Whole.class)
                            .chatMemory(seen.memory())
                            .toolSearchStrategy(new SimpleToolSearchStrategy())
                            .build()
                            .chat("go"));
                }),
                new Case("streaming, with its callbacks", seen -> {
                    seen.script().calls("now", "{}", "fails", "{\"why\":\"x\"}").says("all done");
                    seen.stream(AiServices.builder(Streaming.class)
                            .streamingChatModel(seen.streamingModel())
                            .chatMemory(seen.memory())
                            .tools(new Tools(seen))
                            .build()
                            .chat("go"));
                }),
                new Case("streaming, the model fails", seen -> {
                    seen.script().calls("now", "{}").fails("no route");
                    seen.stream(AiServices.builder(Streaming.class)
                            .streamingChatModel(seen.streamingModel())
                            .chatMemory(seen.memory())
                            .tools(new Tools(seen))
                            .build()
                            .chat("go"));
                }));
    }

    static List<Case> all() {
        return Stream.of(shapes(), loops(), handlers(), sources())
                .flatMap(cases -> cases)
                .toList();
    }

    static ToolExecutionRequest request(String id, String name, String arguments) {
        return ToolExecutionRequest.builder()
                .id(id)
                .name(name)
                .arguments(arguments)
                .build();
    }
}

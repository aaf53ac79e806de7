package dev.crab.samples.langchain4j;

import static dev.crab.samples.langchain4j.Script.append;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agentic.Agent;
import dev.langchain4j.agentic.AgenticServices;
import dev.langchain4j.agentic.UntypedAgent;
import dev.langchain4j.service.UserMessage;
import dev.langchain4j.service.V;
import java.util.List;
import java.util.Map;

/** Agents that work together, in one sandbox and in one each. */
final class AgentRows {
    private AgentRows() {}

    // Public: an agentic system calls them by reflection.
    public interface Alpha {
        @UserMessage("work on alpha: {{task}}")
        @Agent("does the first part")
        String alpha(@V("task") String task);
    }

    public interface Beta {
        @UserMessage("work on beta: {{task}}")
        @Agent("does the second part")
        String beta(@V("task") String task);
    }

    public interface OwnAlpha {
        @UserMessage("work on alpha: {{task}}")
        @Agent("does the first part")
        String alpha(@V("task") String task);
    }

    public interface OwnBeta {
        @UserMessage("work on beta: {{task}}")
        @Agent("does the second part")
        String beta(@V("task") String task);
    }

    private static Script both() {
        return new Script()
                .when("work on alpha")
                .calls(null, append("a1", "A"))
                .calls("a1", append("a2", "B"))
                .says("a2", "alpha done")
                .when("work on beta")
                .calls(null, append("b1", "C"))
                .calls("b1", append("b2", "D"))
                .says("b2", "beta done");
    }

    private static Script supervised() {
        return both().when("planner expert")
                .says(null, plan("alpha", "task", "x"))
                .when("alpha done")
                .says(null, plan("beta", "task", "x"))
                .when("beta done")
                .says(null, plan("done", "response", "both parts are done"));
    }

    private static String plan(String agent, String argument, String value) {
        return "{\"agentName\":\"" + agent + "\",\"arguments\":{\"" + argument + "\":\"" + value + "\"}}";
    }

    private static Alpha alpha(Stage stage) {
        return AgenticServices.agentBuilder(Alpha.class)
                .name("alpha")
                .chatModel(stage.model())
                .tools(stage.tools())
                .outputKey("first")
                .build();
    }

    private static Beta beta(Stage stage) {
        return AgenticServices.agentBuilder(Beta.class)
                .name("beta")
                .chatModel(stage.model())
                .tools(stage.tools())
                .outputKey("second")
                .build();
    }

    private static OwnAlpha ownAlpha(Stage stage) {
        return AgenticServices.agentBuilder(OwnAlpha.class)
                .name("alpha")
                .chatModel(stage.model())
                .tools(stage.tools(1))
                .outputKey("first")
                .build();
    }

    private static OwnBeta ownBeta(Stage stage) {
        return AgenticServices.agentBuilder(OwnBeta.class)
                .name("beta")
                .chatModel(stage.model())
                .tools(stage.tools(2))
                .outputKey("second")
                .build();
    }

    private static void invoke(ObjectNode outcome, UntypedAgent agent) {
        var result = agent.invokeWithAgenticScope(Map.of("task", "x"));
        outcome.put("first", String.valueOf(result.agenticScope().readState("first")));
        outcome.put("second", String.valueOf(result.agenticScope().readState("second")));
    }

    private static Row row(String name, int sessions, Row.Work work) {
        return new Row(name, both(), false, sessions, work);
    }

    static List<Row> all() {
        return List.of(
                row(
                        "agents-sequence",
                        1,
                        (stage, outcome) -> invoke(
                                outcome,
                                AgenticServices.sequenceBuilder()
                                        .subAgents(alpha(stage), beta(stage))
                                        .build())),
                row(
                        "agents-loop",
                        1,
                        (stage, outcome) -> invoke(
                                outcome,
                                AgenticServices.loopBuilder()
                                        .subAgents(alpha(stage))
                                        .maxIterations(2)
                                        .build())),
                new Row(
                        "agents-parallel",
                        both(),
                        false,
                        false,
                        1,
                        (stage, outcome) -> invoke(
                                outcome,
                                AgenticServices.parallelBuilder()
                                        .subAgents(alpha(stage), beta(stage))
                                        .build())),
                row(
                        "agents-conditional",
                        1,
                        (stage, outcome) -> invoke(
                                outcome,
                                AgenticServices.conditionalBuilder()
                                        .subAgents(scope -> scope.hasState("absent"), alpha(stage))
                                        .subAgents(scope -> scope.hasState("task"), beta(stage))
                                        .build())),
                new Row(
                        "agents-supervisor",
                        supervised(),
                        false,
                        1,
                        (stage, outcome) -> outcome.put(
                                "answer",
                                AgenticServices.supervisorBuilder()
                                        .chatModel(stage.model())
                                        .subAgents(alpha(stage), beta(stage))
                                        .build()
                                        .invoke("do both parts"))),
                row(
                        "agents-sequence-own-sandboxes",
                        2,
                        (stage, outcome) -> invoke(
                                outcome,
                                AgenticServices.sequenceBuilder()
                                        .subAgents(ownAlpha(stage), ownBeta(stage))
                                        .build())),
                row(
                        "agents-parallel-own-sandboxes",
                        2,
                        (stage, outcome) -> invoke(
                                outcome,
                                AgenticServices.parallelBuilder()
                                        .subAgents(ownAlpha(stage), ownBeta(stage))
                                        .build())),
                row(
                        "agents-model-by-function",
                        1,
                        (stage, outcome) -> invoke(
                                outcome,
                                AgenticServices.sequenceBuilder()
                                        .subAgents(
                                                AgenticServices.agentBuilder(Alpha.class)
                                                        .name("alpha")
                                                        .chatModel(scope -> stage.model())
                                                        .tools(stage.tools())
                                                        .outputKey("first")
                                                        .build(),
                                                beta(stage))
                                        .build())));
    }
}

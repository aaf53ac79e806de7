package dev.crab.samples.quickstart;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the scripted model answers, response by response: a small job of the kind coding agents do, chosen so that each way of losing
 * state shows. Project files, a service that counts only in memory, a shell with a working directory and a variable, turns that only
 * read, several tool calls in one response, and steps whose repetition would be visible (a sale, a draft with
 * a number, an announcement to the world outside).
 *
 * <p>A text may name an earlier tool call as <code>${call_7c}</code>: the model puts that call's result there, as it found it in the
 * request. So the last answer can only be right when what the chat holds and what the service counts belong together.
 */
final class Script {
    /** The project's directory in the sandbox. */
    static final String PROJECT = "/root/shop";

    /** The exported variable that the agent sets in its shell, and its value. */
    static final String VARIABLE = "SHOP_RELEASE";

    static final String VARIABLE_VALUE = "2.4";

    /** Asks the counter for its state, from any directory. */
    static final String ASK = "python3 -B " + PROJECT + "/ask.py";

    /** The command during which the default run is killed; the call before it has made a draft and sold an apple. */
    static final String LONG_COMMAND = "sleep 1; ls draft-*";

    static final String TASK = """
            Set up the project shop in %s: a cart with unit tests, and a service that counts what is sold. Find out why a test \
            fails and fix it. Then start the counter in the background, sell 3 apples, 2 pears and 1 plum, draft the release, sell one \
            more apple, and write RELEASE.md with the counter's final state and announce it. Work in a shell that stays in the project's directory and \
            exports %s=%s. Report the tests' result and the total.""".formatted(PROJECT, VARIABLE, VARIABLE_VALUE);

    /** One tool call of a response. */
    record Call(String id, String tool, Map<String, Object> arguments) {}

    /**
     * One response of the model.
     *
     * @param latency how long a real model takes for an answer like this
     * @param text the final answer; null where tools are called
     */
    record Response(
            Duration latency, List<Call> calls, @Nullable String text) {}

    private final List<Response> responses = new ArrayList<>();

    private Script() {}

    /** All responses, in order; the last one calls no tool. */
    static List<Response> responses() {
        Script script = new Script();
        script.write();
        return List.copyOf(script.responses);
    }

    private void write() {
        turn(2400, file("cart.py"), file("test_cart.py"), file("counter.py"), file("ask.py"));
        turn(900, call("list_files", "path", PROJECT), call("read_file", "path", PROJECT + "/cart.py"));
        turn(1100, shell("cd " + PROJECT + " && export " + VARIABLE + "=" + VARIABLE_VALUE), call("run_tests"));
        turn(
                1800,
                call(
                        "edit_file",
                        "path",
                        PROJECT + "/cart.py",
                        "oldText",
                        "sum(price for item, price, quantity",
                        "newText",
                        "sum(price * quantity for item, price, quantity"));
        turn(900, call("run_tests"), shell("echo tests passed > tests.txt"));
        turn(1300, shell("nohup python3 -B counter.py > /dev/null 2>&1 &"), shell(ASK));
        turn(1500, shell(ASK + " apples 3"), shell(ASK + " pears 2"), shell(ASK + " plums 1"));
        turn(800, call("read_file", "path", PROJECT + "/tests.txt"), call("count_lines", "path", PROJECT + "/cart.py"));
        turn(1600, shell("touch draft-$((1 + $(ls | grep -c ^draft-))) && " + ASK + " apples 1"), shell(LONG_COMMAND));
        turn(
                1900,
                call(
                        "edit_file",
                        "path",
                        PROJECT + "/cart.py",
                        "oldText",
                        "\"\"\"A shopping cart.\"\"\"",
                        "newText",
                        "\"\"\"A shopping cart, release " + VARIABLE_VALUE + ".\"\"\""),
                call("run_tests"));
        turn(1000, shell("echo \"$PWD release $" + VARIABLE + "\""), shell(ASK));
        turn(
                1700,
                call(
                        "write_file",
                        "path",
                        PROJECT + "/RELEASE.md",
                        "content",
                        "# Release\n\nShell: ${call_11a}\nCounter: ${total:call_11b}\n"),
                call("announce", "text", "shop ${total:call_11b}"));
        responses.add(new Response(
                Duration.ofMillis(1200),
                List.of(),
                "Tests: ${call_10b}. Released from ${call_11a}. Counter: ${total:call_11b}."));
    }

    private void turn(int waitMillis, Call... unnamed) {
        int number = responses.size() + 1;
        List<Call> calls = new ArrayList<>();
        for (Call call : unnamed) {
            String id = "call_" + number + (char) ('a' + calls.size());
            calls.add(new Call(id, call.tool(), call.arguments()));
        }
        responses.add(new Response(Duration.ofMillis(waitMillis), List.copyOf(calls), null));
    }

    private static Call call(String tool, String... namesAndValues) {
        Map<String, Object> arguments = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            arguments.put(namesAndValues[i], namesAndValues[i + 1]);
        }
        return new Call("", tool, arguments);
    }

    private static Call shell(String command) {
        return call("bash", "command", command);
    }

    private static Call file(String name) {
        return call("write_file", "path", PROJECT + "/" + name, "content", projectFile(name));
    }

    private static String projectFile(String name) {
        try (InputStream in = Script.class.getResourceAsStream("shop/" + name)) {
            if (in == null) {
                throw new IllegalStateException("the sample's file " + name + " is not on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

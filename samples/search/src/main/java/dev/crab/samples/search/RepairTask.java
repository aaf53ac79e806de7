package dev.crab.samples.search;

import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import java.util.List;

/**
 * A small program with two faults in it, and what an agent does to mend them: it looks around, starts the service and runs the tests, and then
 * tries. Two decisions have to be right, of which each has some plausible wrong answers.
 */
final class RepairTask {
    private static final String PRICES = """
            TABLE = {"tea": 250, "coffee": 300, "cake": 425}


            def price(item, count):
                # Ten per cent less from five on.
                total = TABLE[item] * count
                return total * 0.9 if count > 5 else total


            def shown(cents):
                return "%d.%d" % (cents // 100, cents % 100)
            """;

    private static final String TESTS = """
            import prices
            passed = 0
            for given, wanted in [((\"tea\", 1), 250), ((\"tea\", 5), 1125), ((\"cake\", 10), 3825)]:
                passed += prices.price(*given) == wanted
            for given, wanted in [(250, \"2.50\"), (305, \"3.05\"), (1125, \"11.25\")]:
                passed += prices.shown(given) == wanted
            print(\"passed %d of 6\" % passed)
            """;

    /** What the agent does before it decides anything. */
    static final List<String> PREFIX = List.of(
            "ls -la /srv/shop",
            "cat /srv/shop/prices.py",
            "cat /srv/shop/tests.py",
            "cd /srv/shop && setsid python3 -m http.server --bind 127.0.0.1 8000 > /dev/null 2>&1 < /dev/null & echo started",
            "python3 -c 'import sys; print(sys.version); print(sorted(sys.builtin_module_names))'",
            "cd /srv/shop && python3 -c 'import prices; help(prices)' | cat",
            "cd /srv/shop && python3 tests.py");

    /** Answers to the first decision; the third is right. */
    private static final List<String> FIRST = List.of(
            "sed -i 's/0.9 if count > 5/0.9 if count > 4.5/' prices.py",
            "sed -i 's/total \\* 0.9 if count > 5/round(total * 0.9) if count > 6/' prices.py",
            "sed -i 's/total \\* 0.9 if count > 5/total * 9 \\/\\/ 10 if count >= 5/' prices.py",
            "sed -i 's/count > 5/count > 50/' prices.py");

    /** Answers to the second; the second is right. */
    private static final List<String> SECOND = List.of(
            "sed -i 's/%d.%d/%d.%s/' prices.py",
            "sed -i 's/%d.%d/%d.%02d/' prices.py",
            "sed -i 's/%d.%d/%02d.%d/' prices.py",
            "sed -i 's/%d.%d/%d,%02d/' prices.py");

    private RepairTask() {}

    static void prepare(Sandbox sandbox) {
        sandbox.writeFile("/srv/shop/prices.py", PRICES);
        sandbox.writeFile("/srv/shop/tests.py", TESTS);
    }

    /** How many answers each decision has. */
    static int answers() {
        return FIRST.size();
    }

    static String first(int answer) {
        return mend(FIRST.get(answer));
    }

    static String second(int answer) {
        return mend(SECOND.get(answer));
    }

    private static String mend(String command) {
        return "cd /srv/shop && " + command + " && python3 tests.py";
    }

    /** How many of its six tests the program passes now. */
    static int score(Sandbox sandbox) {
        ExecResult result = sandbox.exec("cd /srv/shop && python3 tests.py");
        String text = result.out().strip();
        return result.isSuccess() && text.startsWith("passed ") ? Integer.parseInt(text.substring(7, 8)) : 0;
    }
}

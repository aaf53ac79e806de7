package dev.crab.samples.store;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An operation on the store's files fails, once or from then on until the first refusal; the victim has to get to its end all the same. */
final class ErrorRow implements Row {
    private final String error;

    /**
     * A failure.
     *
     * @param operation the first that fails, from 1
     * @param span {@code once}, or {@code on}: those behind it, too
     */
    record Failure(long operation, String span) {
        @Override
        public String toString() {
            return "operation " + operation + ", " + span;
        }
    }

    ErrorRow(String error) {
        this.error = error;
    }

    @Override
    public void run(Plan plan, Tally tally) throws IOException {
        List<Failure> failures = new ArrayList<>();
        for (long operation : operations(plan)) {
            failures.add(new Failure(operation, "once"));
            failures.add(new Failure(operation, "on"));
        }
        List<Failure> chosen = plan.choose(tally.row(), failures, List.of());
        tally.note(chosen.size() + " of " + failures.size() + " failures, seed " + plan.seed());
        plan.each(tally, chosen, (place, session, failure) -> fail(plan, tally, place, session, failure));
    }

    /** Numbers of those that can fail: what deletes or shortens cannot for want of space. */
    private static List<Long> operations(Plan plan) throws IOException {
        Path log = plan.work().resolve("operations.log");
        Files.deleteIfExists(log);
        try (Place place = plan.place("operations")) {
            new VictimJvm(place, "operations")
                    .shim(plan.shim(), Map.of("MODE", "count", "LOG", log.toString()))
                    .unharmed()
                    .run();
            place.clear("operations");
        }
        return Files.readAllLines(log, StandardCharsets.UTF_8).stream()
                .map(line -> line.split(" ", 3))
                .filter(words -> !words[1].equals("u") && !words[1].equals("t"))
                .map(words -> Long.parseLong(words[0]))
                .toList();
    }

    Verdict fail(Plan plan, Tally tally, Place place, String session, Failure failure) throws IOException {
        Map<String, String> settings =
                Map.of("MODE", error, "AT", Long.toString(failure.operation), "SPAN", failure.span);
        Life life = new VictimJvm(place, session).shim(plan.shim(), settings).run();
        life.told("refused").forEach(line -> tally.saw(line.split(" ", 2)[0]));
        if (!life.finished()) {
            return Verdict.mix("the victim did not get to its end, status " + life.status() + ": " + life.lines());
        }
        return place.judge(session, Script.TURNS, Script.TURNS);
    }
}

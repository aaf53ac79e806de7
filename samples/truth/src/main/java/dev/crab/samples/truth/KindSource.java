package dev.crab.samples.truth;

import dev.crab.runtime.sandbox.ExecResult;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/** The hand-written kinds, each in a directory of its own. */
final class KindSource implements TurnSource {
    /**
     * What the catalogue's lines may use: {@code P OPERATION...} is the puppet, {@code FILE} makes the file f, which is as old as its times
     * tell, {@code PID NAME} prints a survivor's pid.
     */
    private static final String PRELUDE = "P() { " + Arena.PUPPET + " \"$@\"; }\n"
            + "FILE() { seq 2000 > \"${1:-f}\"; touch -d @1000000000 \"${1:-f}\"; }\n"
            + "PID() { local c; for c in /proc/[0-9]*/comm; do [ \"$(<$c)\" = \"crab-$1\" ] && c=${c%/comm} && echo ${c#/proc/}; done; }\n";

    private final List<Kind> kinds;

    KindSource(List<Kind> kinds) {
        this.kinds = List.copyOf(kinds);
    }

    @Override
    public void run(Harness harness, Consumer<LabelledTurn> labelled) throws IOException {
        Arena arena = harness.arena();
        int number = 0;
        for (Kind kind : kinds) {
            String directory = "/scene/" + number++;
            harness.prepare(() -> prepare(arena, directory, kind));
            LabelledTurn turn = harness.observe(
                            kind.category(), kind.name(), () -> arena.bash(directory, PRELUDE + kind.turn()))
                    .declaredAs(kind.truth());
            labelled.accept(kind.restless() ? turn.judgedUnderFreeze() : turn);
        }
    }

    private static void prepare(Arena arena, String directory, Kind kind) throws IOException {
        arena.killSurvivors();
        arena.bash("/", "rm -rf /scene; ipcrm -a; mkdir -p " + directory);
        ExecResult before = arena.bash(directory, PRELUDE + kind.before());
        if (!before.isSuccess()) {
            throw new IOException("what comes before " + kind.name() + " failed: " + before.text());
        }
    }
}

package dev.crab.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What the commands have in common: the same facts for people or as JSON, and the data directory. */
abstract class Report implements Callable<Integer> {
    @Option(names = "--json", description = "Write one JSON document instead of text.")
    private boolean json;

    @Option(
            names = "--data",
            paramLabel = "DIR",
            description = "The data directory (default: crab.data, CRAB_DATA, /var/lib/crab).")
    private @Nullable Path data;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    boolean json() {
        return json;
    }

    PrintWriter out() {
        return spec.commandLine().getOut();
    }

    PrintWriter err() {
        return spec.commandLine().getErr();
    }

    CrabConfig config() {
        Path chosen = data;
        return CrabConfig.resolve(
                chosen == null
                        ? Map.of()
                        : Map.of(CrabConfig.DATA, chosen.toAbsolutePath().toString()));
    }

    /**
     * Does work to each of some sessions, whatever becomes of the others, and says what was done and what was refused.
     *
     * @param done the work's name, as a participle
     * @return the exit code
     */
    int toEach(List<String> sessions, String done, Consumer<String> work) {
        ObjectNode document = Json.object();
        ArrayNode worked = document.putArray(done);
        ArrayNode refused = Json.object().arrayNode();
        for (String session : sessions) {
            try {
                work.accept(session);
                worked.add(session);
                if (!json) {
                    out().println(done + " " + session);
                }
            } catch (CrabException refusal) {
                refused.add(Json.describe(refusal));
                if (!json) {
                    CrabCli.print(err(), refusal);
                }
            }
        }
        if (!refused.isEmpty()) {
            document.set("error", refused.get(0));
            document.set("errors", refused);
        }
        if (json) {
            out().println(Json.text(document));
        }
        return refused.isEmpty() ? CrabCli.DONE : CrabCli.REFUSED;
    }

    /** A runtime over the data directory, which must be there: a name mistyped is not one without sessions, and none is made by looking. */
    CrabRuntime runtime() {
        Path directory = config().data();
        if (!Files.isDirectory(directory)) {
            throw CrabException.of(
                    ErrorCode.DATA_DIRECTORY_UNUSABLE,
                    "the sessions cannot be looked at",
                    "there is no directory " + directory,
                    "name the data directory (--data, CRAB_DATA); ./crab setup or the first session makes the ordinary one");
        }
        return CrabRuntime.builder().dataDirectory(directory).build();
    }
}

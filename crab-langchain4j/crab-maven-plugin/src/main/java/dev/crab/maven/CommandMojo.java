package dev.crab.maven;

import dev.crab.cli.CrabCli;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.plugin.MojoFailureException;
import org.apache.maven.plugins.annotations.Parameter;
import org.jspecify.annotations.Nullable;

/** A command of Crab's command line as a goal. */
abstract class CommandMojo extends AbstractMojo {
    /** The data directory; {@code CRAB_DATA} or {@code /var/lib/crab} unless given. */
    @Parameter(property = "crab.data")
    private @Nullable String data;

    /** Writes one JSON document instead of text. */
    @Parameter(property = "crab.json", defaultValue = "false")
    private boolean json;

    /** The command's name. */
    abstract String command();

    @Override
    public void execute() throws MojoFailureException {
        List<String> arguments = new ArrayList<>(List.of(command()));
        if (json) {
            arguments.add("--json");
        }
        if (data != null) {
            arguments.addAll(List.of("--data", data));
        }
        // What it says is its result, and goes where a command's result goes: not through Maven's log.
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
        int status = CrabCli.run(out, err, arguments.toArray(String[]::new));
        out.flush();
        err.flush();
        if (status != 0) {
            throw new MojoFailureException("crab " + command() + " found something wrong: see above");
        }
    }
}

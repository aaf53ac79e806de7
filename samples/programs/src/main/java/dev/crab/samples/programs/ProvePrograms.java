package dev.crab.samples.programs;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code ./crab prove programs}. */
@Command(
        name = "programs",
        mixinStandardHelpOptions = true,
        description = {
            "Real programs through cycles of work, commit, crash, restore and probe; or through a rollback and branches.",
            "",
            "Exit code 0 if every program came through or was refused as its description declares for this host, else 1.",
            ""
        })
public final class ProvePrograms implements Callable<Integer> {
    private static final int KEPT_GENERATIONS = 2;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Option(
            names = "--cycles",
            paramLabel = "N",
            defaultValue = "10",
            description = "Cycles in a row for each program. Default: ${DEFAULT-VALUE}.")
    private int cycles;

    @Option(names = "--only", paramLabel = "NAME", arity = "1..*", description = "Only these programs.")
    private List<String> only = List.of();

    @Option(names = "--list", description = "List the programs and what each has only in memory; run none.")
    private boolean list;

    @Option(
            names = "--restart",
            description =
                    "Try the probes instead: start each program again in place of restoring it. A probe that does not"
                            + " notice fails.")
    private boolean restart;

    @Option(
            names = "--branches",
            paramLabel = "N",
            description = {
                "In place of the cycles: go back from a later turn, then on in N branches that are open at once, each by"
                        + " as many cycles as its number says, with a file and a server on one port of its own; each must have"
                        + " exactly its own, and a fresh start must not answer as they do."
            })
    private @Nullable Integer branches;

    @Option(
            names = "--packages",
            description = "Print the packages that an image for the programs has to have, comma-separated; run none.")
    private boolean packages;

    @Option(
            names = "--image",
            paramLabel = "ROOTFS",
            description =
                    "The sandboxes' root file system. Default: an image with the packages, made the first time, or Crab's"
                            + " own where that will do.")
    private @Nullable Path image;

    @Option(names = "--json", paramLabel = "FILE", description = "Write the result there, too, as JSON.")
    private @Nullable Path json;

    @Option(
            names = "--data",
            paramLabel = "DIR",
            description = "The data directory. Default: CRAB_DATA, else /var/lib/crab.")
    private @Nullable Path data;

    private final PrintStream out;

    ProvePrograms(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] arguments) {
        System.exit(run(System.out, System.err, arguments));
    }

    /** The command, with its streams given; answers with the exit code. */
    static int run(PrintStream out, PrintStream err, String... arguments) {
        return new CommandLine(new ProvePrograms(out))
                .setOut(new PrintWriter(out, true, StandardCharsets.UTF_8))
                .setErr(new PrintWriter(err, true, StandardCharsets.UTF_8))
                .setExecutionExceptionHandler((failure, commandLine, parsed) -> {
                    err.println("programs: " + CrabException.reason(failure));
                    return 1;
                })
                .execute(arguments);
    }

    @Override
    public Integer call() throws IOException {
        if (cycles < 1) {
            throw new ParameterException(spec.commandLine(), "--cycles must be at least 1");
        }
        if (branches != null && (branches < 2 || restart)) {
            throw new ParameterException(
                    spec.commandLine(),
                    restart ? "--branches and --restart exclude each other" : "--branches must be at least 2");
        }
        List<Program> all = Catalogue.load();
        List<Program> chosen = chosen(all);
        if (packages) {
            boolean needed = image == null
                    && !list
                    && chosen.stream().anyMatch(program -> !program.packages().isEmpty());
            out.println(needed ? packages(all) : "");
            return 0;
        }
        if (list) {
            chosen.forEach(program -> out.printf("%-22s %s%n", program.name(), program.memory()));
            return 0;
        }
        if (data != null) {
            System.setProperty("crab.data", data.toAbsolutePath().toString());
        }
        SandboxSpec sandbox = SandboxSpec.defaults();
        if (image != null) {
            sandbox = sandbox.withImage(new SandboxImage.Directory(image.toAbsolutePath()));
        }
        try (CrabRuntime runtime =
                CrabRuntime.builder().keepGenerations(KEPT_GENERATIONS).build()) {
            if (restart) {
                return restart(runtime, sandbox, chosen);
            }
            return branches == null ? prove(runtime, sandbox, chosen) : prove(runtime, sandbox, chosen, branches);
        }
    }

    private int prove(CrabRuntime runtime, SandboxSpec sandbox, List<Program> programs) throws IOException {
        List<Row> rows = new ArrayList<>();
        say(Report.HEAD);
        for (Program program : programs) {
            Row row = new Trial(runtime, sandbox, program).cycles(cycles);
            rows.add(row);
            say(Report.line(row, cycles));
        }
        return end(rows, () -> Report.json(rows, cycles));
    }

    private int prove(CrabRuntime runtime, SandboxSpec sandbox, List<Program> programs, int count) throws IOException {
        List<BranchRow> rows = new ArrayList<>();
        say(Report.BRANCH_HEAD);
        for (Program program : programs) {
            BranchRow row = new BranchTrial(runtime, sandbox, program).branches(count);
            rows.add(row);
            say(Report.line(row, count));
        }
        return end(rows, () -> Report.branchJson(rows, count));
    }

    private void say(String line) {
        out.println(line);
        out.flush();
    }

    private int end(List<? extends Result> results, Supplier<String> asJson) throws IOException {
        say("\n" + Report.summary(results));
        if (json != null) {
            Files.writeString(json, asJson.get() + "\n");
        }
        return Report.count(results, Result.Verdict.FAILED) == 0 ? 0 : 1;
    }

    private int restart(CrabRuntime runtime, SandboxSpec sandbox, List<Program> programs) {
        int failed = 0;
        for (Program program : programs) {
            String line;
            try {
                line = "notices: " + new Trial(runtime, sandbox, program).restart();
            } catch (TrialFailure | CrabException e) {
                failed++;
                line = "FAILED: " + e.getMessage();
            }
            out.printf("%-22s %s%n", program.name(), line.replace("\n", "\n    "));
            out.flush();
        }
        out.printf("%n%d programs: %d probes notice, %d failed%n", programs.size(), programs.size() - failed, failed);
        return failed == 0 ? 0 : 1;
    }

    private List<Program> chosen(List<Program> all) {
        for (String name : only) {
            if (all.stream().noneMatch(program -> program.name().equals(name))) {
                throw new ParameterException(spec.commandLine(), "no program is named " + name + "; --list names them");
            }
        }
        return only.isEmpty()
                ? all
                : all.stream().filter(program -> only.contains(program.name())).toList();
    }

    private static String packages(List<Program> programs) {
        return programs.stream()
                .flatMap(program -> program.packages().stream())
                .distinct()
                .sorted()
                .collect(Collectors.joining(","));
    }
}

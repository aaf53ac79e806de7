package dev.crab.maven;

import dev.crab.cli.Supervisor;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.maven.artifact.DependencyResolutionRequiredException;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugin.MojoFailureException;
import org.apache.maven.plugins.annotations.Execute;
import org.apache.maven.plugins.annotations.LifecyclePhase;
import org.apache.maven.plugins.annotations.Mojo;
import org.apache.maven.plugins.annotations.Parameter;
import org.apache.maven.plugins.annotations.ResolutionScope;
import org.apache.maven.project.MavenProject;
import org.jspecify.annotations.Nullable;

/**
 * Runs the agent's main class from the project's runtime class path in a JVM of its own, and starts it again after a crash, so that it goes
 * on from its last committed turn. SIGTERM and SIGINT reach that JVM, which commits what its open turn did so far and leaves; it is not
 * started again then; nor is one that ends with status 78, as it does when its {@code main} ends with a refusal of Crab's that no restart
 * mends (a missing image, say). If Maven itself is killed (SIGKILL), that JVM gets SIGTERM.
 */
@Mojo(name = "run", requiresDependencyResolution = ResolutionScope.RUNTIME)
@Execute(phase = LifecyclePhase.PROCESS_CLASSES)
public final class RunMojo extends AbstractMojo {
    /** The class with the agent's {@code main}. */
    @Parameter(property = "crab.mainClass", required = true)
    @SuppressWarnings("NullAway.Init")
    private String mainClass;

    /** Arguments of {@code main}. */
    @Parameter
    private List<String> arguments = List.of();

    /** As {@link #arguments}, on the command line: separated by blanks, none inside an argument. Added behind. */
    @Parameter(property = "crab.arguments")
    private @Nullable String commandLineArguments;

    /** The agent's data directory; {@code CRAB_DATA} or {@code /var/lib/crab} unless given. */
    @Parameter(property = "crab.data")
    private @Nullable String data;

    /** Arguments of the JVM, such as {@code -Xmx1g}. */
    @Parameter
    private List<String> jvmArguments = List.of();

    /** As {@link #jvmArguments}, on the command line: separated by blanks, none inside an argument. Added behind. */
    @Parameter(property = "crab.jvmArguments")
    private @Nullable String commandLineJvmArguments;

    /** How many crashes in a row are followed by a restart; one after five minutes of work counts as the first. */
    @Parameter(property = "crab.maxRestarts", defaultValue = "10")
    private int maxRestarts;

    /** Milliseconds before the first restart; doubled with each further crash in a row, up to a minute. */
    @Parameter(property = "crab.backoff", defaultValue = "1000")
    private long backoff;

    /** Seconds that the agent has after SIGTERM to commit its turn, before it is killed. */
    @Parameter(property = "crab.grace", defaultValue = "60")
    private long grace;

    /** Environment variables of the agent beside Maven's own. */
    @Parameter
    private Map<String, String> environment = Map.of();

    @Parameter(defaultValue = "${project}", readonly = true, required = true)
    @SuppressWarnings("NullAway.Init")
    private MavenProject project;

    @Override
    public void execute() throws MojoExecutionException, MojoFailureException {
        Duration first = Duration.ofMillis(backoff);
        Duration minute = Duration.ofMinutes(1);
        Supervisor supervisor = Supervisor.builder(command())
                .directory(project.getBasedir())
                .environment(environment)
                .endsWithParent()
                .maxRestarts(maxRestarts)
                .pause(first, first.compareTo(minute) > 0 ? first : minute)
                .grace(Duration.ofSeconds(grace))
                .log(line -> getLog().info(mainClass + " " + line))
                .build();
        // Maven itself does not look after SIGTERM and SIGINT: its JVM ends, and this hook runs.
        Thread hook = new Thread(supervisor::stop, "crab-run-stop");
        Runtime.getRuntime().addShutdownHook(hook);
        Supervisor.Outcome outcome;
        try {
            outcome = supervisor.run();
        } catch (IOException e) {
            throw new MojoExecutionException("The agent's JVM cannot be started: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MojoExecutionException("Interrupted; the agent's JVM was ended", e);
        } finally {
            remove(hook);
        }
        if (!outcome.isDone() && !outcome.stopped()) {
            throw new MojoFailureException(
                    mainClass + " ended with status " + outcome.status() + " after " + outcome.starts()
                            + " starts. What it committed is kept: mend the cause, run it again and it goes on");
        }
    }

    private static void remove(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM ends already, and the hook runs.
        }
    }

    private List<String> command() throws MojoExecutionException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-Dcrab.supervised=true");
        if (data != null) {
            command.add("-Dcrab.data=" + data);
        }
        command.addAll(jvmArguments);
        command.addAll(words(commandLineJvmArguments));
        try {
            command.addAll(List.of("-cp", String.join(File.pathSeparator, project.getRuntimeClasspathElements())));
        } catch (DependencyResolutionRequiredException e) {
            throw new MojoExecutionException("The project's class path is not known", e);
        }
        command.add(mainClass);
        command.addAll(arguments);
        command.addAll(words(commandLineArguments));
        return command;
    }

    private static List<String> words(@Nullable String line) {
        return line == null || line.isBlank() ? List.of() : List.of(line.strip().split("\\s+", -1));
    }
}

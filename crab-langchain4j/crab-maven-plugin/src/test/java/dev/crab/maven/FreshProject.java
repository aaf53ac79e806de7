package dev.crab.maven;

import dev.crab.runtime.snapshot.Snapshotters;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * A project that is not this one, in a directory of its own, and a local repository of its own into which the artifacts just built are
 * installed. What these need of others comes from the repository that built them, and where that lacks something, from where Maven
 * ordinarily gets it.
 */
final class FreshProject implements AutoCloseable {
    static final String VERSION = "0.1.0-SNAPSHOT";

    private final Path directory;
    private final Path project;
    private final Path data;

    FreshProject(String model) throws IOException {
        directory = Files.createTempDirectory("crab-maven-test");
        project = directory.resolve("project");
        data = directory.resolve("data");
        install();
        Files.writeString(directory.resolve("settings.xml"), settings());
        Map<String, String> values =
                new HashMap<>(Map.of("crab", VERSION, "model", model, "data", data.toString(), "image", image()));
        for (String version : System.getProperty("crab.test.versions").split(" ", -1)) {
            values.put(version.substring(0, version.indexOf('=')), version.substring(version.indexOf('=') + 1));
        }
        for (String file : List.of("pom.xml", "src/main/java/agent/Agent.java")) {
            String text;
            try (InputStream in = FreshProject.class.getResourceAsStream("/fresh-project/" + file)) {
                text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            }
            for (Map.Entry<String, String> value : values.entrySet()) {
                text = text.replace("@" + value.getKey() + "@", value.getValue());
            }
            Path target = project.resolve(file);
            Files.createDirectories(target.getParent());
            Files.writeString(target, text);
        }
    }

    private static String image() {
        String home = Optional.ofNullable(System.getenv("CRAB_DATA")).orElse("/var/lib/crab");
        return Path.of(home, "images", "debian").toString();
    }

    Path data() {
        return data;
    }

    String read(String file) throws IOException {
        return Files.readString(project.resolve(file));
    }

    boolean holds(String file, String text) {
        try {
            return Files.exists(project.resolve(file)) && read(file).contains(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts Maven; what it says, and the agent it starts, goes into the file. */
    Process maven(String log, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("crab.test.maven"), "bin", "mvn").toString(),
                "-B",
                "-ntp",
                "-s",
                directory.resolve("settings.xml").toString(),
                "-Dmaven.repo.local=" + directory.resolve("repository")));
        command.addAll(Arrays.asList(arguments));
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(project.toFile())
                .redirectErrorStream(true)
                .redirectOutput(project.resolve(log).toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("MAVEN_"));
        builder.environment().put("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        return builder.start();
    }

    private static String settings() {
        String repository = "<id>%s</id><url>%s</url>";
        String cache = repository.formatted(
                "built-from",
                Path.of(System.getProperty("crab.test.repository")).toUri());
        return """
                <settings>
                  <profiles>
                    <profile>
                      <id>built-from</id>
                      <repositories><repository>%1$s</repository></repositories>
                      <pluginRepositories><pluginRepository>%1$s</pluginRepository></pluginRepositories>
                    </profile>
                  </profiles>
                  <activeProfiles><activeProfile>built-from</activeProfile></activeProfiles>
                </settings>
                """.formatted(
                        cache.replace(
                                "</url>",
                                "</url><releases><checksumPolicy>ignore</checksumPolicy></releases><snapshots><enabled>false</enabled></snapshots>"));
    }

    /** What {@code mvn install} does with each of our artifacts, found as this test itself was given them. */
    private void install() throws IOException {
        List<Path> jars = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(":", -1)) {
            if (entry.matches(".*/crab-[a-z0-9-]+-" + VERSION + "\\.jar")) {
                jars.add(Path.of(entry));
            }
        }
        for (Path jar : jars) {
            try (JarFile content = new JarFile(jar.toFile())) {
                JarEntry pom = content.stream()
                        .filter(entry -> entry.getName().matches("META-INF/maven/dev\\.crab/[^/]+/pom\\.xml"))
                        .findFirst()
                        .orElseThrow(() -> new IllegalStateException("no pom in " + jar));
                String artifact = pom.getName().split("/", -1)[3];
                try (InputStream in = content.getInputStream(pom)) {
                    Files.write(installed(artifact, "pom"), in.readAllBytes());
                }
                Files.copy(jar, installed(artifact, "jar"));
            }
        }
        Path root = Path.of("..", "..").toAbsolutePath().normalize();
        Files.copy(root.resolve("pom.xml"), installed("crab-parent", "pom"));
        Files.copy(root.resolve("crab-langchain4j/pom.xml"), installed("crab-langchain4j-parent", "pom"));
    }

    private Path installed(String artifact, String kind) throws IOException {
        Path at = directory.resolve("repository/dev/crab").resolve(artifact).resolve(VERSION);
        Files.createDirectories(at);
        return at.resolve(artifact + "-" + VERSION + "." + kind);
    }

    @Override
    public void close() {
        Snapshotters.release(data);
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.service.AiServiceContext;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.spi.services.AiServiceContextFactory;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Class paths on which AI services would go unprotected, each in a JVM of its own: the error comes at the start and says what to do. */
class GuardsTest {
    @TempDir
    Path directory;

    interface Service {
        String chat(String text);
    }

    interface Later {
        CompletableFuture<String> chat(String text);
    }

    /** Another library's. */
    public static final class OtherFactory implements AiServiceContextFactory {
        @Override
        public AiServiceContext create(Class<?> aiServiceClass) {
            return new AiServiceContext(aiServiceClass) {};
        }
    }

    /** A program's start: the argument says which. */
    public static final class Program {
        private Program() {}

        public static void main(String[] arguments) {
            Object made = switch (arguments[0]) {
                case "sandbox" -> Crab.sandbox("guarded");
                case "service" -> AiServices.builder(Service.class);
                default -> AiServices.builder(Later.class);
            };
            System.out.println("went on with " + made.getClass().getSimpleName());
        }
    }

    private static List<String> classPath() {
        return Arrays.asList(System.getProperty("java.class.path").split(File.pathSeparator, -1));
    }

    private String run(List<String> classPath, String start, String... properties) throws Exception {
        List<String> command = Stream.of(
                        List.of(ProcessHandle.current().info().command().orElse("java"), "-XX:TieredStopAtLevel=1"),
                        Arrays.asList(properties),
                        List.of("-cp", String.join(File.pathSeparator, classPath), Program.class.getName(), start))
                .flatMap(List::stream)
                .toList();
        Path said = directory.resolve("said");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return Files.readString(said, StandardCharsets.UTF_8);
    }

    private List<String> before(String resource, String content) throws IOException {
        Path file = directory.resolve("before").resolve(resource);
        Files.createDirectories(file.getParent());
        Files.writeString(file, content);
        return Stream.concat(Stream.of(directory.resolve("before").toString()), classPath().stream())
                .toList();
    }

    private List<String> version(String version) throws IOException {
        return before("META-INF/maven/dev.langchain4j/langchain4j/pom.properties", "version=" + version + "\n");
    }

    @Test
    void ordinaryClassPath_goesOn() throws Exception {
        assertThat(run(classPath(), "sandbox")).contains("went on with SandboxHandle");
        assertThat(run(classPath(), "later")).contains("went on");
    }

    @Test
    void otherFactoryFirst_isRefusedAtTheFirstUse() throws Exception {
        List<String> path =
                before("META-INF/services/" + AiServiceContextFactory.class.getName(), OtherFactory.class.getName());

        assertThat(run(path, "sandbox"))
                .doesNotContain("went on")
                .contains("INTERCEPTOR_INACTIVE", OtherFactory.class.getName(), "take that library off the class path");
        assertThat(run(path, "sandbox", "-Dcrab.enabled=false")).contains("went on");
    }

    @Test
    void langChain4jTooOld_isRefusedBeforeAnythingFailsToLink() throws Exception {
        Path old = Path.of("target", "langchain4j-too-old");
        try (Stream<Path> jars = Files.list(old)) {
            List<String> path = Stream.concat(
                            jars.map(Path::toString),
                            classPath().stream()
                                    .filter(entry -> !entry.matches(".*/langchain4j(-core)?-[0-9.]+\\.jar")))
                    .collect(Collectors.toList());

            for (String start : List.of("sandbox", "service")) {
                assertThat(run(path, start))
                        .doesNotContain("went on", "NoClassDefFoundError", "NoSuchMethodError")
                        .contains(
                                "FRAMEWORK_UNSUPPORTED",
                                "LangChain4j 1.",
                                "use LangChain4j 1." + Framework.OLDEST_MINOR);
            }
            assertThat(run(path, "service", "-Dcrab.enabled=false")).contains("went on");
        }
    }

    @Test
    void langChain4jNewer_warnsAndRefusesAsynchronousServices() throws Exception {
        List<String> path = version("1." + (Framework.NEWEST_MINOR + 1) + ".0");

        assertThat(run(path, "service")).contains("newer than what Crab was tested with", "went on");
        assertThat(run(path, "later"))
                .doesNotContain("went on")
                .contains("FRAMEWORK_UNSUPPORTED", "CompletableFuture", "let it return the answer itself");
    }

    @Test
    void versions_areReadByTheirNumbers() {
        assertThat(Framework.refusal("0.36.2")).isNotNull();
        assertThat(Framework.refusal("1." + (Framework.OLDEST_MINOR - 1) + ".9"))
                .isNotNull();
        for (String fine : Arrays.asList("1." + Framework.OLDEST_MINOR + ".0", "2.0.0-SNAPSHOT", "unknown", null)) {
            assertThat(Framework.refusal(fine)).as(fine).isNull();
        }
        assertThat(Framework.isNewer("2.0.0-SNAPSHOT")).isTrue();
        assertThat(Framework.isNewer("1." + Framework.NEWEST_MINOR + ".9")).isFalse();
    }
}

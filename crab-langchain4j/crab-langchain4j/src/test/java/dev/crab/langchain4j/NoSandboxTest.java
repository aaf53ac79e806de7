package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Crab where it can have no sandbox: a JVM that really runs as a normal user, and one that is told it is not on Linux. */
class NoSandboxTest {
    private static final int NOBODY = 65534;

    private static Path classes;
    private static String classPath;

    private Path home;
    private ScriptedModel model;

    /** Copies the classes to where every user may read them, wherever they were built. */
    @BeforeAll
    static void copyClasses() throws IOException {
        classes = forAll("crab-classes");
        classPath = readable();
    }

    @AfterAll
    static void removeClasses() throws IOException {
        remove(classes);
    }

    private static Path forAll(String name) throws IOException {
        Path directory = Files.createTempDirectory(name);
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        return directory;
    }

    @BeforeEach
    void start() throws IOException {
        home = forAll("crab-nobody");
        Files.setAttribute(home, "unix:uid", NOBODY);
        model = new ScriptedModel()
                .calls(null, call("c1", "A"))
                .calls("c1", call("c2", "B"))
                .calls("c2", call("c3", "C"))
                .says("c3", "done");
    }

    private static ScriptedModel.Call call(String id, String line) {
        return new ScriptedModel.Call(id, "append", "line", line);
    }

    @AfterEach
    void stop() throws IOException {
        model.close();
        remove(home);
    }

    private static void remove(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    private static String readable() throws IOException {
        List<String> entries = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(":", -1)) {
            Path from = Path.of(entry);
            Path to = classes.resolve(entries.size() + "-" + from.getFileName());
            try (Stream<Path> files = Files.walk(from)) {
                for (Path file : (Iterable<Path>) files::iterator) {
                    Files.copy(file, to.resolve(from.relativize(file).toString()), StandardCopyOption.REPLACE_EXISTING);
                }
            }
            entries.add(to.toString());
        }
        return String.join(":", entries);
    }

    private record Life(int status, List<String> lines) {
        String said(String start) {
            return lines.stream()
                    .filter(line -> line.startsWith(start))
                    .findFirst()
                    .orElse("nothing: " + lines);
        }
    }

    private Life asNobody(String what, String... properties) throws Exception {
        List<String> command = new ArrayList<>(
                List.of("setpriv", "--reuid=" + NOBODY, "--regid=" + NOBODY, "--clear-groups", "--bounding-set=-all"));
        command.addAll(java(what, properties));
        return run(command);
    }

    private List<String> java(String what, String... properties) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-Djava.io.tmpdir=" + home,
                "-Dcrab.data=" + home.resolve("data")));
        command.addAll(List.of(properties));
        command.addAll(List.of("-cp", classPath, PlainAgent.class.getName(), model.baseUrl(), home.toString(), what));
        return command;
    }

    private Life run(List<String> command) throws Exception {
        Process process = new ProcessBuilder(command)
                .directory(home.toFile())
                .redirectErrorStream(true)
                .start();
        List<String> lines = new ArrayList<>();
        try (BufferedReader reader = process.inputReader(StandardCharsets.UTF_8)) {
            String line;
            while ((line = reader.readLine()) != null) {
                lines.add(line);
                if (line.startsWith("crab-fault ")) {
                    process.toHandle().destroyForcibly();
                }
            }
        }
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return new Life(process.exitValue(), lines);
    }

    private List<String> executions() throws IOException {
        return Files.readAllLines(home.resolve("executions"));
    }

    @Test
    void normalUser_servicesWithoutASession_runAsIfCrabWereNotThere() throws Exception {
        Life life = asNobody("unchanged");

        assertThat(life.said("support")).contains("NOT_ROOT", "cure: run");
        assertThat(life.said("answer")).isEqualTo("answer done");
        assertThat(home.resolve("data")).doesNotExist();
        assertThat(life.status()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"response.recorded@3", "tool.inside@3"})
    void normalUser_killedInASession_chatAndRecordedResultsComeBack(String point) throws Exception {
        assertThat(asNobody("chat", "-Dcrab.fault=" + point).status()).isEqualTo(137);
        int asked = model.requests().size();

        Life life = asNobody("chat");

        assertThat(life.said("answer")).isEqualTo("answer done");
        assertThat(executions().stream().distinct()).containsExactly("A", "B", "C");
        // Only the tool that was killed before its result was recorded ran again.
        assertThat(executions()).hasSize(point.startsWith("tool.inside") ? 4 : 3);
        assertThat(model.requests().size())
                .as("recorded responses are not paid for again")
                .isEqualTo(4);
        assertThat(asked).isBetween(2, 3);
    }

    @Test
    void normalUser_sandbox_isRefusedWithTheCause() throws Exception {
        Life life = asNobody("sandbox");

        assertThat(life.said("refused")).contains("NOT_ROOT", "session plain has no sandbox", "by sudo");
    }

    @Test
    void normalUser_dataDirectoryOfAnother_isRefusedWithTheCure() throws Exception {
        Life life = asNobody("chat", "-Dcrab.data=/var/lib/of-another");

        assertThat(String.join("\n", life.lines())).contains("DATA_DIRECTORY_UNUSABLE", "set crab.data");
    }

    @Test
    void otherSystem_saysSo() throws Exception {
        Life session = run(java("sandbox", "-Dos.name=Mac OS X"));
        assertThat(session.said("support")).contains("PLATFORM_UNSUPPORTED", "run it on x86-64 Linux");
        assertThat(String.join("\n", session.lines()))
                .contains("CrabException: PLATFORM_UNSUPPORTED", "this is Mac OS X", "run it on Linux");
    }
}

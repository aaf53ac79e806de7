package dev.crab.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.CrabSupport;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.snapshot.Snapshotters;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.FileObjectStore;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The commands on a data directory in which a real session has committed two turns. */
class CrabCliTest {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private static Path data;

    private record Answer(int status, String out, String err) {
        JsonNode json() {
            try {
                return MAPPER.readTree(out);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @BeforeAll
    static void commitTwoTurns() throws IOException {
        data = Files.createTempDirectory("crab-cli-test");
        ObjectNode position = JsonNodeFactory.instance.objectNode();
        Path images = Path.of(
                Optional.ofNullable(System.getProperty("crab.data"))
                        .or(() -> Optional.ofNullable(System.getenv("CRAB_DATA")))
                        .orElse("/var/lib/crab"),
                "images",
                "debian");
        SandboxSpec spec = SandboxSpec.defaults().withImage(new SandboxImage.Directory(images));
        try (CrabRuntime runtime = CrabRuntime.builder().dataDirectory(data).build();
                SandboxSession session = runtime.open("one", spec)) {
            Turn first = session.beginTurn();
            session.sandbox()
                    .exec(
                            "setsid sleep infinity >/dev/null 2>&1 </dev/null & until grep -q sleep /proc/$!/comm; do sleep 0.01; done");
            first.commit(position);
            session.beginTurn().commit(position);
        }
    }

    @AfterAll
    static void remove() throws IOException {
        Snapshotters.release(data);
        try (Stream<Path> files = Files.walk(data)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    private static Answer crab(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int status = CrabCli.run(new PrintWriter(out, true), new PrintWriter(err, true), arguments);
        return new Answer(status, out.toString(), err.toString());
    }

    private static String stateOf(String session) {
        for (JsonNode one : crab("sessions", "--json", here()).json().path("sessions")) {
            if (one.path("session").asText().equals(session)) {
                return one.path("state").asText();
            }
        }
        return "";
    }

    private static String here() {
        return "--data=" + data;
    }

    @Test
    void sessions_listsThemAsTextAndAsJson() {
        Answer text = crab("sessions", here());
        assertThat(text.status()).isZero();
        assertThat(text.out().lines().toList().get(1)).matches("one +2 +1 +\\S+ +- +ok");
        JsonNode json = crab("sessions", "--json", here()).json();
        assertThat(json.path("sessions").size()).isEqualTo(1);
        assertThat(json.path("sessions").path(0).path("turns").asInt()).isEqualTo(2);
    }

    /** As a session leaves it that was opened where there could be no sandbox. */
    private static void makeChat(String name) {
        Path directory = new DataDirectory(data).makeChat(name);
        try (FileJournal journal = FileJournal.open(directory)) {
            journal.append(
                    "commit",
                    MAPPER.createObjectNode().put("version", 1).put("turn", 1).put("at", 1_800_000_000_000L));
        }
    }

    @Test
    void chatOnlySessions_areListedCollectedOnceLeftBehindAndDeleted() {
        makeChat("one"); // there is a session of that name with a sandbox
        makeChat("talk");

        Answer listed = crab("sessions", here());
        assertThat(listed.status()).isZero();
        assertThat(listed.out().lines())
                .anyMatch(line -> line.matches("talk +1 +- +2027-\\S+ +- +chat only *"))
                .anyMatch(line -> line.matches("one +1 +- +\\S+ +- +chat only, left behind *"));
        JsonNode entry =
                crab("sessions", "--json", here()).json().path("sessions").path(2);
        assertThat(entry.path("session").asText()).isEqualTo("talk");
        assertThat(entry.path("chatOnly").asBoolean()).isTrue();

        assertThat(crab("gc", "--dry-run", here()).out()).containsPattern("one +chat +chat");
        assertThat(new DataDirectory(data).chats()).containsExactly("one", "talk");
        assertThat(crab("gc", here()).status()).isZero();
        assertThat(new DataDirectory(data).chats()).containsExactly("talk");

        // What can be done is done and told, whatever stands before it.
        assertThat(crab("delete", "nope", "talk", here())).satisfies(answer -> {
            assertThat(answer.status()).isEqualTo(1);
            assertThat(answer.out()).isEqualTo("deleted talk\n");
            assertThat(answer.err()).startsWith("SESSION_UNKNOWN");
        });
        assertThat(new DataDirectory(data).chats()).isEmpty();
        JsonNode refused = crab("delete", "nope", "no", "--json", here()).json();
        assertThat(refused.path("deleted")).isEmpty();
        assertThat(refused.path("errors")).hasSize(2);
        assertThat(refused.path("error").path("code").asText()).isEqualTo("SESSION_UNKNOWN");
        assertThat(crab("delete", "talk", here()).err()).contains("SESSION_UNKNOWN");
    }

    @Test
    void missingDataDirectory_isRefusedAndNotMade() {
        Path missing = data.resolve("mistyped");
        for (String command : List.of(
                "sessions",
                "verify",
                "gc",
                "show one",
                "rollback one 1",
                "branch one 1",
                "diff one 1 2",
                "label one 1 name",
                "timeline one",
                "stop one",
                "delete one")) {
            String[] words = (command + " --data=" + missing).split(" ", -1);
            assertThat(crab(words)).as(command).satisfies(answer -> {
                assertThat(answer.status()).isEqualTo(1);
                assertThat(answer.err()).startsWith("DATA_DIRECTORY_UNUSABLE").contains(missing.toString());
            });
        }
        assertThat(missing).doesNotExist();
    }

    @Test
    void show_tellsTurnsAndProcesses() {
        Answer text = crab("show", "one", here());
        assertThat(text.status()).isZero();
        assertThat(text.out()).contains("PROCESSES_AND_FILES", "NOTHING", "sleep", "KEPT");
        JsonNode json = crab("show", "one", "--json", here()).json();
        assertThat(json.path("turns").size()).isEqualTo(2);
        assertThat(json.path("turns").path(0).path("saved").asText()).isEqualTo("PROCESSES_AND_FILES");
        assertThat(json.path("turns").findValuesAsText("kept")).containsExactly("true", "true");
        assertThat(json.path("processes").findValuesAsText("comm")).contains("sleep");
    }

    @Test
    void branchedSession_goesBackAndIsCompared() {
        Answer made = crab("branch", "one", "2", "twig", "twig2", here());
        assertThat(made.status()).as(made.err()).isZero();
        assertThat(made.out()).contains("twig begins at turn 2 of one", "twig2 begins");
        try {
            assertThat(crab("show", "twig", here()).out()).contains("begun at turn 2 of one");
            assertThat(crab("branch", "one", "1", "twig", here()))
                    .satisfies(taken -> assertThat(taken.err()).startsWith("NAME_TAKEN"));
            label();
            JsonNode diff = crab("diff", "twig", "0", "1", "--json", here()).json();
            assertThat(diff.path("born").findValuesAsText("comm")).containsExactly("sleep");
            assertThat(crab("diff", "twig", "1", "2", here()).out()).contains("0 files, 0 processes born, 0 gone");
            JsonNode back = crab("rollback", "twig", "1", "--note", "why", "--json", here())
                    .json();
            assertThat(back.path("voidTurns").asInt()).isEqualTo(1);
            assertThat(crab("show", "twig", "--json", here()).json().path("turns"))
                    .hasSize(1);
            assertThat(crab("verify", "twig", "twig2", here()).status()).isZero();
            assertThat(crab("rollback", "twig", "5", here()).err()).startsWith("TURN_UNKNOWN");
            assertThat(crab("rollback", "twig", "no such label", here()).err()).startsWith("TURN_UNKNOWN");
            JsonNode counted = crab("branch", "twig", "1", "--count", "2", "--json", here())
                    .json();
            assertThat(counted.path("branches").toString()).isEqualTo("[\"twig-b1\",\"twig-b2\"]");
            assertThat(crab("delete", "twig-b1", "twig-b2", here()).status()).isZero();
        } finally {
            crab("delete", "twig", "twig2", here());
        }
    }

    private void label() {
        assertThat(crab("label", "twig2", "1", "here", here()).out()).contains("turn 1 of twig2 is \"here\"");
        assertThat(crab("show", "twig2", here()).out().lines().toList().get(1)).endsWith("here");
        assertThat(crab("show", "twig2", "--json", here())
                        .json()
                        .path("turns")
                        .path(0)
                        .path("label")
                        .asText())
                .isEqualTo("here");
        assertThat(crab("diff", "twig2", "here", "2", here()).out()).contains("0 files");
        for (String refused : List.of("0 x", "7 x", "nowhere x")) {
            String[] words = refused.split(" ", -1);
            assertThat(crab("label", "twig2", words[0], words[1], here()).err()).startsWith("TURN_UNKNOWN");
        }
        assertThat(crab("label", "twig2", "1", "17", here()).err()).startsWith("NAME_INVALID");
        assertThat(crab("label", "twig2", "1", here()).status()).isEqualTo(2);
        JsonNode taken =
                crab("label", "twig2", "here", "--remove", "--json", here()).json();
        assertThat(taken.path("turn").asInt()).isEqualTo(1);
        assertThat(taken.path("label").isNull()).isTrue();
        assertThat(crab("rollback", "twig2", "here", here()).err()).startsWith("TURN_UNKNOWN");
    }

    @Test
    void timeline_tellsWhenAndWhy_evenOfASessionWithoutReports() throws IOException {
        Path page = data.resolve("page.html");
        Answer text = crab("timeline", "one", "--html", page.toString(), here());
        assertThat(text.status()).isZero();
        assertThat(text.out().lines().toList().get(1)).matches("1 +0\\.0 .*(PROCESSES|FULL) +PROCESSES_AND_FILES .*");
        assertThat(text.out()).contains("2 turns, ");
        assertThat(Files.readString(page)).contains("\"committedMillis\"").doesNotContain("/*DATA*/", "/*CHART*/");
        Files.delete(page);
        JsonNode json = crab("timeline", "one", "--json", here()).json();
        assertThat(json.path("turns").size()).isEqualTo(2);
        JsonNode second = json.path("turns").path(1);
        assertThat(second.path("saved").asText()).isEqualTo("NOTHING");
        assertThat(second.path("committedMillis").asLong())
                .isGreaterThan(
                        json.path("turns").path(0).path("committedMillis").asLong());
        assertThat(crab("timeline", "one", "--html", "/nowhere/page.html", here())
                        .err())
                .startsWith("IO_FAILED");
    }

    @Test
    void verify_findsWhatIsDamagedAndNamesIt() throws IOException {
        assertThat(crab("verify", here()).out()).endsWith("5 checked, 0 damaged\n");
        Path manifest = data.resolve("sessions/one/manifests/1.json");
        byte[] intact = Files.readAllBytes(manifest);
        byte[] damaged = intact.clone();
        damaged[intact.length / 2] ^= 1;
        Files.write(manifest, damaged);
        Answer text = crab("verify", "one", here());
        Answer json = crab("verify", "--json", here());
        Files.write(manifest, intact);
        assertThat(text.status()).isEqualTo(1);
        assertThat(text.out()).contains("MANIFEST_CORRUPT").contains(manifest.toString());
        assertThat(json.status()).isEqualTo(1);
        assertThat(json.json().path("damaged").asInt()).isEqualTo(1);
        assertThat(crab("verify", here()).status()).isZero();
    }

    @Test
    void stop_endsWhatAKilledProgramLeftAndDelete_removesTheSession() throws IOException, InterruptedException {
        Path image = Path.of(CrabRuntime.builder().build().config().data().toString(), "images", "debian");
        Process killed = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        LeavesASandbox.class.getName(),
                        data.toString(),
                        "two",
                        image.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        long left = Long.parseLong(killed.inputReader().readLine());
        assertThat(crab("stop", "two", here())).satisfies(answer -> {
            assertThat(answer.status()).isEqualTo(1);
            assertThat(answer.err()).startsWith("SESSION_LOCKED");
        });
        assertThat(stateOf("two")).isEqualTo("open");
        killed.destroyForcibly().waitFor();
        assertThat(commandLine(left)).contains("crab-init");
        assertThat(stateOf("two")).isEqualTo("left running");

        assertThat(crab("stop", "two", here()).out()).isEqualTo("stopped two\n");
        assertThat(commandLine(left)).isEmpty();
        assertThat(crab("sessions", here()).out()).contains("two ");
        assertThat(stateOf("two")).isEqualTo("ok");

        assertThat(crab("delete", "two", "--json", here())
                        .json()
                        .path("deleted")
                        .path(0)
                        .asText())
                .isEqualTo("two");
        assertThat(crab("sessions", here()).out()).doesNotContain("two ");
        assertThat(crab("delete", "two", here()).err()).startsWith("SESSION_UNKNOWN");
    }

    /** Empty if the process has ended, reaped or not. */
    private static String commandLine(long pid) throws IOException {
        try {
            return Files.readString(Path.of("/proc/" + pid + "/cmdline"));
        } catch (NoSuchFileException e) {
            return "";
        }
    }

    @Test
    void gc_saysWhatWouldGoAndFreesIt() {
        new FileObjectStore(new DataDirectory(data)).write("one.g7.dump", out -> out.write(new byte[1234]));
        Answer dry = crab("gc", "--dry-run", here());
        assertThat(dry.status()).isZero();
        assertThat(dry.out()).contains("one.g7.dump").endsWith("1 would go, 1234 bytes beside what snapshots hold\n");
        JsonNode json = crab("gc", "--json", here()).json();
        assertThat(json.path("bytes").asInt()).isEqualTo(1234);
        assertThat(json.path("garbage").path(0).path("kind").asText()).isEqualTo("object");
        assertThat(crab("gc", here()).out()).isEqualTo("0 gone, 0 bytes beside what snapshots hold\n");
        assertThat(crab("verify", here()).status()).isZero();
    }

    @Test
    void unknownSession_isATypedRefusal() {
        Answer text = crab("show", "nobody", here());
        assertThat(text.status()).isEqualTo(1);
        assertThat(text.out()).isEmpty();
        assertThat(text.err()).startsWith("SESSION_UNKNOWN: ").contains("cure: ");
        Answer json = crab("show", "nobody", "--json", here());
        assertThat(json.status()).isEqualTo(1);
        assertThat(json.json().path("error").path("code").asText()).isEqualTo("SESSION_UNKNOWN");
    }

    @Test
    void doctor_tellsTheSameAsTheLibrary() {
        Answer text = crab("doctor", here());
        Answer json = crab("doctor", "--json", here());
        assertThat(json.json().path("checks").size())
                .isEqualTo(text.out().lines().count());
        assertThat(json.json().path("ok").asBoolean()).isEqualTo(CrabSupport.isAvailable());
        assertThat(json.status()).isEqualTo(CrabSupport.isAvailable() ? 0 : 1);
        assertThat(text.out()).contains("ok       criu");
    }

    @Test
    void doctorOfAnImpossibleDataDirectory_failsWithACure() {
        Answer answer = crab("doctor", "--json", "--data=/dev/null/crab");
        assertThat(answer.status()).isEqualTo(1);
        JsonNode check = answer.json().path("checks").path(9);
        assertThat(check.path("name").asText()).isEqualTo("data-directory");
        assertThat(check.path("status").asText()).isEqualTo("missing");
        assertThat(check.path("cure").asText()).isNotEmpty();
    }

    @Test
    void senselessCommandLine_isUsage() {
        assertThat(crab().status()).isEqualTo(2);
        assertThat(crab("nonsense").status()).isEqualTo(2);
        assertThat(crab("show").status()).isEqualTo(2);
        assertThat(crab("--help").status()).isZero();
    }
}

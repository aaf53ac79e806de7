package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.FileEntry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What needs no podman: which command lines are run, and how what is printed is read. */
class PodmanTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    Path directory;

    private void install() throws IOException {
        Path program = Files.writeString(directory.resolve("podman"), "#!/bin/sh\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
    }

    @Test
    void whereThereIsNone_theReportSaysSo_andTheOthersRun() {
        Results results = new Results(List.of("none", "podman"));

        List<String> here = Policies.here(List.of("none", "podman"), "/nowhere:" + directory, results);

        assertThat(here).containsExactly("none");
        assertThat(results.json().path("notes").toString()).contains("podman: not measured: absent");
        assertThat(String.join("\n", ReportTable.lines(results.json()))).contains("podman: not measured: absent");
        assertThat(results.isClean()).isTrue();
    }

    @Test
    void whereThereIsOne_itIsMeasuredAsTheOthersAre() throws Exception {
        install();
        Results results = new Results(List.of("none", "podman"));

        List<String> here = Policies.here(List.of("none", "podman"), "/nowhere:" + directory, results);

        assertThat(here).containsExactly("none", "podman");
        assertThat(results.json().path("notes")).isEmpty();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Policies.here(List.of("docker"), directory.toString(), results))
                .withMessageContaining("crab, podman");
    }

    /** Programs of a run that was killed may still be ending when the next one begins. */
    @Test
    void whatAnotherRunLeftIsRemoved_whileThatOneRemovesFilesOfItsOwn() throws Exception {
        Path said = Files.createDirectories(directory.resolve("podman/said"));
        List<Path> files = new ArrayList<>();
        for (int i = 0; i < 3000; i++) {
            files.add(Files.writeString(said.resolve(Integer.toString(i)), ""));
        }
        Collections.shuffle(files, new Random(1));
        CompletableFuture<Void> ending = CompletableFuture.runAsync(() -> {
            for (Path file : files) {
                try {
                    Files.deleteIfExists(file);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        });

        new Podman(directory).removeAll();

        ending.get(1, TimeUnit.MINUTES);
        assertThat(directory.resolve("podman")).doesNotExist();
    }

    @Test
    void storageAndState_areItsOwn() {
        assertThat(new Podman(directory).command(List.of("ps")))
                .containsExactly(
                        "podman",
                        "--root",
                        directory + "/podman/root",
                        "--runroot",
                        directory + "/podman/run",
                        "--storage-driver",
                        "overlay",
                        "ps");
    }

    @Test
    void configuration_hasLocksAndStateOfItsOwn_andCrabsCriuIsTheFirst() throws Exception {
        Podman podman = new Podman(directory).prepare();

        Path home = directory.resolve("podman");
        assertThat(home.resolve("containers.conf"))
                .content()
                .contains("lock_type = \"file\"", "runtime = \"runc\"", "tmp_dir = \"" + home + "/tmp\"");
        ProcessBuilder process = podman.process(List.of("ps"));
        assertThat(process.environment())
                .containsEntry("CONTAINERS_CONF", home + "/containers.conf")
                .containsEntry("PATH", home + "/bin:" + System.getenv("PATH"));
        assertThat(home.resolve("bin/criu")).isExecutable();
        podman.prepare(); // another JVM does as well
    }

    @Test
    void container_isInTheGroupAndTheNetworkOfItsName() {
        List<String> starting = new Podman(directory).starting("agent.12345678", "ground");

        assertThat(starting)
                .containsSubsequence("run", "--detach", "--name", "agent.12345678")
                .containsSubsequence("--network", "ns:" + directory + "/podman/net/agent.12345678")
                .containsSubsequence("--cgroup-parent", "/crab/agent.12345678", "ground", "/bin/bash");
    }

    @Test
    void checkpoint_leavesItRunning() {
        assertThat(Podman.checkpointing("agent", Path.of("/a.tar.zst")))
                .containsSubsequence("container", "checkpoint", "--leave-running")
                .containsSubsequence("--export", "/a.tar.zst", "agent");
    }

    @Test
    void checkpointsDurations_areThoseThatPodmanPrints() throws Exception {
        String printed = """
                {
                    "podman_checkpoint_duration": 410670,
                    "container_statistics": [
                        {
                            "Id": "e6f1c320",
                            "RawInput": "agent",
                            "runtime_checkpoint_duration": 330292,
                            "criu_statistics": {
                                "freezing_time": 102550,
                                "frozen_time": 188341
                            }
                        }
                    ]
                }
                """;

        Podman.Checkpointed checkpointed = Podman.Checkpointed.of(printed, 517_000_000);

        assertThat(checkpointed.all()).isEqualTo(517_000_000);
        assertThat(checkpointed.runtime()).isEqualTo(517_000_000 - (410_670 - 330_292) * 1000);
        assertThat(checkpointed.frozen()).isEqualTo(188_341_000);
    }

    @Test
    void command_runsWithItsDirectoryEnvironmentAndLimit() {
        ExecRequest request = ExecRequest.of("/bin/bash", "-c", "echo a; echo b")
                .withWorkingDirectory("/srv/a b")
                .withEnvironment("HOME", "/home/x y")
                .withTimeout(Duration.ofMillis(1500));

        List<String> command = PodmanSandbox.executing("agent", request);

        assertThat(command).startsWith("exec", "--workdir", "/srv/a b", "--env", "HOME=/home/x y");
        assertThat(command)
                .endsWith("agent", "/usr/bin/timeout", "--signal=KILL", "1.5s", "/bin/bash", "-c", "echo a; echo b");
        assertThat(command).doesNotContain("--interactive");
        assertThat(PodmanSandbox.executing(
                        "agent", request.withInput(new byte[1]).withTimeout(null)))
                .contains("--interactive")
                .endsWith("agent", "/bin/bash", "-c", "echo a; echo b");
    }

    @Test
    void directoryEntries_areRead() {
        assertThat(PodmanSandbox.entry("f 12 a b")).isEqualTo(new FileEntry("a b", FileEntry.Type.FILE, 12));
        assertThat(PodmanSandbox.entry("d 4096 d")).isEqualTo(new FileEntry("d", FileEntry.Type.DIRECTORY, 0));
        assertThat(PodmanSandbox.entry("l 3 l")).isEqualTo(new FileEntry("l", FileEntry.Type.SYMLINK, 0));
        assertThat(PodmanSandbox.entry("p 0 p")).isEqualTo(new FileEntry("p", FileEntry.Type.OTHER, 0));
    }
}

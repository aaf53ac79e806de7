package dev.crab.runtime.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Paths of more bytes than the kernel takes at once: they are made step by step, as a sandbox makes them. */
class RootedTreeTest {
    private static final int ALL = 10_000;

    @TempDir
    private Path root;

    @AfterEach
    void remove() throws Exception {
        shell("rm -rf -- *"); // too long for what removes the test's directory
    }

    @ParameterizedTest
    @ValueSource(ints = {4_094, 4_095, 4_096, 4_097, 5_000, 8_190, 8_191, 8_192, 20_000, 100_000})
    void longPath_isReadLikeEveryOther(int length) throws Exception {
        String directory = nested(length - "/file".length());
        inside(directory, "echo deep > file; ln -s elsewhere link; chmod 640 file");
        String file = directory + "/file";
        assertThat(file).hasSize(length);
        FileTree.walk(root, entry -> {
            if (entry.type() == FileTree.Entry.Type.FILE) {
                note(entry);
            }
        });
        try (RootedTree tree = RootedTree.open(root);
                RootedTree same = RootedTree.open(root)) {
            Map<String, RootedTree.Node> nodes = new HashMap<>();
            assertThat(tree.scan("/", nodes, ALL)).isTrue();
            assertThat(nodes).containsKeys(directory, file, directory + "/link");
            assertThat(tree.stat(file)).isEqualTo(nodes.get(file)).satisfies(node -> {
                assertThat(node.mode()).isEqualTo(RootedTree.REGULAR | 0640);
                assertThat(node.size()).isEqualTo("deep\n".length());
            });
            assertThat(tree.names(directory, ALL)).containsOnlyKeys("file", "link");
            assertThat(tree.link(directory + "/link")).isEqualTo("elsewhere");
            assertThat(tree.sameContent(file, same)).isTrue();
            assertThat(tree.digest(file)).hasSize(64);
            assertThat(tree.attributes(file, name -> true)).hasSize(64);
            assertThat(tree.attributes(directory, name -> true)).isEmpty();
            assertThat(tree.stat(directory + "/none")).isNull();
            assertThat(tree.stat(file + "/below")).isNull();
            assertThat(tree.names(file, ALL)).isNull();
            Map<String, RootedTree.Node> below = new HashMap<>();
            assertThat(tree.scan(directory, below, ALL)).isTrue();
            assertThat(below).containsOnlyKeys(file, directory + "/link");
        }
    }

    /** One link at each level in turn: whichever piece of the path it is in, at the piece's end or within, it is not followed. */
    @Test
    void linkInALongPath_isRefused() throws Exception {
        String name = "n".repeat(200);
        String directory = nested(20_000);
        int levels = (directory.length() - 1) / (name.length() + 1);
        inside(directory, "echo deep > file");
        String file = directory + "/file";
        try (RootedTree tree = RootedTree.open(root)) {
            assertThat(tree.stat(file)).isNotNull();
            for (int level = 0; level < levels; level++) {
                String above = directory.substring(0, level * (name.length() + 1));
                inside(above, "mv " + name + " moved && ln -s moved " + name);
                assertThat(tree.stat(file)).as("link at level %s", level).isNull();
                assertThat(tree.digest(file)).isEmpty();
                inside(above, "rm " + name + " && mv moved " + name);
            }
            assertThat(tree.stat(file)).isNotNull();
        }
    }

    @Test
    void linkOutOfALongPath_leadsNowhere(@TempDir Path outside) throws Exception {
        String directory = nested(6_000);
        inside(directory, "ln -s " + outside + " out; ln -s / top");
        try (RootedTree tree = RootedTree.open(root)) {
            assertThat(tree.names(directory + "/out", ALL)).isNull();
            assertThat(tree.stat(directory + "/top/etc")).isNull();
            assertThatThrownBy(() -> tree.stat(directory + "/..".repeat(3_000) + "/etc"))
                    .isInstanceOf(CrabException.class);
        }
    }

    /** Many files at the end of a long path would fill the memory with their paths. */
    @Test
    void pathsThatTakeTooMuchMemory_areTooMany() throws Exception {
        String directory = nested(60_000);
        inside(directory, "seq 3000 | xargs touch");
        try (RootedTree tree = RootedTree.open(root)) {
            assertThat(tree.scan(ALL)).isNull();
            assertThat(tree.names(directory, ALL)).hasSize(3_000);
        }
    }

    private static void note(FileTree.Entry file) {
        try (NativeFd fd = new NativeFd(TreeCalls.openat(file.directory.number(), file.cName, LibC.O_RDONLY, 0))) {
            TreeCalls.fsetxattr(fd.number(), TreeCalls.cString("user.note"), new byte[] {1}, 1, 0);
        }
    }

    /** Makes directories within each other; gives their path, of so many bytes. */
    private String nested(int length) throws IOException, InterruptedException {
        StringBuilder path = new StringBuilder();
        while (path.length() < length) {
            int rest = length - path.length() - 1;
            // The last one takes what is left, and leaves no less than a name for one that follows.
            path.append('/').append("n".repeat(rest <= 250 ? rest : rest < 260 ? 100 : 200));
        }
        inside(path.toString(), ":");
        return path.toString();
    }

    /** Runs a command in a directory of any depth, which is made if it is not there. */
    private void inside(String path, String command) throws IOException, InterruptedException {
        StringBuilder steps = new StringBuilder();
        for (String name : List.of(path.split("/"))) {
            if (!name.isEmpty()) {
                String enter = "cd -P " + name;
                steps.append(enter + " 2> /dev/null || { mkdir " + name + " && " + enter + "; } || exit 1\n");
            }
        }
        shell(steps + command);
    }

    private void shell(String script) throws IOException, InterruptedException {
        // By standard input, as an argument may have 128 KiB at most.
        Process process = new ProcessBuilder("/bin/bash", "-s")
                .directory(root.toFile())
                .redirectOutput(ProcessBuilder.Redirect.INHERIT)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (var in = process.outputWriter()) {
            in.write(script);
        }
        assertThat(process.waitFor()).isZero();
    }
}

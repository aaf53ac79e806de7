package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OverlayLayersTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    Path directory;

    @Test
    void layers_areThoseOfTheRootsOverlay() throws Exception {
        OverlayLayers layers = OverlayLayers.parse(
                List.of(
                        "146 143 0:143 / /proc rw,nosuid - proc proc rw",
                        "143 82 0:129 / / rw,relatime - overlay overlay rw,lowerdir=/root/l/A:/root/l/B,upperdir=/root/x/diff,workdir=/root/x/work"));

        assertThat(layers.upper()).isEqualTo(Path.of("/root/x/diff"));
        assertThat(layers.lowers()).containsExactly(Path.of("/root/l/A"), Path.of("/root/l/B"));
        assertThatThrownBy(() -> OverlayLayers.parse(List.of("146 143 0:143 / / rw - ext4 /dev/vda rw")))
                .isInstanceOf(IOException.class);
    }

    @Test
    void directoriesInWhichNothingWasChanged_doNotCount_butOneThatHidesTheImages() throws Exception {
        for (String name : List.of(
                "upper/tmp", "upper/srv/a", "upper/new", "upper/hidden", "lower/tmp", "lower/srv/a", "lower/hidden")) {
            Files.createDirectories(directory.resolve(name));
        }
        Files.writeString(directory.resolve("upper/srv/file"), "changed");
        OverlayLayers layers = new OverlayLayers(directory.resolve("upper"), List.of(directory.resolve("lower")));

        Process hide = new ProcessBuilder(
                        "python3",
                        "-c",
                        "import os, sys; os.setxattr(sys.argv[1], 'trusted.overlay.opaque', b'y')",
                        directory.resolve("upper/hidden").toString())
                .inheritIO()
                .start();
        assertThat(hide.waitFor()).isZero();

        SandboxView view = new SandboxView(() -> {
            throw new AssertionError("asks for processes");
        });
        assertThat(view.files(layers)).containsOnlyKeys("", "hidden", "new", "srv", "srv/file");
    }
}

package dev.crab.samples.truth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.samples.common.Recording;
import dev.crab.samples.common.RecordingFormat;
import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RecordingFormatTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    Path directory;

    /** One of this module's own recordings. */
    static Recording recording(String name) throws IOException {
        URL url = Objects.requireNonNull(RecordingFormatTest.class.getResource("recorded/" + name + ".json"));
        try {
            return RecordingFormat.read(Path.of(url.toURI()));
        } catch (URISyntaxException e) {
            throw new IOException(e);
        }
    }

    @Test
    void callsOfOneReply_areOneTurn() throws Exception {
        Recording recording = recording("greeting-repair");

        assertThat(recording.turns()).hasSize(6);
        assertThat(recording.turns().get(0).thinking()).isEqualTo(Duration.ofMillis(1500));
        assertThat(recording.turns().get(0).calls())
                .containsExactly(
                        new Recording.Command("ls -l", 0),
                        new Recording.Command("cat serve.py ask.py", 0),
                        new Recording.View("/srv/greeting/greet.py"));
    }

    @Test
    void unknownTool_isRefusedWithItsNameAndTheFile() throws Exception {
        Path file = directory.resolve("odd.json");
        Files.writeString(
                file,
                "{'id':'a','category':'b','shell':'sh','cwd':'/','timeout_s':1,'setup':[],'turns':[{'llm_ms':0,'tool':'browser'}]}"
                        .replace('\'', '"'));

        assertThatThrownBy(() -> RecordingFormat.read(file))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll("odd.json", "browser");
    }

    @Test
    void below_keepsWhatTheGlobNames() throws Exception {
        String some = "{'id':'%s','category':'b','shell':'sh','cwd':'/','timeout_s':1,'setup':[],'turns':[]}"
                .replace('\'', '"');
        Files.writeString(directory.resolve("1.json"), some.formatted("repair-1"));
        Files.writeString(directory.resolve("2.json"), some.formatted("service-1"));

        assertThat(RecordingFormat.below(directory, "repair-*"))
                .extracting(Recording::id)
                .containsExactly("repair-1");
    }
}

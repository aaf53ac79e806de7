package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The ready-made tools, in a sandbox that is a directory. */
class SandboxToolsTest {
    @TempDir
    Path data;

    private DirectorySession session;
    private SandboxTools tools;

    @BeforeEach
    void open() {
        session = DirectorySession.open(data, "tools");
        tools = new SandboxTools(session.sandbox());
    }

    @AfterEach
    void close() {
        session.close();
    }

    @Test
    void editFile_replacesOnePassage() {
        session.sandbox().writeFile("file", "caf\u00e9\nx\n".getBytes(StandardCharsets.UTF_8));

        assertThat(tools.editFile("file", "x", "y")).isEqualTo("replaced 1 passage in file");

        assertThat(session.sandbox().readFile("file", 100))
                .asString(StandardCharsets.UTF_8)
                .isEqualTo("caf\u00e9\ny\n");
    }

    /** Written back as UTF-8, every byte that is none would be another one. */
    @Test
    void editFile_thatIsNotUtf8_isRefusedAndStaysAsItWas() {
        byte[] latin1 = {0x63, 0x61, 0x66, (byte) 0xE9, 0x0A, 0x78};
        session.sandbox().writeFile("file", latin1);

        assertThatThrownBy(() -> tools.editFile("file", "x", "y"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("not UTF-8 text; use bash to change it");

        assertThat(session.sandbox().readFile("file", 100)).isEqualTo(latin1);
    }
}

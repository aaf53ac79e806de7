package dev.crab.samples.programs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class CatalogueTest {
    private final List<Program> programs = Catalogue.load();

    @Test
    void everyDescription_isInTheIndexOnce() throws Exception {
        assertThat(programs.stream().map(program -> program.name() + ".json").toList())
                .containsExactlyInAnyOrderElementsOf(names("programs")
                        .filter(name -> !name.equals("index.txt"))
                        .toList());
    }

    @Test
    void everyFile_belongsToAProgram() throws Exception {
        assertThat(names("files"))
                .allSatisfy(name ->
                        assertThat(programs).anyMatch(program -> program.files().contains(name)));
    }

    @Test
    void everyProbe_expectsAnotherAnswerThanNothing() {
        assertThat(programs).allSatisfy(program -> {
            assertThat(program.memory()).isNotBlank();
            assertThat(program.expected(1)).isNotBlank();
        });
    }

    private static Stream<String> names(String directory) throws Exception {
        Path path = Path.of(
                Objects.requireNonNull(Catalogue.class.getResource(directory)).toURI());
        return list(path).stream();
    }

    private static List<String> list(Path path) throws IOException {
        try (Stream<Path> files = Files.list(path)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }
}

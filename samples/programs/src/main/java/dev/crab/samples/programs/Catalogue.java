package dev.crab.samples.programs;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.crab.runtime.error.CrabException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The programs that Crab comes with: {@code programs/NAME.json}, in the order of {@code programs/index.txt}. */
final class Catalogue {
    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(DeserializationFeature.ACCEPT_SINGLE_VALUE_AS_ARRAY)
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .build();

    private Catalogue() {}

    static List<Program> load() {
        return text("programs/index.txt").lines().map(Catalogue::load).toList();
    }

    private static Program load(String name) {
        try {
            Program program = JSON.readValue(text("programs/" + name + ".json"), Program.class);
            if (!program.name().equals(name)) {
                throw new IllegalArgumentException("it is named " + program.name());
            }
            program.files().forEach(Catalogue::file);
            return program;
        } catch (IOException | IllegalArgumentException e) {
            throw new IllegalStateException("the description of program " + name + ": " + CrabException.reason(e), e);
        }
    }

    /** A file that programs have in {@code /srv}. */
    static String file(String name) {
        return text("files/" + name);
    }

    private static String text(String resource) {
        try (InputStream in = Catalogue.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new FileNotFoundException("no resource " + resource);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

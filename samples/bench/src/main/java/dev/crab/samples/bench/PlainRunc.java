package dev.crab.samples.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A container as runc makes one by itself, to compare with: the configuration of {@code runc spec} over the same image, read-only, running
 * {@code sleep infinity}.
 */
final class PlainRunc implements AutoCloseable {
    private final Path directory;
    private final String prefix = "crab-bench-" + ProcessHandle.current().pid() + "-";
    private final List<String> containers = new ArrayList<>();

    PlainRunc(Path image) {
        try {
            directory = Files.createTempDirectory("crab-bench-");
            Files.createDirectory(directory.resolve("state"));
            run("spec", "--bundle", directory.toString());
            Path config = directory.resolve("config.json");
            ObjectMapper json = new ObjectMapper();
            ObjectNode spec = (ObjectNode) json.readTree(config.toFile());
            ((ObjectNode) spec.get("root")).put("path", image.toString()).put("readonly", true);
            ObjectNode process = (ObjectNode) spec.get("process");
            process.put("terminal", false);
            process.putArray("args").add("sleep").add("infinity");
            json.writeValue(config.toFile(), spec);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Creates and starts one more container. */
    String start() {
        String id = prefix + containers.size();
        containers.add(id);
        run("create", "--bundle", directory.toString(), id);
        run("start", id);
        return id;
    }

    void execTrue(String id) {
        run("exec", id, "/bin/true");
    }

    void delete(String id) {
        run("delete", "--force", id);
        containers.remove(id);
    }

    private void run(String... arguments) {
        List<String> command = new ArrayList<>(
                List.of("runc", "--root", directory.resolve("state").toString()));
        command.addAll(List.of(arguments));
        try {
            // A file, not a pipe: the container keeps the descriptors, so the end of a pipe would never come.
            File log = directory.resolve("log").toFile();
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(log)
                    .start();
            if (process.waitFor() != 0) {
                throw new IllegalStateException(String.join(" ", command) + ": "
                        + Files.readString(log.toPath()).strip());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while runc ran", e);
        }
    }

    @Override
    public void close() {
        List.copyOf(containers).forEach(this::delete);
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

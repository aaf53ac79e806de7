package dev.crab.samples.common;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;

/**
 * The command that starts an agent's JVM: this JVM's Java and class path, and an archive of loaded classes (class data sharing), which
 * saves half of the time that some hundred JVMs of a crash matrix would spend on loading the same classes. The archive is written by the
 * first JVM that ends by itself and used by all after it; without it they start all the same. It wants jars, so directories of the
 * class path are packed first.
 */
public final class AgentJvm {
    private final String classPath;
    private final Path archive;
    private final String main;
    private final boolean shortLived;

    /**
     * Prepares it.
     *
     * @param directory where jars and archive are kept
     * @param main the class that is started
     * @param shortLived whether all only have to start quickly; one that computes digests of many megabytes is better off without
     */
    public AgentJvm(Path directory, Class<?> main, boolean shortLived) throws IOException {
        this.main = main.getName();
        this.shortLived = shortLived;
        archive = directory.resolve("agent.jsa");
        List<String> entries = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            Path path = Path.of(entry);
            if (entry.isEmpty()) {
                continue; // would mean the working directory, which is no part of this program
            }
            if (Files.isDirectory(path)) {
                Path jar = directory.resolve("classes-" + entries.size() + ".jar");
                pack(path, jar);
                entries.add(jar.toString());
            } else {
                entries.add(entry);
            }
        }
        classPath = String.join(File.pathSeparator, entries);
    }

    /**
     * The command line.
     *
     * @param properties system properties, {@code name=value}
     * @param endsItself whether nobody will kill it: then it writes the archive, if there is none. One that is killed only has to start
     *     quickly
     */
    public List<String> command(List<String> properties, boolean endsItself) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        if (shortLived || !endsItself) {
            command.add("-XX:TieredStopAtLevel=1");
        }
        command.addAll(List.of("-XX:+UseSerialGC", "-Xmx512m"));
        if (Files.exists(archive)) {
            command.add("-XX:SharedArchiveFile=" + archive);
        } else if (endsItself) {
            command.add("-XX:ArchiveClassesAtExit=" + archive);
        }
        properties.forEach(property -> command.add("-D" + property));
        command.addAll(List.of("-cp", classPath, main));
        return command;
    }

    private static void pack(Path directory, Path jar) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(directory)) {
            files = all.filter(Files::isRegularFile).toList();
        }
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file)) {
            for (Path path : files) {
                out.putNextEntry(new JarEntry(directory.relativize(path).toString()));
                Files.copy(path, out);
                out.closeEntry();
            }
        }
    }
}

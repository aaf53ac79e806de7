package dev.crab.runtime.store;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.os.OwnFiles;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A session's manifests, one file each; {@code docs/store-format.md}, "Manifest", is the specification. Written once, never changed.
 * Thread-safe for reading; writes come one after the other.
 */
public final class ManifestStore {
    /** What is written. */
    static final int VERSION = 2;

    /** Its processes have no locks: those of what it was written for are not known. It is read, too. */
    private static final int WITHOUT_LOCKS = 1;

    private static final Pattern FILE = Pattern.compile("([1-9][0-9]{0,17})\\.json");
    private static final Pattern ENVELOPE = Pattern.compile(
            "\\{\"format\":\"crab-manifest\",\"version\":([0-9]{1,9}),\"length\":([0-9]{1,9}),\"sha256\":\"([0-9a-f]{64})\",\"manifest\":");
    private static final int ENVELOPE_LIMIT = 256;
    private static final byte[] END = {'}', '\n'};

    private final String session;
    private final Path directory;

    ManifestStore(String session, Path directory) {
        this.session = session;
        this.directory = directory;
    }

    /**
     * Writes a manifest durably.
     *
     * @return bytes written
     * @throws CrabException DISK_FULL or IO_FAILED; then there is no such manifest
     */
    public long write(Manifest manifest) {
        Path file = file(manifest.generation());
        if (!manifest.session().equals(session)) {
            throw new IllegalArgumentException("a manifest of " + manifest.session() + " in " + session);
        }
        try {
            byte[] content = encode(manifest);
            if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                throw corrupt(file, "it exists already, and manifests never change");
            }
            DurableFiles.replace(file, out -> out.write(content), () -> FaultPoints.reach("manifest.temp"));
            FaultPoints.reach("manifest.renamed");
            return content.length;
        } catch (IOException e) {
            throw CrabException.io("the manifest " + file + " cannot be written", e);
        }
    }

    /**
     * Reads a manifest and checks it byte by byte against its envelope.
     *
     * @throws CrabException GENERATION_UNKNOWN or MANIFEST_CORRUPT naming the file; FORMAT_UNKNOWN; IO_FAILED
     */
    public Manifest read(long generation) {
        Path file = file(generation);
        byte[] content;
        try {
            content = OwnFiles.read(file, StoreJson.MAX_BYTES + ENVELOPE_LIMIT);
        } catch (OwnFiles.UnfitException e) {
            throw corrupt(file, String.valueOf(e.getReason()));
        } catch (NoSuchFileException e) {
            throw CrabException.of(
                    ErrorCode.GENERATION_UNKNOWN,
                    "generation " + generation + " of session " + session + " cannot be read",
                    "there is no file " + file,
                    "bring the file back from a backup, or choose another generation",
                    e);
        } catch (IOException e) {
            throw CrabException.io("the manifest " + file + " cannot be read", e);
        }
        Manifest manifest = decode(file, content);
        if (manifest.generation() != generation || !manifest.session().equals(session)) {
            throw corrupt(
                    file, "it is that of generation " + manifest.generation() + " of session " + manifest.session());
        }
        return manifest;
    }

    /** Generations that have a manifest, ascending; whether they can be read is not checked. */
    public List<Long> generations() {
        List<Long> generations = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            // What is deleted through a link to a directory would be another's.
            OwnFiles.requireDirectory(directory);
            for (Path file : files) {
                Matcher name = FILE.matcher(String.valueOf(file.getFileName()));
                if (name.matches()) {
                    generations.add(Long.parseLong(name.group(1)));
                }
            }
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (IOException e) {
            throw CrabException.io("the manifests in " + directory + " cannot be listed", e);
        }
        generations.sort(null);
        return List.copyOf(generations);
    }

    /** Deletes a manifest, if it is there; not necessarily durably. */
    public void delete(long generation) {
        Path file = file(generation);
        try {
            OwnFiles.remove(file);
        } catch (IOException e) {
            throw CrabException.io("the manifest " + file + " cannot be deleted", e);
        }
    }

    /** Deletes what interrupted writes have left. */
    void deleteTemporary() throws IOException {
        try (DirectoryStream<Path> files =
                Files.newDirectoryStream(directory, "[1-9]*.json" + DurableFiles.TEMPORARY)) {
            OwnFiles.requireDirectory(directory);
            for (Path file : files) {
                OwnFiles.remove(file);
            }
        }
    }

    /** The file of a generation. */
    public Path file(long generation) {
        return directory.resolve(generation + ".json");
    }

    private static byte[] encode(Manifest manifest) throws IOException {
        ObjectNode tree = StoreJson.MAPPER.valueToTree(manifest);
        tree.put("version", VERSION);
        byte[] payload = StoreJson.write(
                tree,
                "the manifest of generation " + manifest.generation() + " cannot be written",
                "run fewer processes in the sandbox, or carry less in its attributes");
        ByteArrayOutputStream out = new ByteArrayOutputStream(payload.length + ENVELOPE_LIMIT);
        String envelope = "{\"format\":\"crab-manifest\",\"version\":" + VERSION + ",\"length\":" + payload.length
                + ",\"sha256\":\"" + Digests.sha256(payload) + "\",\"manifest\":";
        out.write(envelope.getBytes(StandardCharsets.US_ASCII));
        out.write(payload);
        out.write(END);
        return out.toByteArray();
    }

    private static void addLocks(ObjectNode tree) {
        for (JsonNode process : tree.at("/checkpoint/processes/processes")) {
            if (process instanceof ObjectNode entry && !entry.has("locks")) {
                entry.putArray("locks");
            }
        }
    }

    private static Manifest decode(Path file, byte[] content) {
        int head = Math.min(content.length, ENVELOPE_LIMIT);
        Matcher envelope = ENVELOPE.matcher(new String(content, 0, head, StandardCharsets.ISO_8859_1));
        if (!envelope.lookingAt()) {
            throw corrupt(file, "it does not begin as a manifest does");
        }
        int start = envelope.end();
        int length = Integer.parseInt(envelope.group(2));
        if (content.length - start - END.length != length
                || !Arrays.equals(content, content.length - END.length, content.length, END, 0, END.length)) {
            throw corrupt(
                    file,
                    "it has " + content.length + " bytes, which does not fit the length " + length + " it states");
        }
        byte[] payload = Arrays.copyOfRange(content, start, start + length);
        if (!Digests.sha256(payload).equals(envelope.group(3))) {
            throw corrupt(file, "it does not match its SHA-256");
        }
        try {
            ObjectNode tree = StoreJson.MAPPER.readValue(payload, ObjectNode.class);
            int version = tree.path("version").asInt();
            if (!envelope.group(1).equals(Integer.toString(version))) {
                throw corrupt(file, "its envelope states another version than its content");
            }
            if (version == WITHOUT_LOCKS) {
                addLocks(tree);
            } else if (version != VERSION) {
                throw CrabException.of(
                        ErrorCode.FORMAT_UNKNOWN,
                        "the manifest " + file + " cannot be read",
                        "its format has version " + version + ", and this Crab knows " + WITHOUT_LOCKS + " to "
                                + VERSION,
                        "use the Crab that wrote it, or a newer one");
            }
            tree.remove("version");
            return StoreJson.MAPPER.treeToValue(tree, Manifest.class);
        } catch (IOException | IllegalArgumentException e) {
            throw corrupt(file, "its checksum holds, but its content is no manifest: " + e.getMessage());
        }
    }

    /**
     * That a manifest is not what the journal says of it.
     *
     * @param why what differs
     */
    public CrabException contradicted(long generation, String why) {
        return corrupt(file(generation), why);
    }

    private static CrabException corrupt(Path file, String why) {
        return CrabException.of(
                ErrorCode.MANIFEST_CORRUPT,
                "the manifest " + file + " cannot be trusted",
                why,
                "bring the file back from a backup");
    }
}

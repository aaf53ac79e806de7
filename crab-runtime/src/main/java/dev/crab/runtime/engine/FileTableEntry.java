package dev.crab.runtime.engine;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.crab.runtime.os.FileTree;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One line of a file table. Keys are short because there is one line for each file.
 *
 * <p>Paths, link targets and names of attributes are bytes: every byte but printable ASCII, and {@code %} itself, is written as
 * {@code %XX}.
 *
 * @param path below the volume's upper directory, with a leading slash; empty for that directory itself
 * @param type {@code -} nothing any more (in a table of changes), {@code f} file, {@code d} directory, {@code l} symbolic link, {@code p} fifo, {@code s} socket, {@code c} and {@code b}
 *     devices (a character device 0:0 is an overlay's whiteout)
 * @param mode permission bits, 0 to 07777
 * @param size bytes, for files
 * @param modified seconds and nanoseconds since 1970
 * @param changed the same of the last change of anything; not compared at a restore
 * @param inode not compared as such, but files that share one must share one again
 * @param links number of names; 0 for 1
 * @param target of a symbolic link
 * @param device major and minor number of a device
 * @param attributes extended attributes, values in base64
 * @param digest of a file's content, as {@link FileTree.Entry#sha256} describes
 */
@JsonInclude(JsonInclude.Include.NON_DEFAULT)
@SuppressWarnings("ArrayRecordComponent") // compared piece by piece in differenceTo
record FileTableEntry(
        @JsonInclude(JsonInclude.Include.ALWAYS) @JsonProperty("p")
        String path,

        @JsonProperty("t") String type,
        @JsonProperty("m") int mode,
        @JsonProperty("u") long uid,
        @JsonProperty("g") long gid,
        @JsonProperty("s") long size,
        @JsonProperty("w") long[] modified,
        @JsonProperty("c") long[] changed,
        @JsonProperty("i") long inode,
        @JsonProperty("n") long links,
        @JsonProperty("l") @Nullable String target,
        @JsonProperty("r") long @Nullable [] device,
        @JsonProperty("x") @Nullable Map<String, String> attributes,
        @JsonProperty("d") @Nullable String digest) {
    private static final String GONE = "-";
    private static final long[] NEVER = {};

    /** The entry of a tree, with the digest still to be told. */
    static FileTableEntry of(FileTree.Entry entry) {
        FileTree.Entry.Type type = entry.type();
        Map<String, String> attributes = null;
        if (!entry.attributes().isEmpty()) {
            attributes = new LinkedHashMap<>();
            for (Map.Entry<String, byte[]> attribute : entry.attributes().entrySet()) {
                attributes.put(
                        escape(attribute.getKey().getBytes(StandardCharsets.ISO_8859_1)),
                        Base64.getEncoder().encodeToString(attribute.getValue()));
            }
        }
        boolean isDevice = type == FileTree.Entry.Type.CHARACTER || type == FileTree.Entry.Type.BLOCK;
        return new FileTableEntry(
                escape(entry.path()),
                String.valueOf(type.letter()),
                entry.permissions(),
                entry.uid(),
                entry.gid(),
                entry.size(),
                new long[] {entry.modifiedSeconds(), entry.modifiedNanos()},
                new long[] {entry.changedSeconds(), entry.changedNanos()},
                entry.inode(),
                type == FileTree.Entry.Type.DIRECTORY || entry.links() == 1 ? 0 : entry.links(),
                type == FileTree.Entry.Type.SYMLINK ? escape(entry.target()) : null,
                isDevice ? new long[] {entry.deviceMajor(), entry.deviceMinor()} : null,
                attributes,
                null);
    }

    FileTableEntry withDigest(String newDigest) {
        return new FileTableEntry(
                path,
                type,
                mode,
                uid,
                gid,
                size,
                modified,
                changed,
                inode,
                links,
                target,
                device,
                attributes,
                newDigest);
    }

    /** Says in a table of changes that there is no such path any more. */
    static FileTableEntry gone(String path) {
        return new FileTableEntry(path, GONE, 0, 0, 0, 0, NEVER, NEVER, 0, 0, null, null, null, null);
    }

    boolean isGone() {
        return type.equals(GONE);
    }

    /**
     * Whether a table that has this older entry need not have {@code now}.
     *
     * @param sameTree whether both are of the same volume; else nearly every file has got another inode and time of change, which are
     *     left as they were: they only tell what need not be read, and then nothing of it is taken over
     */
    boolean isStill(FileTableEntry now, boolean sameTree) {
        boolean sameInode = inode == now.inode;
        return differenceTo(now) == null
                && (sameTree ? sameInode && Arrays.equals(changed, now.changed) : sameInode || now.links == 0);
    }

    boolean isFile() {
        return type.equals("f");
    }

    /**
     * Whether the content that this older entry describes is surely the one of {@code now}: same inode, nothing changed since, and the
     * last change so long before the older table was taken that a later one must have got a later time.
     */
    boolean contentIsThatOf(FileTableEntry now, long takenAtSeconds) {
        return digest != null
                && now.isFile()
                && inode == now.inode
                && size == now.size
                && Arrays.equals(modified, now.modified)
                && Arrays.equals(changed, now.changed)
                && changed[0] < takenAtSeconds - 1;
    }

    /** What is not as this entry says, in words; null if everything is. Inode and time of change are not compared. */
    @Nullable
    String differenceTo(FileTableEntry found) {
        if (!type.equals(found.type)) {
            return "its type is " + found.type + ", not " + type;
        }
        if (mode != found.mode) {
            return "its mode is " + Integer.toOctalString(found.mode) + ", not " + Integer.toOctalString(mode);
        }
        if (uid != found.uid || gid != found.gid) {
            return "its owner is " + found.uid + ":" + found.gid + ", not " + uid + ":" + gid;
        }
        if (size != found.size) {
            return "its size is " + found.size + ", not " + size;
        }
        if (links != found.links) {
            return "it has " + Math.max(1, found.links) + " names, not " + Math.max(1, links);
        }
        if (!Objects.equals(target, found.target)) {
            return "it points to " + found.target + ", not " + target;
        }
        if (!Arrays.equals(device, found.device)) {
            return "it is another device";
        }
        if (!Objects.equals(attributes, found.attributes)) {
            return "its extended attributes differ";
        }
        if (!Objects.equals(digest, found.digest)) {
            return "its content differs";
        }
        return Arrays.equals(modified, found.modified) ? null : "its time of modification differs";
    }

    static String escape(byte[] bytes) {
        StringBuilder text = new StringBuilder(bytes.length);
        for (byte b : bytes) {
            if (b > 0x20 && b < 0x7f && b != '%') {
                text.append((char) b);
            } else {
                text.append('%')
                        .append(Character.toUpperCase(Character.forDigit(b >> 4 & 15, 16)))
                        .append(Character.toUpperCase(Character.forDigit(b & 15, 16)));
            }
        }
        return text.toString();
    }

    static byte[] unescape(String text) {
        byte[] bytes = new byte[text.length()];
        int length = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '%') {
                bytes[length++] = (byte) Integer.parseInt(text.substring(i + 1, i + 3), 16);
                i += 2;
            } else {
                bytes[length++] = (byte) c;
            }
        }
        return Arrays.copyOf(bytes, length);
    }

    /** The order of a walk: component by component, so that a slash comes before every other byte. */
    static int compare(byte[] left, byte[] right) {
        int end = Math.min(left.length, right.length);
        for (int i = 0; i < end; i++) {
            if (left[i] != right[i]) {
                int a = left[i] == '/' ? 0 : left[i] & 0xff;
                int b = right[i] == '/' ? 0 : right[i] & 0xff;
                return Integer.compare(a, b);
            }
        }
        return Integer.compare(left.length, right.length);
    }
}

package dev.crab.runtime.store;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/**
 * The directory under which everything durable lies, and where in it. Immutable.
 *
 * <p>It belongs to the user who runs Crab, and nobody else may write in it; that is checked each time it is opened, and is why no file
 * below it needs to be guarded against links that others planted. The directories below it have mode 0700: nobody else can look in.
 *
 * @param root its absolute path
 */
public record DataDirectory(Path root) {
    public DataDirectory {
        if (!root.isAbsolute()) {
            throw new IllegalArgumentException("not absolute: " + root);
        }
    }

    /**
     * Makes the directory (mode 0700) where it does not exist, and checks that it is a directory of this user in which nobody else can write.
     *
     * @throws CrabException DATA_DIRECTORY_UNUSABLE
     */
    public DataDirectory prepare() {
        try {
            Files.createDirectories(DurableFiles.parent(root));
            DurableFiles.directory(root);
            checkOwner();
            DurableFiles.directory(root.resolve("sessions"));
            DurableFiles.directory(objects());
            return this;
        } catch (IOException e) {
            throw refusal("the data directory cannot be used", root, e);
        }
    }

    /**
     * Makes the place of a session that has no sandbox, apart from those that have one.
     *
     * @throws CrabException NAME_INVALID; DATA_DIRECTORY_UNUSABLE
     */
    public Path makeChat(String session) {
        Path chat = chat(session);
        try {
            DurableFiles.directory(DurableFiles.parent(chat));
            DurableFiles.directory(chat);
            return chat;
        } catch (IOException e) {
            throw refusal("session " + session + " cannot be made", chat, e);
        }
    }

    /**
     * Where {@link #makeChat} makes it.
     *
     * @throws CrabException NAME_INVALID
     */
    public Path chat(String session) {
        return root.resolve("chats").resolve(Names.session(session));
    }

    private void checkOwner() throws IOException {
        PosixFileAttributes attributes =
                Files.readAttributes(root, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        Object owner = Files.getAttribute(root, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        Object self = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        if (!owner.equals(self)) {
            throw unusable(
                    "it belongs to user " + owner + ", and this process runs as " + self,
                    self.equals(0)
                            ? "chown it to root, or set crab.data to another directory"
                            : "run as user " + owner + ", or set crab.data to a directory of this user's own");
        }
        if (attributes.permissions().stream().anyMatch(DataDirectory::letsOthersWrite)) {
            throw unusable(
                    "its mode is " + PosixFilePermissions.toString(attributes.permissions())
                            + ", which lets others change what Crab trusts",
                    "chmod 0700 " + root);
        }
    }

    private static boolean letsOthersWrite(PosixFilePermission permission) {
        return permission == PosixFilePermission.GROUP_WRITE || permission == PosixFilePermission.OTHERS_WRITE;
    }

    private CrabException unusable(String why, String cure) {
        return CrabException.of(
                ErrorCode.DATA_DIRECTORY_UNUSABLE, "the data directory " + root + " cannot be used", why, cure);
    }

    /** Where objects lie. */
    public Path objects() {
        return root.resolve("objects");
    }

    /** A session's own directory. The name must have passed {@link Names#session}. */
    public Path session(String name) {
        return root.resolve("sessions").resolve(Names.session(name));
    }

    /** A session's lock file. */
    public Path lock(String session) {
        return session(session).resolve("lock");
    }

    /**
     * What a session's sandbox is called: the session's name, a dot, and eight digits that stand for this data directory. Sandboxes have
     * names on the whole host (their cgroups), and sessions of one name in two data directories must not end each other.
     */
    public String sandbox(String session) {
        String place;
        try {
            place = root.toRealPath().toString();
        } catch (IOException e) {
            throw refusal("the data directory cannot be used", root, e);
        }
        return Names.prefix(Names.session(session))
                + Digests.sha256(place.getBytes(StandardCharsets.UTF_8)).substring(0, 8);
    }

    /** Names of all sessions, sorted; empty if there is no data directory yet. What is no session is passed over. */
    public List<String> sessions() {
        return names("sessions");
    }

    /** As {@link #sessions}, of those that were opened where there could be no sandbox. */
    public List<String> chats() {
        return names("chats");
    }

    private List<String> names(String kind) {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(root.resolve(kind))) {
            for (Path entry : entries) {
                String name = String.valueOf(entry.getFileName());
                if (Names.isSession(name) && Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
                    names.add(name);
                }
            }
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (IOException e) {
            throw refusal("the sessions cannot be listed", root, e);
        }
        names.sort(null);
        return List.copyOf(names);
    }

    /** A failure at a path of the data directory, told from a full disk and from damage. */
    static CrabException refusal(String what, Path path, IOException e) {
        CrabException general = CrabException.io(what + ": " + path, e);
        if (general.code() == ErrorCode.DISK_FULL) {
            return general;
        }
        String reason = e instanceof FileSystemException fs ? fs.getReason() : e.getMessage();
        if (reason != null && reason.contains("Read-only file system")) {
            return CrabException.of(
                    ErrorCode.DATA_DIRECTORY_UNUSABLE,
                    what,
                    path + " is on a read-only file system",
                    "mount it writable, or set crab.data to another directory",
                    e);
        }
        return CrabException.of(
                ErrorCode.DATA_DIRECTORY_UNUSABLE,
                what,
                general.why(),
                "make " + path + " a directory that this user owns and can write, or set crab.data to another",
                e);
    }
}

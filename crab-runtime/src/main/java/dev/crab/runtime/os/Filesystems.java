package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.NativeLong;
import dev.crab.runtime.error.CrabException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Mounting, unmounting and flushing of whole file systems. */
public final class Filesystems {
    private Filesystems() {}

    /**
     * Mounts a device, with no set-user-id programs and no device nodes taken seriously in it.
     *
     * @param options what the file system itself understands, comma separated
     */
    public static void mountDevice(String device, Path target, String type, String options) throws IOException {
        try {
            LibC.C.mount(
                    device,
                    target.toString(),
                    type,
                    new NativeLong(LibC.MS_NOATIME | LibC.MS_NOSUID | LibC.MS_NODEV),
                    options);
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(target.toString(), e);
        }
    }

    /** Whether the kernel has that type of file system, loaded or as a module that mounting would load. */
    public static boolean isKnown(String type) {
        try {
            if (Files.readAllLines(Path.of("/proc/filesystems")).stream()
                    .anyMatch(
                            line -> line.strip().endsWith(type) && line.strip().split("\\s+", -1).length <= 2)) {
                return true;
            }
            Path modules = Path.of("/lib/modules", System.getProperty("os.version"));
            for (String index : List.of("modules.dep", "modules.builtin")) {
                Path file = modules.resolve(index);
                if (Files.isReadable(file) && Files.readString(file).contains("/" + type + ".ko")) {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            throw CrabException.io("the kernel's file systems cannot be listed", e);
        }
    }

    /** Unmounts; fails while anything in it is in use. */
    public static void unmount(Path target) throws IOException {
        try {
            LibC.C.umount2(target.toString(), 0);
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(target.toString(), e);
        }
    }

    /** Writes everything of the file system that holds the path to its device and flushes that. */
    public static void sync(Path anywhere) throws IOException {
        try (NativeFd fd = new NativeFd(LibC.C.open(anywhere.toString(), LibC.O_RDONLY | LibC.O_CLOEXEC, 0))) {
            LibC.C.syncfs(fd.number());
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(anywhere.toString(), e);
        }
    }
}

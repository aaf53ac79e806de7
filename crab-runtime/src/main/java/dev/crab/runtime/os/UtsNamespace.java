package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.NativeLong;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** The host name that a process sees. */
public final class UtsNamespace {
    private UtsNamespace() {}

    /**
     * Sets the host name in a process's UTS namespace.
     *
     * @param pid host pid
     * @param name 1 to 63 characters of {@code [a-z0-9-]}
     */
    public static void setHostName(int pid, String name) throws IOException {
        byte[] bytes = name.getBytes(StandardCharsets.US_ASCII);
        OwnThread.call("crab-uts", () -> {
            OwnThread.join(Path.of("/proc/" + pid + "/ns/uts"), LibC.CLONE_NEWUTS);
            try {
                return LibC.C.sethostname(bytes, new NativeLong(bytes.length));
            } catch (LastErrorException e) {
                throw Errno.of("set the host name of process " + pid + " to " + name, e);
            }
        });
    }
}

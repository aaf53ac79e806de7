package dev.crab.samples.truth;

import dev.crab.runtime.sandbox.ExecResult;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Where random turns play: some files, survivors A and B, and what these hold. Always the same when it is set. */
final class Scene {
    /** The directory in which the programs run. */
    static final String DIRECTORY = "/scene";

    /** Image files that programs may change; {@link #set} puts them back. */
    static final List<String> IMAGE_FILES = List.of("/etc/issue", "/etc/shells", "/usr/share/tabset/vt100");

    private static final List<String> OPERATIONS = List.of(
            "append a aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "append b bbbbbbbbbbbbbbbb",
            "append c cccccccc",
            "link c h",
            "truncate b 9000",
            "mkdir d",
            "append d/a dada",
            "symlink a s",
            "mkfifo p",
            "utime a 1000000000",
            "utime b 1000000000",
            "spawn A",
            "spawn B",
            "@A hold 0 b w",
            "@A hold 1 p w",
            "@A udp 2 4711",
            "@A map 3 c s",
            "@A memfd 4",
            "@B unix-dgram 2 u",
            "@B unix 3 v",
            "@B tcp 4 4712",
            "@B hold 5 d/a r",
            "@B block 10");

    private Scene() {}

    /** Ends what is left of another play and sets the scene anew. */
    static void set(Arena arena) throws IOException {
        arena.killSurvivors();
        List<String> reset = new ArrayList<>();
        for (String file : IMAGE_FILES) {
            reset.add("[ -e /saved" + file + " ] || cp -p --parents " + file + " /saved");
            reset.add("rm -rf " + file);
            reset.add("cp -p /saved" + file + " " + file);
        }
        succeed(arena.bash("/", "set -e; mkdir -p /saved; rm -rf /scene; mkdir /scene; " + String.join("; ", reset)));
        succeed(arena.puppet(DIRECTORY, OPERATIONS));
    }

    private static void succeed(ExecResult result) throws IOException {
        if (!result.isSuccess()) {
            throw new IOException("the scene cannot be set: " + result.text());
        }
    }
}

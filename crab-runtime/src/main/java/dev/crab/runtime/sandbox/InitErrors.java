package dev.crab.runtime.sandbox;

import java.util.Map;

/** Error numbers of Linux (asm-generic) in words, for those that a request to pid 1 can meet. */
final class InitErrors {
    private static final Map<Integer, String> NAMES = Map.ofEntries(
            Map.entry(1, "not permitted"),
            Map.entry(2, "no such file or directory"),
            Map.entry(3, "no such process"),
            Map.entry(7, "arguments and environment are too long"),
            Map.entry(8, "not an executable format"),
            Map.entry(11, "too many processes or requests at once"),
            Map.entry(12, "out of memory"),
            Map.entry(13, "permission denied"),
            Map.entry(16, "busy: another reader is attached"),
            Map.entry(17, "file exists"),
            Map.entry(20, "not a directory"),
            Map.entry(21, "is a directory"),
            Map.entry(22, "invalid argument"),
            Map.entry(24, "too many open files"),
            Map.entry(26, "text file busy"),
            Map.entry(27, "larger than the limit"),
            Map.entry(28, "no space left"),
            Map.entry(32, "the shell has ended"),
            Map.entry(36, "the name is too long"),
            Map.entry(40, "too many symbolic links"),
            Map.entry(75, "too many entries"));

    private InitErrors() {}

    static String name(int errno) {
        return NAMES.getOrDefault(errno, "error " + errno);
    }

    static String cure(int errno) {
        return switch (errno) {
            case 11, 12 -> "end processes in the sandbox, give it higher limits, or restore an earlier checkpoint";
            case 27 -> "ask for a part, or raise the limit";
            case 28 -> "free space where the sandbox's volume lies";
            default -> "check the path inside the sandbox";
        };
    }
}

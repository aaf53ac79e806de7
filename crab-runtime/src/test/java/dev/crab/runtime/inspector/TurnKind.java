package dev.crab.runtime.inspector;

import static dev.crab.runtime.inspector.Effect.FILES;
import static dev.crab.runtime.inspector.Effect.FULL;
import static dev.crab.runtime.inspector.Effect.NONE;
import static dev.crab.runtime.inspector.Effect.PROCESSES;

import java.util.List;

/**
 * One kind of turn and what it is.
 *
 * @param name says what it does and, after the underscore, what it is
 * @param before bash that runs before the baseline; its background processes are survivors
 * @param turn bash that is the turn; {@code $S} is the survivor's pid
 * @param effect what it must be judged as
 * @param rule one of the reasons that must be given, or empty
 */
record TurnKind(String name, String before, String turn, Effect effect, String rule) {
    @Override
    public String toString() {
        return name;
    }

    private static TurnKind kind(String name, String before, String turn, Effect effect, String rule) {
        return new TurnKind(name, before, turn, effect, rule);
    }

    private static TurnKind none(String name, String before, String turn) {
        return kind(name + "_isNone", before, turn, NONE, "");
    }

    private static TurnKind files(String name, String before, String turn) {
        return kind(name + "_isFiles", before, turn, FILES, "files-changed");
    }

    private static TurnKind processes(String name, String before, String turn, String rule) {
        return kind(name + "_isProcesses", before, turn, PROCESSES, rule);
    }

    private static TurnKind full(String name, String before, String turn, String rule) {
        return kind(name + "_isFull", before, turn, FULL, rule);
    }

    /** A file with content, made a while ago as far as its time stamps tell. */
    private static final String FILE = "seq 2000 > f; touch -d @1000000000 f";

    private static final String IDLE = "K idle";

    /** The survivor's descriptor of a file without a name. */
    private static final String UNNAMED = "$(find /proc/$S/fd -lname '*(deleted)')";

    static List<TurnKind> all() {
        return List.of(
                none("nothing", "", "true"),
                none("reading", FILE, "cat f | sort | wc -l; ls -laR /etc > /dev/null; grep -r root /etc/passwd"),
                none("outputToInit", "", "seq 5000"),
                none("temporaryFile", "", "t=$(mktemp); echo x > $t; rm $t"),
                none("directoryMadeAndRemoved", "", "mkdir d; touch d/x; rm -r d"),
                none("chmodThereAndBack", FILE, "chmod 600 f; chmod 644 f"),
                none("renameThereAndBack", FILE, "mv f g; mv g f"),
                none("xattrThereAndBack", FILE, "K xattr-there-and-back f"),
                none("copyUpWithoutWrite", "", "K open-rw /etc/hostname"),
                none("chmodToTheSameMode", "", "chmod $(stat -c %a /etc/passwd) /etc/passwd"),
                none("childrenThatEnded", "", "sleep 0.02 & sleep 0.01 & wait"),
                none("signalHandlers", "", "K handler"),
                none("memoryPolicyQuery", "", "K mempolicy"),
                none("talkWithinTheTurn", "", "K talk"),
                none("talkBesideIdleServer", "K tcp", "K talk"),
                none("pipesBesideFifoHolder", "mkfifo p; K fifo p", "seq 100 | cat | tail -1"),
                none("besideIdleSurvivor", IDLE, "seq 10 | sort -n"),
                none("besideStoppedSurvivor", IDLE + "; kill -STOP $S", "true"),
                none(
                        "failedCalls",
                        FILE,
                        "mkdir /etc 2>/dev/null; rm nothing 2>/dev/null; chmod 600 nothing 2>/dev/null; true"),
                //
                files("newFile", "", "echo x > n"),
                files("append", FILE, "echo x >> f"),
                files("overwriteOfSameLength", FILE, "echo 9 | dd of=f conv=notrunc bs=1 count=1 status=none"),
                files("writeWithTimesPutBack", FILE, "K pwrite-mtime f"),
                files(
                        "truncatedThereAndBackByPathWithTimesPutBack",
                        FILE,
                        "python3 -c 'import os; s = os.stat(\"f\"); os.truncate(\"f\", 1); os.truncate(\"f\", s.st_size);"
                                + " os.utime(\"f\", ns=(s.st_atime_ns, s.st_mtime_ns))'"),
                files("mappingWrittenAndTimesPutBack", FILE, "K mmap f; touch -d @1000000000 f"),
                files("touchAlone", FILE, "touch -d @900000000 f"),
                files("futimens", FILE, "K futimens f"),
                files("truncate", FILE, "truncate -s 100 f"),
                files("fallocate", FILE, "fallocate -l 1M f"),
                files("punchHole", FILE, "fallocate -p -o 0 -l 4096 f"),
                files("chmod", FILE, "chmod 600 f"),
                files("fchmodat2", FILE, "K fchmodat2 f"),
                files("chown", FILE, "chown 12:34 f"),
                files("setxattr", FILE, "K setxattr f 1"),
                files("setxattrOfOtherValue", FILE + "; K setxattr f 1", "K setxattr f 2"),
                files("fsetxattr", FILE, "K fsetxattr f 1"),
                files("chattr", FILE, "chattr +A f"),
                files("rename", FILE, "mv f g"),
                files("renameOverAnother", FILE + "; cp -p f g", "mv f g"),
                files("hardLink", FILE, "ln f g"),
                files("symbolicLink", "", "ln -s f g"),
                files("fifoMade", "", "mkfifo p"),
                files("socketBound", "", "K bind s"),
                files("unlink", FILE, "rm f"),
                files("unlinkOfImageFile", "", "rm /usr/share/perl/5.36.0/version.pm || rm /etc/hostname"),
                files("imageFileChanged", "", "echo 127.0.0.9 x >> /etc/hosts"),
                files(
                        "imageDirectoryReplaced",
                        "",
                        "rm -rf /usr/share/bash-completion; mkdir /usr/share/bash-completion"),
                files("directoryMade", "", "mkdir d"),
                files("directoryRemoved", "mkdir d", "rmdir d"),
                files("directoryMode", "mkdir d", "chmod 700 d"),
                files("sharedMapping", FILE, "K mmap f"),
                files("mappingMadeWritable", FILE, "K mprotect f"),
                files("sendfile", FILE + "; echo abcdef > g", "K sendfile g f"),
                files("copyFileRange", FILE + "; echo abcdef > g", "K copy-file-range g f"),
                files("splice", FILE, "K splice f"),
                files("linkedTmpfile", "", "K tmpfile $PWD/n"),
                files("fileInDevShm", "", "echo x > /dev/shm/crab"),
                files("besideIdleSurvivorThatHoldsNothing", FILE + "; " + IDLE, "echo x >> f"),
                files("unprintableName", "", "touch $'n\\xff\\xfe'"),
                //
                processes("backgroundProcess", "", "sleep infinity >/dev/null 2>&1 &", "process-set-differs"),
                processes(
                        "survivorKilled",
                        IDLE,
                        "kill -9 $S; while kill -0 $S 2>/dev/null; do :; done",
                        "process-set-differs"),
                processes("survivorStopped", IDLE, "kill -STOP $S", "survivor-signalled"),
                processes("survivorContinued", IDLE + "; kill -STOP $S", "kill -CONT $S", "survivor-signalled"),
                processes("signalPending", IDLE + "; kill -STOP $S", "K queue-to-stopped $S", "survivor-signalled"),
                processes("survivorRan", "K ticker", "sleep 0.01", "survivor-ran"),
                processes("limitOfSurvivor", IDLE, "prlimit --pid $S --nofile=99:99", "other-process-changed"),
                processes("priorityOfSurvivor", IDLE, "renice -n 5 -p $S", "other-process-changed"),
                processes("affinityOfSurvivor", IDLE, "taskset -p 1 $S", "other-process-changed"),
                processes("ptrace", IDLE, "K ptrace $S", "other-process-changed"),
                processes("writeToOtherMemory", IDLE, "K write-vm $S", "other-process-changed"),
                processes("writeToProcMem", IDLE, "K write-mem $S", "kernel-state"),
                processes("writeToMemfdOfSurvivor", "K memfd", "K write-memfd $S", "memory-file-held-by-survivor"),
                processes(
                        "memfdOfSurvivorTruncatedByPath",
                        "K memfd",
                        "python3 -c 'import os, sys; os.truncate(sys.argv[1], 9)' " + UNNAMED,
                        "unnamed-file-held-by-survivor"),
                processes(
                        "deletedFileOfSurvivorWritten",
                        FILE + "; K hold f r; rm f",
                        "echo x >> " + UNNAMED,
                        "unnamed-file-held-by-survivor"),
                processes(
                        "deletedFileOfSurvivorTruncatedByPath",
                        FILE + "; K hold f r; rm f",
                        "python3 -c 'import os, sys; os.truncate(sys.argv[1], 9)' " + UNNAMED,
                        "unnamed-file-held-by-survivor"),
                processes(
                        "watcherOfDirectoryToldOfTemporaryFile",
                        "mkdir d; K watch d",
                        "echo x > d/x; rm d/x",
                        "watcher-notified"),
                processes("dataLeftInFifo", "mkfifo p; K fifo p", "echo x > p", "pipe-held-by-survivor"),
                processes("dataTakenFromFifo", "mkfifo p; K fifo p data", "head -c 1 p", "pipe-held-by-survivor"),
                processes("datagramLeft", "K udp", "K send-udp", "socket-held-by-survivor"),
                processes("connectionLeft", "K tcp", "K connect-tcp", "socket-held-by-survivor"),
                processes("unixConnectionLeft", "K unix s", "K connect-unix s", "socket-held-by-survivor"),
                processes("sharedMemoryLeft", "", "K shm", "ipc"),
                processes("messageQueueLeft", "", "K mq", "ipc"),
                processes("hostName", "", "K hostname", "kernel-state"),
                processes("sysctl", "", "echo other > /proc/sys/kernel/domainname", "kernel-state"),
                processes("mount", "", "K mount", "mount"),
                //
                full(
                        "fileSplicedIntoPipeOfSurvivorThenWritten",
                        FILE + "; mkfifo p; K fifo p; python3 -c 'import os; os.splice(os.open(\"f\", 0),"
                                + " os.open(\"p\", os.O_RDWR), 9)'",
                        "echo 9 | dd of=f conv=notrunc bs=1 count=1 status=none",
                        "changed-file-in-channel"),
                full("unlistedCall", "", "K unlisted-call", "unknown-call"),
                full("foreignAbi", FILE, "K int80-unlink f", "foreign-abi"),
                full("ioUring", "", "K io-uring", "async-io"),
                full("fileAndProcess", "", "echo x > n; sleep infinity >/dev/null 2>&1 &", "files-changed"),
                full(
                        "logRotatedUnderSurvivor",
                        "K hold log a",
                        "mv log log.1; touch log",
                        "changed-file-held-by-survivor"),
                full("openFileRemoved", FILE + "; K hold f r", "rm f", "changed-file-held-by-survivor"),
                full(
                        "openFileRemovedByOtherName",
                        FILE + "; ln f g; K hold f r",
                        "rm g",
                        "changed-file-held-by-survivor"),
                full(
                        "openImageFileChanged",
                        "K hold /etc/services r",
                        "echo x >> /etc/services",
                        "changed-file-held-by-survivor"),
                full("workingDirectoryRemoved", "mkdir d; K cwd d", "rmdir d", "changed-file-held-by-survivor"),
                full(
                        "parentOfWorkingDirectoryRenamed",
                        "mkdir -p d/e; K cwd d/e",
                        "mv d g",
                        "changed-file-held-by-survivor"),
                full(
                        "watchedFileChanged",
                        FILE + "; touch w; K watch w",
                        "echo x >> f",
                        "changed-file-held-by-survivor"),
                full(
                        "survivorWritesSharedMappingAgain",
                        FILE + "; K map f; kill -USR1 $S; sleep 0.02",
                        "kill -USR1 $S; sleep 0.02",
                        "survivor-maps-file-shared"));
    }
}

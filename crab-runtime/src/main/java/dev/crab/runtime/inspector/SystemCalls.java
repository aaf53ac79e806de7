package dev.crab.runtime.inspector;

import dev.crab.runtime.error.CrabException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The class of each system call of x86-64, read from {@code syscalls-x86_64.txt}. Immutable. */
final class SystemCalls {
    /** Classes of calls; {@code enum call_class} in bpf/lib/shared.h, by the same names. */
    enum CallClass {
        UNKNOWN,
        NOTHING,
        READ,
        WRITE,
        ATTRIBUTE,
        PATH,
        TRUNCATE,
        OPEN,
        OPENAT,
        OPENAT2,
        CREAT,
        MMAP,
        COPY,
        TEE,
        SENDFILE,
        SOCKET,
        BIND,
        OTHER_PROCESS,
        PID,
        PRIORITY,
        IO_PRIORITY,
        PRLIMIT,
        PTRACE,
        IPC,
        MOUNT,
        KERNEL,
        ASYNC_IO,
        IOCTL,
        FCNTL
    }

    record Call(int number, String name, CallClass kind) {}

    private final Map<Integer, Call> calls;

    private SystemCalls(Map<Integer, Call> calls) {
        this.calls = Map.copyOf(calls);
    }

    /** The table for x86-64. */
    static SystemCalls table() {
        return Table.LOADED;
    }

    /** Read when it is first needed. */
    private static final class Table {
        static final SystemCalls LOADED = load();
    }

    private static SystemCalls load() {
        Map<Integer, Call> calls = new TreeMap<>();
        try (InputStream in = SystemCalls.class.getResourceAsStream("syscalls-x86_64.txt")) {
            if (in == null) {
                throw new IllegalStateException("syscalls-x86_64.txt is not in the class path");
            }
            BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.US_ASCII));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!line.isBlank() && !line.startsWith("#")) {
                    String[] words = line.trim().split(" ", -1);
                    Call call = new Call(Integer.parseInt(words[0]), words[1], CallClass.valueOf(words[2]));
                    if (calls.put(call.number(), call) != null) {
                        throw new IllegalStateException("listed twice: " + line);
                    }
                }
            }
        } catch (IOException e) {
            throw CrabException.io("the table of system calls cannot be read", e);
        }
        return new SystemCalls(calls);
    }

    Iterable<Call> all() {
        return calls.values();
    }

    /** The call's name, or its number if it is not listed. */
    String name(int number) {
        @Nullable Call call = calls.get(number);
        return call == null ? "number " + number : call.name();
    }
}

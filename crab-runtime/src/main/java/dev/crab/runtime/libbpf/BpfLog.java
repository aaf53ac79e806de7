package dev.crab.runtime.libbpf;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** Keeps libbpf's last messages, so that a refusal can show why. libbpf has one printer per process, so there is one log. */
final class BpfLog implements LibBpf.Printer {
    static final BpfLog INSTANCE = new BpfLog();

    private static final int MAX_LINES = 40;
    private static final int MAX_LENGTH = 4096;
    private static final int LEVEL_DEBUG = 2;

    /** Just enough of libc: vsnprintf renders a format with its va_list, which on x86-64 is passed on as a pointer. */
    interface LibC extends Library {
        LibC C = Native.load("c", LibC.class);

        int close(int fd);

        int vsnprintf(byte[] buffer, NativeLong size, Pointer format, Pointer arguments);
    }

    private final Deque<String> lines = new ArrayDeque<>();

    private BpfLog() {}

    @Override
    public synchronized int print(int level, Pointer format, Pointer arguments) {
        if (level >= LEVEL_DEBUG) {
            return 0;
        }
        byte[] text = new byte[MAX_LENGTH];
        int length = LibC.C.vsnprintf(text, new NativeLong(text.length), format, arguments);
        new String(text, 0, Math.max(0, Math.min(length, text.length - 1)), StandardCharsets.UTF_8)
                .lines()
                .forEach(line -> {
                    lines.add(line.strip());
                    if (lines.size() > MAX_LINES) {
                        lines.remove();
                    }
                });
        return 0;
    }

    synchronized void clear() {
        lines.clear();
    }

    synchronized List<String> lines() {
        return List.copyOf(lines);
    }
}

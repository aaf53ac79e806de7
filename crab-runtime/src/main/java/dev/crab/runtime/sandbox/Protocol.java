package dev.crab.runtime.sandbox;

/** Frame types and limits of the exec protocol; {@code docs/exec-protocol.md} and {@code protocol.h} say the same. */
final class Protocol {
    static final String SOCKET = "run/crab/exec.sock";
    static final int HEADER = 5;
    static final int MAX_CHUNK = 64 << 10;
    static final int MAX_COMMAND = 2 << 20;
    static final int MAX_SMALL = 8192;

    static final int EXEC = 0x01;
    static final int ATTACH = 0x02;
    static final int FILE_READ = 0x03;
    static final int FILE_WRITE = 0x04;
    static final int FILE_LIST = 0x05;
    static final int PTY_OPEN = 0x06;
    static final int PTY_INPUT = 0x07;
    static final int PTY_ATTACH = 0x08;
    static final int PING = 0x0a;

    static final int STDIN = 0x10;
    static final int STDIN_EOF = 0x11;
    static final int KILL = 0x12;
    static final int DATA = 0x13;
    static final int DATA_EOF = 0x14;
    static final int DETACH = 0x15;

    static final int START = 0x20;
    static final int STDOUT = 0x21;
    static final int STDERR = 0x22;
    static final int STATE = 0x23;
    static final int EXIT = 0x24;
    static final int ERROR = 0x25;
    static final int CREDIT = 0x26;
    static final int REPLY_DATA = 0x27;
    static final int ENTRY = 0x28;
    static final int DONE = 0x29;
    static final int PTY = 0x2a;
    static final int PONG = 0x2b;

    static final int FLAG_STDIN = 1;
    static final int FLAG_STATE = 2;

    private static final String[] STAGES = {
        "the request",
        "a limit of pid 1",
        "making pipes",
        "fork",
        "the working directory",
        "the program",
        "opening",
        "the transfer",
        "the terminal"
    };

    private Protocol() {}

    /** Where pid 1 says an error arose. */
    static String stage(int number) {
        return number >= 0 && number < STAGES.length ? STAGES[number] : "stage " + number;
    }
}

package dev.crab.samples.truth;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.Sandbox;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes the calls of a recorded session in a sandbox. A call that fails is part of the recording, as it was for the agent: only a lost
 * sandbox is an error. Not thread-safe.
 */
final class RecordedCalls {
    private static final int FILE_LIMIT = 16 << 20;

    private final Sandbox sandbox;
    private final Recording recording;
    private int compared;
    private int alike;

    RecordedCalls(Sandbox sandbox, Recording recording) {
        this.sandbox = sandbox;
        this.recording = recording;
    }

    /** Commands whose recorded exit status is known. */
    int compared() {
        return compared;
    }

    /** Those of them that exited with the recorded status again. */
    int alike() {
        return alike;
    }

    /** Makes the calls of one reply, one after the other. */
    void make(Recording.Turn turn) {
        for (Recording.Call call : turn.calls()) {
            try {
                make(call);
            } catch (CrabException e) {
                if (e.code() != ErrorCode.EXEC_FAILED && e.code() != ErrorCode.FILE_OPERATION_FAILED) {
                    throw e;
                }
            }
        }
    }

    private void make(Recording.Call call) {
        if (call instanceof Recording.Command command) {
            int status = sandbox.exec(ExecRequest.of(recording.shell().running(command.line()))
                            .withWorkingDirectory(recording.directory())
                            .withTimeout(recording.timeout()))
                    .status();
            if (command.exitStatus() != null) {
                compared++;
                alike += command.exitStatus() == status ? 1 : 0;
            }
        } else if (call instanceof Recording.Create create) {
            write(create.path(), create.text());
        } else if (call instanceof Recording.View view) {
            view(view.path());
        } else if (call instanceof Recording.Replace replace) {
            replace(replace);
        } else if (call instanceof Recording.Insert insert) {
            insert(insert);
        }
    }

    private void view(String path) {
        try {
            sandbox.listFiles(path);
        } catch (CrabException e) {
            read(path); // no directory, so it is a file, or nothing
        }
    }

    private void replace(Recording.Replace edit) {
        String text = read(edit.path());
        int at = text.indexOf(edit.old());
        if (at >= 0 && text.indexOf(edit.old(), at + 1) < 0) {
            write(
                    edit.path(),
                    text.substring(0, at)
                            + edit.text()
                            + text.substring(at + edit.old().length()));
        }
    }

    private void insert(Recording.Insert edit) {
        List<String> lines = new ArrayList<>(List.of(read(edit.path()).split("\n", -1)));
        if (edit.line() <= lines.size()) {
            lines.add(edit.line(), edit.text());
            write(edit.path(), String.join("\n", lines));
        }
    }

    private String read(String path) {
        return new String(sandbox.readFile(path, FILE_LIMIT), StandardCharsets.UTF_8);
    }

    private void write(String path, String text) {
        sandbox.writeFile(path, text.getBytes(StandardCharsets.UTF_8));
    }
}

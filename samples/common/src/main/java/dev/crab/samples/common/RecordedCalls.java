package dev.crab.samples.common;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.FileEntry;
import dev.crab.runtime.sandbox.Sandbox;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Makes the calls of a recorded session in a sandbox. A call that fails is part of the recording, as it was for the agent: only a lost
 * sandbox is an error. Not thread-safe.
 */
public final class RecordedCalls {
    private static final int FILE_LIMIT = 16 << 20;

    private final Sandbox sandbox;
    private final Recording recording;
    private int compared;
    private int alike;

    /** Calls of that recording in that sandbox. */
    public RecordedCalls(Sandbox sandbox, Recording recording) {
        this.sandbox = sandbox;
        this.recording = recording;
    }

    /** Commands whose recorded exit status is known. */
    public int compared() {
        return compared;
    }

    /** Those of them that exited with the recorded status again. */
    public int alike() {
        return alike;
    }

    /** Makes the calls of one reply, one after the other. */
    public void make(Recording.Turn turn) {
        turn.calls().forEach(this::make);
    }

    /** Makes a call; answers with what the agent reads: output and outcome of a command, what became of an edit, why it failed. */
    public String make(Recording.Call call) {
        try {
            if (call instanceof Recording.Command command) {
                return run(command);
            }
            return edit((Recording.Edit) call);
        } catch (CrabException e) {
            if (e.code() != ErrorCode.EXEC_FAILED && e.code() != ErrorCode.FILE_OPERATION_FAILED) {
                throw e;
            }
            return e.why();
        }
    }

    private String run(Recording.Command command) {
        ExecResult result = sandbox.exec(ExecRequest.of(recording.shell().running(command.line()))
                .withWorkingDirectory(recording.directory())
                .withTimeout(recording.timeout()));
        if (command.exitStatus() != null) {
            compared++;
            alike += command.exitStatus() == result.status() ? 1 : 0;
        }
        return result.text();
    }

    private String edit(Recording.Edit edit) {
        if (edit instanceof Recording.Create create) {
            return write(create.path(), create.text());
        }
        if (edit instanceof Recording.View view) {
            return view(view.path());
        }
        return edit instanceof Recording.Replace replace ? replace(replace) : insert((Recording.Insert) edit);
    }

    private String view(String path) {
        List<FileEntry> entries;
        try {
            entries = sandbox.listFiles(path);
        } catch (CrabException e) {
            return read(path); // no directory, so it is a file, or nothing
        }
        return entries.stream().map(FileEntry::name).collect(Collectors.joining("\n"));
    }

    private String replace(Recording.Replace edit) {
        String text = read(edit.path());
        int at = text.indexOf(edit.old());
        if (at < 0 || text.indexOf(edit.old(), at + 1) >= 0) {
            return "the old text does not stand in " + edit.path() + " exactly once";
        }
        return write(
                edit.path(),
                text.substring(0, at)
                        + edit.text()
                        + text.substring(at + edit.old().length()));
    }

    private String insert(Recording.Insert edit) {
        List<String> lines = new ArrayList<>(List.of(read(edit.path()).split("\n", -1)));
        if (edit.line() > lines.size()) {
            return edit.path() + " has no line " + edit.line();
        }
        lines.add(edit.line(), edit.text());
        return write(edit.path(), String.join("\n", lines));
    }

    private String read(String path) {
        return new String(sandbox.readFile(path, FILE_LIMIT), StandardCharsets.UTF_8);
    }

    private String write(String path, String text) {
        sandbox.writeFile(path, text.getBytes(StandardCharsets.UTF_8));
        return "wrote " + path;
    }
}

package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import java.time.Duration;

/**
 * Makes a sandbox that is a copy of another session's differ in what must differ, before anybody uses it: its host name, a file and a
 * variable of new commands that name the branch, and whatever the hooks in it do. None of that is committed by itself: it is done
 * again whenever the sandbox is put to where it was copied.
 */
final class CloneHygiene {
    /** The file that names the branch, inside the sandbox. */
    static final String FILE = "/etc/crab/branch";

    /** The variable of new commands that names it. */
    static final String VARIABLE = "CRAB_BRANCH";

    /** Programs in here run in a branch before anybody uses it, in the order of their names. */
    static final String HOOKS = "/etc/crab/branch.d";

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String RUN_HOOKS = "for hook in " + HOOKS + "/*; do"
            + " if [ -f \"$hook\" ] && [ -x \"$hook\" ]; then \"$hook\" || { echo \"$hook: exit code $?\" >&2; exit 1; }; fi; done";

    private CloneHygiene() {}

    /**
     * Does it.
     *
     * @param session the branch
     * @param parent the session that it began as
     * @throws CrabException EXEC_FAILED if a hook fails: a copy that does not differ must not be used; SANDBOX_LOST, IO_FAILED
     */
    static void apply(RunningSandbox sandbox, String session, String parent) {
        sandbox.setHostName(hostName(session));
        sandbox.attributes().put(Sandbox.ENVIRONMENT + VARIABLE, session);
        sandbox.writeFile(FILE, session + "\n");
        if (!sandbox.mayExist(HOOKS)) {
            return;
        }
        ExecResult result = sandbox.exec(ExecRequest.of("/bin/sh", "-c", RUN_HOOKS)
                .withEnvironment("CRAB_BRANCH_OF", parent)
                .withTimeout(PATIENCE));
        if (!result.isSuccess()) {
            throw CrabException.of(
                    ErrorCode.EXEC_FAILED,
                    "session " + session + " cannot be used as a branch of " + parent,
                    "a hook in " + HOOKS + " of its sandbox failed: "
                            + result.text().strip(),
                    "mend the hook in " + parent + ", commit, delete " + session + " if it is there, and branch again");
        }
    }

    /** A host name for a session. */
    static String hostName(String session) {
        return session.replace('_', '-');
    }
}

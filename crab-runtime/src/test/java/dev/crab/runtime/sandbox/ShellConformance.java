package dev.crab.runtime.sandbox;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What every sandbox's shell sessions and terminals do. */
public interface ShellConformance {
    /** The running sandbox of the current test. */
    Sandbox sandbox();

    private Sandbox.Shell shell() {
        return sandbox().shell("main");
    }

    @Test
    default void shell_keepsDirectoryVariablesFunctionsAliasesAndOptions() {
        shell().run(
                        "cd /usr/lib; x=5; export Y='a b'; declare -A m=([k 1]=v); f() { echo \"f $1\"; }; umask 027; shopt -s nullglob");

        assertThat(shell().workingDirectory()).isEqualTo("/usr/lib");
        assertThat(shell().run("pwd; echo $x ${m[k 1]}; printenv Y; f 1; umask; echo /no*such")
                        .text())
                .isEqualTo("/usr/lib\n5 v\na b\nf 1\n0027\n\n");
        assertThat(shell().run("shopt -s expand_aliases; alias hello='echo hi'").text())
                .isEmpty();
        assertThat(shell().run("hello; unset x; unset LANG").text()).isEqualTo("hi\n");
        assertThat(shell().run("echo ${x-none} ${LANG-none}").text()).isEqualTo("none none\n");
    }

    @Test
    default void shell_startsInTheHomeDirectory_andSessionsAreApart() {
        assertThat(shell().workingDirectory()).isEqualTo("/root");
        shell().run("cd /tmp; v=1");

        assertThat(sandbox().shell("other").run("pwd; echo ${v-unset}").text()).isEqualTo("/root\nunset\n");
    }

    @Test
    default void shell_callThatExits_handsItsStateOn() {
        assertThat(shell().run("cd /tmp; a=1; exit 3").status()).isEqualTo(3);
        assertThat(shell().run("pwd; echo $a").text()).isEqualTo("/tmp\n1\n");
    }

    @Test
    default void shell_errexit_endsTheCallButNotTheSession() {
        assertThat(shell().run("set -e; b=2; false; echo not reached").text()).isEqualTo("\n[exit status 1]");
        assertThat(shell().run("echo $b; set +e; false; echo reached").text()).isEqualTo("2\nreached\n");
    }

    @Test
    default void shell_malformedLines_failAndKeepTheSession() {
        shell().run("c=3; cd /tmp");

        for (String line : new String[] {"echo \"unterminated", "if then", "for", "echo )", "cat <<EOF\nno end"}) {
            ExecResult result = shell().run(line);
            assertThat(result.err()).as(line).contains("bash").doesNotContain("crab");
        }
        assertThat(shell().run("echo $c; pwd").text()).isEqualTo("3\n/tmp\n");
    }

    @Test
    default void shell_lineIsRunExactly() {
        String line =
                "printf '%s|' \"$#\" \"$0\" 'it''s' \\$x \"\\\"q\\\"\" $'tab\\t' '#no comment' # a comment\nprintf last";

        assertThat(shell().run(line).out()).isEqualTo("0|bash|its|$x|\"q\"|tab\t|#no comment|last");
        assertThat(shell().run("-n no option").status()).isEqualTo(127);
        assertThat(shell().run("").text()).isEmpty();
        assertThat(shell().run("true " + "x".repeat(300_000) + "; echo long").text())
                .isEqualTo("long\n");
    }

    @Test
    default void shell_readsTheInputOfItsTemplate() {
        ExecRequest template = ExecRequest.of("ignored").withInput("one\ntwo\n".getBytes(StandardCharsets.UTF_8));

        assertThat(shell().run("read a; read b; echo $b $a", template).text()).isEqualTo("two one\n");
        assertThat(shell().run("echo $a", ExecRequest.of("ignored").withEnvironment("a", "it's"))
                        .text())
                .isEqualTo("it's\n");
    }

    @Test
    default void shell_replacedByAProgram_keepsTheOldState_andSaysSo() {
        shell().run("d=4");

        ExecResult result = shell().run("d=5; exec echo replaced");

        assertThat(result.out()).isEqualTo("replaced\n");
        assertThat(result.err()).contains("keeps the state it had before");
        assertThat(shell().run("echo $d").text()).isEqualTo("4\n");
    }

    @Test
    default void shell_stateBeyondTheBound_keepsTheOldState_andSaysSo() {
        shell().run("e=small");
        String before = sandbox().attributes().get("shell/main");

        ExecResult result = shell().run("e=$(head -c 400000 /dev/zero | tr '\\0' x)");

        assertThat(result.status()).isZero();
        assertThat(result.err()).contains("larger than 256 KiB");
        assertThat(sandbox().attributes().get("shell/main")).isEqualTo(before);
        assertThat(shell().run("echo $e").text()).isEqualTo("small\n");
        assertThat(shell().run("e=$(head -c 200000 /dev/zero | tr '\\0' y); g=1")
                        .text())
                .isEmpty();
        assertThat(shell().run("echo ${#e} $g").text()).isEqualTo("200000 1\n");
    }

    @Test
    default void shell_timedOut_keepsTheOldState() {
        shell().run("h=1; cd /tmp");

        ExecResult result =
                shell().run("h=2; cd /; sleep 60", ExecRequest.of("x").withTimeout(Duration.ofMillis(500)));

        assertThat(result.end()).isInstanceOf(ExecResult.End.TimedOut.class);
        assertThat(shell().run("echo $h; pwd").text()).isEqualTo("1\n/tmp\n");
    }

    @Test
    default void shell_backgroundProcess_livesOnAndHoldsNoStatePipe() {
        shell().run("sleep 300 & echo $! > /tmp/pid");

        assertThat(shell().run("ls /proc/$(cat /tmp/pid)/fd").text()).isEqualTo("0\n1\n2\n");
    }

    @Test
    default void shell_trapOfTheLine_runsAndTheStateIsKept() {
        assertThat(shell().run("trap 'echo bye' EXIT; i=7; cd /tmp").text()).isEqualTo("bye\n");
        assertThat(shell().run("echo $i; pwd; trap -p EXIT | grep -c bye").text())
                .startsWith("7\n/tmp\n0\n");
    }

    @Test
    default void shell_tracing_showsTheLineAndNotCrabsOwnCommands() {
        assertThat(shell().run("set -x; echo a").err()).contains("echo a").doesNotContain("declare");
        assertThat(shell().run("echo b; set +x").err()).contains("echo b").doesNotContain("declare");
    }

    @Test
    default void shell_goneDirectory_isSaid() {
        shell().run("mkdir /tmp/gone; cd /tmp/gone; rmdir /tmp/gone");

        assertThat(shell().run("pwd").text()).isEqualTo("/\ncrab: /tmp/gone is gone; this call starts in /\n");
    }

    @Test
    default void shell_bytesThatAreNoText_areKept() {
        shell().run("j=$'\\xff\\xfe\\n\\x01'; IFS=:");

        assertThat(shell().run("printf %s \"$j\" | od -An -tx1; set -- a:b; echo $1")
                        .out())
                .isEqualTo(" ff fe 0a 01\na b\n");
    }

    @Test
    default void shell_stateInTheAttributes_bringsTheSessionBack() {
        shell().run("k=kept; cd /usr");
        Map<String, String> attributes = Map.copyOf(sandbox().attributes());
        sandbox().attributes().clear();
        assertThat(shell().run("echo ${k-lost}").text()).isEqualTo("lost\n");

        sandbox().attributes().putAll(attributes);

        assertThat(shell().run("echo $k; pwd").text()).isEqualTo("kept\n/usr\n");
    }

    @Test
    default void shell_leavesNoFileBehind() {
        String before =
                sandbox().exec("find / -xdev -newer /.crab-init -type f | sort").out();
        shell().run("x=1; cd /tmp; f() { :; }");

        assertThat(sandbox()
                        .exec("find / -xdev -newer /.crab-init -type f | sort")
                        .out())
                .isEqualTo(before);
    }

    private static String until(Sandbox.PtyShell terminal, String wanted) {
        StringBuilder shown = new StringBuilder();
        for (int i = 0; i < 100 && shown.indexOf(wanted) < 0; i++) {
            shown.append(terminal.read(Duration.ofMillis(200), Duration.ofSeconds(5)));
        }
        assertThat(shown.toString()).contains(wanted);
        return shown.toString();
    }

    @Test
    default void terminal_isAliveBetweenCalls() {
        try (Sandbox.PtyShell terminal = sandbox().pty("t1")) {
            terminal.type("v=41; cd /tmp; tty; stty size\n");
            assertThat(until(terminal, "24 80")).contains("/dev/pts/");
        }
        try (Sandbox.PtyShell again = sandbox().pty("t1")) {
            again.type("echo sum=$((v+1)) in $PWD\n");
            until(again, "sum=42 in /tmp");
        }
        try (Sandbox.PtyShell other = sandbox().pty("t2")) {
            other.type("echo v=${v-unset}\n");
            until(other, "v=unset");
        }
    }

    @Test
    default void terminal_outputWhileNobodyReads_isKeptUpToABound() {
        try (Sandbox.PtyShell terminal = sandbox().pty("t")) {
            terminal.type("seq 1 100000; touch /tmp/finished; echo fin''ished\n");
            sandbox().exec("while [ ! -e /tmp/finished ]; do sleep 0.05; done");

            String shown = until(terminal, "finished\r\n");

            assertThat(shown).contains("\n100000\r\n").hasSizeLessThan(200_000);
        }
    }

    @Test
    default void terminal_interruptCharacter_endsTheForegroundProgram() {
        try (Sandbox.PtyShell terminal = sandbox().pty("t")) {
            terminal.type("sleep 1000; echo after $?\n");
            sandbox().exec("while ! pgrep -x sleep > /dev/null; do sleep 0.05; done");
            terminal.type("\u0003");
            until(terminal, "^C");

            terminal.type("echo grüße\n");

            until(terminal, "\rgrüße\r\n");
        }
    }

    @Test
    default void terminal_whoseShellEnded_startsAnewWhenOpened() {
        try (Sandbox.PtyShell terminal = sandbox().pty("t")) {
            terminal.type("w=1; exit\n");
            until(terminal, "exit");
            sandbox().exec("while pgrep -x bash -t pts/0 > /dev/null; do sleep 0.05; done");
        }
        try (Sandbox.PtyShell again = sandbox().pty("t")) {
            again.type("echo w=${w-unset}\n");
            until(again, "w=unset");
        }
    }
}

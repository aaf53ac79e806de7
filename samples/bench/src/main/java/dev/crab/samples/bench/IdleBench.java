package dev.crab.samples.bench;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.TurnOutcome;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** How often a sandbox whose services merely wait between turns costs a dump all the same. */
@Command(
        name = "idle",
        mixinStandardHelpOptions = true,
        description = {
            "Turns that do nothing beside services that wait: how many were judged unchanged, how many were dumped for nothing.",
            "",
            "Services that the image does not have are left out.",
            ""
        })
final class IdleBench extends Measurement {
    private static final Duration WAIT = Duration.ofSeconds(1);
    private static final long MEMORY = 2L << 30;

    /**
     * A service.
     *
     * @param needs a program that the image must have
     * @param start bash that starts it and returns once it serves
     */
    private record Service(String name, String needs, String start) {}

    private static final List<Service> SERVICES = List.of(
            new Service("bash that reads a FIFO", "bash", IDLE_BASH),
            new Service("perl that polls every 100 ms", "perl", background("perl -e 'syscall(7, 0, 0, 100) while 1'")),
            new Service(
                    "python that sleeps for 100 ms",
                    "python3",
                    background("python3 -c 'import time\nwhile True: time.sleep(0.1)'")),
            new Service("python http.server", "python3", IDLE_SANDBOX),
            new Service("redis", "redis-server", background("redis-server --port 6400 --save ''")),
            new Service("nginx", "nginx", "nginx; sleep 1"),
            new Service(
                    "node http server",
                    "node",
                    background("node -e 'require(\"http\").createServer((q, a) => a.end()).listen(3000)'")),
            new Service("JVM http server", "javac", """
                    set -e; cd /srv; cat > S.java <<'END'
                    public class S {
                        public static void main(String[] a) throws Exception {
                            var at = new java.net.InetSocketAddress("127.0.0.1", 3001);
                            com.sun.net.httpserver.HttpServer.create(at, 0).start();
                        }
                    }
                    END
                    javac S.java
                    """ + background("java -Xmx64m S")),
            new Service("postgres", "pg_ctlcluster", "pg_ctlcluster 15 main start; sleep 2"));

    @Option(
            names = "--image",
            paramLabel = "DIR",
            description = "The root file system of the sandboxes. Default: the Debian image that setup makes.")
    private @Nullable Path image;

    private static String background(String command) {
        return "{ setsid " + command + " > /dev/null 2>&1 < /dev/null & } && sleep 2";
    }

    @Override
    Report measure(CrabRuntime runtime, int count) {
        SandboxSpec spec = SandboxSpec.defaults().withMemoryLimit(MEMORY);
        if (image != null) {
            spec = spec.withImage(new SandboxImage.Directory(image.toAbsolutePath()));
        }
        Report report = new Report("Idle services, captures", Machine.describe());
        int done = 0;
        for (Service service : SERVICES) {
            try {
                service(runtime, spec, service, count, report);
            } catch (CrabException e) {
                if (e.code() != ErrorCode.CAPTURE_FAILED) {
                    throw e;
                }
                String why = e.why()
                        .lines()
                        .filter(line -> line.contains("Error"))
                        .findFirst()
                        .orElse(e.why());
                report.note(service.name + ": cannot be dumped on this host: " + why);
            }
            progress("service", ++done, SERVICES.size());
        }
        return report;
    }

    private void service(CrabRuntime runtime, SandboxSpec spec, Service service, int count, Report report) {
        try (SandboxSession session = runtime.open(sessionName("idle"), spec)) {
            ExecRequest look = ExecRequest.of("/bin/bash", "-c", "command -v " + service.needs);
            if (!session.sandbox().exec(look).isSuccess()) {
                report.note(service.name + ": not in the image");
                return;
            }
            turn(session, service.start);
            Series captures = new Series(service.name);
            int unchanged = 0;
            int dropped = 0;
            for (int i = 0; i < count; i++) {
                LockSupport.parkNanos(WAIT.toNanos());
                TurnOutcome outcome = turn(session, "true");
                captures.add(outcome.captureNanos());
                if (outcome.effects().effect() == Effect.NONE) {
                    unchanged++;
                } else if (outcome.saved() != TurnOutcome.Saved.PROCESSES_AND_FILES) {
                    dropped++;
                }
            }
            report.add(captures);
            report.note(String.format(
                    "%s: of %d turns %d unchanged, %d whose dump equalled the one before, %d dumped",
                    service.name, count, unchanged, dropped, count - unchanged - dropped));
        }
    }
}

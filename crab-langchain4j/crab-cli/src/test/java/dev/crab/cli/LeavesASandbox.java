package dev.crab.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** A program that commits a turn, says the host pid of its sandbox's pid 1, and waits to be killed: DATA SESSION IMAGE. */
final class LeavesASandbox {
    private LeavesASandbox() {}

    public static void main(String[] arguments) throws InterruptedException {
        SandboxSpec spec = SandboxSpec.defaults().withImage(new SandboxImage.Directory(Path.of(arguments[2])));
        CrabRuntime runtime =
                CrabRuntime.builder().dataDirectory(Path.of(arguments[0])).build();
        SandboxSession session = runtime.open(arguments[1], spec);
        session.beginTurn().commit(JsonNodeFactory.instance.objectNode());
        SandboxFactory.RunningSandbox running = (SandboxFactory.RunningSandbox) session.sandbox();
        System.out.println(running.processes().initPid());
        new CountDownLatch(1).await();
    }
}

package dev.crab.runtime.inspector;

import org.junit.jupiter.api.Test;

class FirstSliceTest {
    @Test
    void slice_works() throws Exception {
        try (TestSandbox sandbox = new TestSandbox();
                TracepointInspector inspector = new TracepointInspector();
                TurnInspector.Watch watch = inspector.watch(sandbox.target())) {
            for (String command : new String[] {
                "true",
                "echo a > /root/x",
                "true",
                "cat /root/x",
                "sleep infinity >/dev/null 2>&1 &",
                "true",
                "true",
                "t=$(mktemp); rm $t",
                "chmod 600 /root/x; chmod 644 /root/x",
                "kill -STOP $(pidof sleep)",
                "true",
                "kill -CONT $(pidof sleep)",
                "true",
                "kill -9 $(pidof sleep)",
                "ls -la /usr",
                "ls -la /etc"
            }) {
                watch.begin();
                sandbox.run(command);
                long t = System.nanoTime();
                TurnEffects effects = watch.judge();
                long d = System.nanoTime() - t;
                System.out.println(command + " -> " + effects + " in " + d / 1000 + " us");
                if (effects.effect() == Effect.NONE) {
                    watch.rebase();
                } else {
                    sandbox.frozen(watch::rebase);
                }
            }
        }
    }
}

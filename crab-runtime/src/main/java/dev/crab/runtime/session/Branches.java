package dev.crab.runtime.session;

import java.util.List;
import java.util.concurrent.Callable;

/** Opens the sessions that were made for branches; all or, where that fails, none of them is left. */
final class Branches {
    private Branches() {}

    static List<SandboxSession> open(SessionServices services, List<String> names, SessionCircle circle) {
        boolean done = false;
        try {
            List<SandboxSession> open = SideBySide.all(
                    names.stream()
                            .<Callable<SandboxSession>>map(name -> () -> circle.openFresh(name))
                            .toList(),
                    session -> Quietly.all(session.id(), session::close));
            done = true;
            return open;
        } finally {
            if (!done) {
                names.forEach(name -> Quietly.all(name, () -> SessionRemoval.remove(services, name)));
            }
        }
    }
}

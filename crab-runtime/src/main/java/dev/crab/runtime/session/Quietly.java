package dev.crab.runtime.session;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Clean-up behind a failure: each step is tried, and what goes wrong is logged, so that the failure itself is what the caller sees. */
final class Quietly {
    private static final Logger LOG = LoggerFactory.getLogger(Quietly.class);

    private Quietly() {}

    static void all(String session, Runnable... steps) {
        for (Runnable step : steps) {
            try {
                step.run();
            } catch (RuntimeException e) {
                LOG.warn("session {}: something could not be cleaned up behind a failure", session, e);
            }
        }
    }
}

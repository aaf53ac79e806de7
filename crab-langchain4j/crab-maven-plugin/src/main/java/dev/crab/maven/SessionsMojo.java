package dev.crab.maven;

import org.apache.maven.plugins.annotations.Mojo;

/** Lists the sessions of the data directory. */
@Mojo(name = "sessions", requiresProject = false)
public final class SessionsMojo extends CommandMojo {
    @Override
    String command() {
        return "sessions";
    }
}

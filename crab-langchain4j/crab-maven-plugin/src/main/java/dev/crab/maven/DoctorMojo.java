package dev.crab.maven;

import org.apache.maven.plugins.annotations.Mojo;

/** Looks at everything that Crab needs on this host: what is there, what is missing, and the cure. Installs nothing. */
@Mojo(name = "doctor", requiresProject = false)
public final class DoctorMojo extends CommandMojo {
    @Override
    String command() {
        return "doctor";
    }
}

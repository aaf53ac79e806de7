package dev.crab.runtime.sandbox;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.Cgroup;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.os.NetNamespace;
import dev.crab.runtime.snapshot.Volume;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.regex.Pattern;

/** Makes sandboxes by runc over an overlay mount, with a pid 1 of Crab's own. Thread-safe. */
public final class RuncSandboxFactory implements SandboxFactory {
    private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9._-]{0,120}");

    private final Path data;
    private final ImageStore images;
    private final Cgroups cgroups;

    /** A factory that keeps unpacked images under that data directory. Fails with CGROUP_V2_MISSING where there is no such hierarchy. */
    public RuncSandboxFactory(Path data) {
        this.data = data;
        this.images = new ImageStore(data.resolve("images"));
        this.cgroups = Cgroups.detect();
    }

    @Override
    public Path resolve(SandboxImage image) {
        return images.resolve(image);
    }

    @Override
    public Place prepare(String id, SandboxSpec spec, Volume volume) {
        checkName(id);
        Path lower = resolve(spec.image());
        RunFiles files = RunFiles.of(data, id);
        Cgroup cgroup = cgroups.group(id);
        if (cgroup.exists()) {
            throw taken(id, "its cgroup " + cgroup.unified() + " exists");
        }
        try {
            files.create();
        } catch (FileAlreadyExistsException e) {
            throw taken(id, files.directory() + " exists");
        } catch (IOException e) {
            throw CrabException.io("a place for sandbox " + id + " could not be made", e);
        }
        boolean made = false;
        try {
            NetNamespace.create(files.networkNamespace());
            cgroups.create(id, spec.memoryLimit(), spec.pidLimit() + RuncPlace.BUILDERS);
            made = true;
            return new RuncPlace(id, spec, volume, lower, files, cgroups);
        } catch (IOException e) {
            throw CrabException.io("a place for sandbox " + id + " could not be made", e);
        } finally {
            if (!made) {
                RuncPlace.dismantle(files, cgroup, id);
            }
        }
    }

    @Override
    public void sweep(String id) {
        checkName(id);
        RuncPlace.dismantle(RunFiles.of(data, id), cgroups.group(id), id);
    }

    private static void checkName(String id) {
        if (!NAME.matcher(id).matches()) {
            throw CrabException.of(
                    ErrorCode.NAME_INVALID,
                    "a sandbox cannot be named " + id,
                    "a name is 1 to 121 of a-z, 0-9, dot, dash and underscore, and starts with a letter or digit",
                    "choose another name");
        }
    }

    private static CrabException taken(String id, String why) {
        return CrabException.of(
                ErrorCode.NAME_TAKEN,
                "sandbox " + id + " cannot be made",
                why,
                "close the sandbox of that name, or sweep what its dead owner left");
    }
}

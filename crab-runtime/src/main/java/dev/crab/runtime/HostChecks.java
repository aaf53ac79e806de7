package dev.crab.runtime;

import dev.crab.runtime.CrabSupport.Check;
import dev.crab.runtime.CrabSupport.Status;
import dev.crab.runtime.criu.CriuClient;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.InspectorTier;
import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.os.Executables;
import dev.crab.runtime.os.Filesystems;
import dev.crab.runtime.snapshot.SnapshotKind;
import dev.crab.runtime.snapshot.Snapshotters;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The prerequisites, one method each. Each looks at the thing itself: programs are loaded and asked, not looked up in a list. */
final class HostChecks {
    /** Nothing can be stored in these. */
    private static final Set<String> KERNEL_FILE_SYSTEMS = Set.of(
            "proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "devtmpfs", "bpf", "securityfs", "configfs");

    private static final int CAP_SYS_ADMIN = 21;
    private static final long ROOM_BYTES = 1L << 30;
    private static final String SETUP = "run ./crab setup";

    private final CrabConfig config;

    HostChecks(CrabConfig config) {
        this.config = config;
    }

    List<Check> all() {
        List<Check> checks = new ArrayList<>();
        checks.add(guarded("platform", this::platform));
        checks.add(guarded("privileges", this::privileges));
        checks.add(guarded("btf", this::btf));
        checks.add(guarded("bpf", this::bpf));
        checks.add(guarded("criu", this::criu));
        checks.add(guarded("cgroup-v2", this::cgroup));
        checks.add(guarded("runc", this::runc));
        checks.add(guarded("overlayfs", this::overlay));
        checks.add(guarded("snapshots", this::snapshots));
        checks.add(guarded("data-directory", this::dataDirectory));
        checks.add(guarded("image", this::image));
        return List.copyOf(checks);
    }

    /** A check that itself fails has found something, too. */
    private static Check guarded(String name, Supplier<Check> check) {
        try {
            return check.get();
        } catch (CrabException e) {
            return new Check(name, Status.MISSING, e.what() + ": " + e.why(), e.cure(), e.code());
        } catch (RuntimeException | LinkageError e) {
            return new Check(name, Status.MISSING, e.toString(), "report this as a fault of Crab", ErrorCode.INTERNAL);
        }
    }

    private Check platform() {
        String found = System.getProperty("os.name") + " " + System.getProperty("os.version") + " on "
                + System.getProperty("os.arch");
        return System.getProperty("os.name").equals("Linux")
                        && System.getProperty("os.arch").equals("amd64")
                ? ok("platform", found)
                : missing(
                        "platform",
                        found + ", and Crab knows the system calls of x86-64 Linux only",
                        "run it on x86-64 Linux",
                        ErrorCode.PLATFORM_UNSUPPORTED);
    }

    private Check privileges() {
        String uid = status("Uid").split("\\s+", -1)[1];
        long capabilities = Long.parseUnsignedLong(status("CapEff"), 16);
        boolean admin = (capabilities & 1L << CAP_SYS_ADMIN) != 0;
        return uid.equals("0") && admin
                ? ok("privileges", "root with CAP_SYS_ADMIN")
                : missing(
                        "privileges",
                        uid.equals("0") ? "root, but without CAP_SYS_ADMIN" : "not root (user " + uid + ")",
                        uid.equals("0") ? "start the container with --privileged" : "run as root, for instance by sudo",
                        ErrorCode.NOT_ROOT);
    }

    private static String status(String field) {
        try {
            return Files.readAllLines(Path.of("/proc/self/status"), StandardCharsets.ISO_8859_1).stream()
                    .filter(line -> line.startsWith(field + ":"))
                    .map(line -> line.substring(field.length() + 1).strip())
                    .findFirst()
                    .orElse("");
        } catch (IOException e) {
            throw CrabException.io("this process's privileges cannot be read", e);
        }
    }

    private Check btf() {
        Path btf = Path.of("/sys/kernel/btf/vmlinux");
        if (config.inspector() != InspectorTier.TRACEPOINT) {
            return ok(
                    "btf",
                    "not needed by the inspector's tier " + config.inspector().label());
        }
        return Files.isReadable(btf)
                ? ok("btf", btf.toString())
                : missing(
                        "btf",
                        btf + " is not there: the kernel does not describe its types",
                        "run a kernel with CONFIG_DEBUG_INFO_BTF",
                        ErrorCode.BTF_MISSING);
    }

    private Check bpf() {
        InspectorTier tier = config.inspector();
        try (TurnInspector inspector = tier.open(config.files())) {
            String does = tier == InspectorTier.TRACEPOINT ? "the inspector's programs are loaded and attached, " : "";
            return ok("bpf", does + "tier " + inspector.tier() + "; it does not see " + tier.blindTo());
        }
    }

    private Check criu() {
        Path binary = CrabRuntime.criu(config);
        try (CriuClient criu = CriuClient.open(binary)) {
            Path passed = Path.of("/usr/local/lib/crab/criu/passed");
            return Files.isDirectory(passed)
                    ? ok("criu", binary + ", version " + criu.features().version() + ", self-test passed")
                    : warning(
                            "criu",
                            binary + ", version " + criu.features().version()
                                    + ", whose self-test was never run on this host",
                            SETUP);
        }
    }

    private Check cgroup() {
        return ok("cgroup-v2", "mounted at " + Cgroups.detect().unified());
    }

    private Check runc() {
        Optional<Path> runc = Executables.find("runc");
        if (runc.isEmpty()) {
            return missing("runc", "no runc in PATH", SETUP, ErrorCode.RUNC_MISSING);
        }
        String version = firstLine(runc.get().toString(), "--version");
        return version == null
                ? missing("runc", runc.get() + " does not run", SETUP, ErrorCode.RUNC_MISSING)
                : ok("runc", runc.get() + ", " + version);
    }

    private Check overlay() {
        return Filesystems.isKnown("overlay")
                ? ok("overlayfs", "known to the kernel")
                : missing("overlayfs", "the kernel has no overlay", "modprobe overlay", ErrorCode.PLATFORM_UNSUPPORTED);
    }

    private Check snapshots() {
        Path existing = existing(config.data());
        String obstacle = unusable(existing);
        if (obstacle != null) {
            return missing("snapshots", obstacle, "see data-directory", ErrorCode.DATA_DIRECTORY_UNUSABLE);
        }
        Snapshotters.Choice choice = Snapshotters.choose(config.data(), existing, config.snapshotter());
        String found = "by " + choice.kind().name().toLowerCase(Locale.ROOT) + ": " + choice.why();
        return choice.kind() == SnapshotKind.COPY && config.snapshotter() == SnapshotKind.AUTO
                ? warning("snapshots", found + "; each one copies all that the sandbox has written", SETUP)
                : ok("snapshots", found);
    }

    /** What stands in the way of a data directory there; null if nothing does. */
    private @Nullable String unusable(Path existing) {
        if (!Files.isDirectory(existing)) {
            return existing + " is not a directory";
        }
        try {
            FileStore store = Files.getFileStore(existing);
            if (KERNEL_FILE_SYSTEMS.contains(store.type())) {
                return existing + " is the kernel's (" + store.type() + ")";
            }
            if (store.isReadOnly()) {
                return existing + " is on a read-only file system";
            }
        } catch (IOException e) {
            return "the file system of " + existing + " cannot be told: " + CrabException.reason(e);
        }
        return Files.isWritable(existing) ? null : existing + " cannot be written to by this user";
    }

    private Check dataDirectory() {
        Path existing = existing(config.data());
        String obstacle = unusable(existing);
        if (obstacle != null) {
            return missing(
                    "data-directory",
                    obstacle,
                    "set crab.data (--data) to a directory on a disk that can be written to, and run as root",
                    ErrorCode.DATA_DIRECTORY_UNUSABLE);
        }
        try {
            long free = Files.getFileStore(existing).getUsableSpace();
            String found = config.data() + (existing.equals(config.data()) ? "" : " (not made yet)") + ", "
                    + String.format(Locale.ROOT, "%.1f GiB free", free / (double) (1L << 30));
            return free >= ROOM_BYTES
                    ? ok("data-directory", found)
                    : warning("data-directory", found, "free space, or set crab.data to another file system");
        } catch (IOException e) {
            throw CrabException.io("the room below " + existing + " cannot be told", e);
        }
    }

    private Check image() {
        Path stamp = config.data().resolve("images/debian.complete");
        if (Files.exists(stamp)) {
            return ok("image", config.data().resolve("images/debian").toString());
        }
        // The data directory is its owner's alone: another user cannot tell.
        return Files.exists(config.data()) && !Files.isExecutable(config.data())
                ? warning("image", "this user cannot look into " + config.data(), "run the doctor as root")
                : warning("image", "no Debian image here: a sandbox needs one of your own, or this one", SETUP);
    }

    private static @Nullable String firstLine(String... command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readNBytes(4096), StandardCharsets.UTF_8);
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                return null;
            }
            return process.exitValue() == 0 ? output.lines().findFirst().orElse("") : null;
        } catch (IOException e) {
            return null;
        } catch (InterruptedException e) {
            throw CrabException.interrupted("a check of the host", e);
        }
    }

    /** The path itself or, where it does not exist, the nearest directory above it that does. */
    private static Path existing(Path path) {
        Path at = path;
        while (!Files.exists(at)) {
            Path parent = at.getParent();
            if (parent == null) {
                return at;
            }
            at = parent;
        }
        return at;
    }

    private static Check ok(String name, String detail) {
        return new Check(name, Status.OK, detail, "", null);
    }

    private static Check warning(String name, String detail, String cure) {
        return new Check(name, Status.WARNING, detail, cure, null);
    }

    private static Check missing(String name, String detail, String cure, ErrorCode code) {
        return new Check(name, Status.MISSING, detail, cure, code);
    }
}

package dev.crab.runtime.sandbox;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.os.Cgroups;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;

/**
 * The OCI configuration of a sandbox: as lean as can be, because every mount and every tie to the host costs a checkpoint time or makes
 * it impossible.
 *
 * <p>Only proc and devpts are mounted; the device nodes lie in the writable layer, /tmp and /dev/shm too, so that a snapshot has them.
 * What protects the host after a restore must lie in the tasks themselves (capabilities, system-call filter, no new privileges): the
 * runtime's device cgroup does not come back. So there is no CAP_MKNOD, and the filter denies device nodes once more.
 */
final class RuncConfig {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static final List<String> CAPABILITIES = List.of(
            "CAP_AUDIT_WRITE",
            "CAP_CHOWN",
            "CAP_DAC_OVERRIDE",
            "CAP_FOWNER",
            "CAP_FSETID",
            "CAP_KILL",
            "CAP_NET_BIND_SERVICE",
            "CAP_NET_RAW",
            "CAP_SETFCAP",
            "CAP_SETGID",
            "CAP_SETPCAP",
            "CAP_SETUID",
            "CAP_SYS_CHROOT");

    private static final List<String> MASKED =
            List.of("/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug");
    private static final List<String> READ_ONLY = List.of(
            "/proc/acpi",
            "/proc/asound",
            "/proc/bus",
            "/proc/fs",
            "/proc/irq",
            "/proc/scsi",
            "/proc/sys",
            "/proc/sysrq-trigger");

    private RuncConfig() {}

    static byte[] of(String id, SandboxSpec spec, Path root, Path networkNamespace) throws IOException {
        ObjectNode config = JSON.createObjectNode();
        config.put("ociVersion", "1.0.2");
        config.put("hostname", spec.hostname());
        config.putObject("root").put("path", root.toString()).put("readonly", false);
        process(config.putObject("process"));
        ArrayNode mounts = config.putArray("mounts");
        mount(mounts, "/proc", "proc", "nosuid", "noexec", "nodev");
        mount(mounts, "/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620");
        ObjectNode linux = config.putObject("linux");
        linux.put("cgroupsPath", Cgroups.ociPath(id));
        linux.putObject("resources");
        ArrayNode namespaces = linux.putArray("namespaces");
        for (String type : List.of("pid", "ipc", "uts", "mount")) {
            namespaces.addObject().put("type", type);
        }
        namespaces.addObject().put("type", "network").put("path", networkNamespace.toString());
        strings(linux.putArray("maskedPaths"), MASKED);
        strings(linux.putArray("readonlyPaths"), READ_ONLY);
        linux.set("seccomp", seccomp());
        return JSON.writeValueAsBytes(config);
    }

    private static void process(ObjectNode process) {
        process.put("terminal", false);
        process.put("cwd", "/");
        process.put("noNewPrivileges", true);
        process.putObject("user").put("uid", 0).put("gid", 0);
        process.putArray("args").add("/" + InitBinary.NAME);
        process.putArray("env").add("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
        ObjectNode capabilities = process.putObject("capabilities");
        for (String set : List.of("bounding", "effective", "permitted")) {
            strings(capabilities.putArray(set), CAPABILITIES);
        }
    }

    private static void mount(ArrayNode mounts, String where, String type, String... options) {
        ObjectNode mount = mounts.addObject();
        mount.put("destination", where).put("type", type).put("source", type);
        strings(mount.putArray("options"), List.of(options));
    }

    private static void strings(ArrayNode array, List<String> values) {
        values.forEach(array::add);
    }

    private static JsonNode seccomp() throws IOException {
        try (InputStream profile = RuncConfig.class.getResourceAsStream("seccomp.json")) {
            if (profile == null) {
                throw new IOException("the resource seccomp.json is missing");
            }
            return JSON.readTree(profile);
        }
    }
}

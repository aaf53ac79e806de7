package dev.crab.runtime.libbpf;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A loaded CO-RE object: its programs, to be attached, and its maps. Loading needs root, the kernel's BTF and libbpf 1.x; attached links
 * must be closed before the object. Attaching and closing are not thread-safe, maps are.
 */
public final class BpfObject implements AutoCloseable {
    /** The inspector's object in the class path. */
    public static final String INSPECTOR = "/dev/crab/bpf/inspector.bpf.o";

    /** Bytes of struct bpf_prog_info that are asked for, and where in it the field is. */
    private static final int PROGRAM_INFO = 216;

    private static final int RECURSION_MISSES = 208;

    private static final Path KERNEL_BTF = Path.of("/sys/kernel/btf/vmlinux");

    /** A C struct as the object's BTF describes it: its size and its members' offsets, in bytes. */
    public record Layout(int size, Map<String, Integer> offsets) {
        public Layout {
            offsets = Map.copyOf(offsets);
        }

        /** Where a member begins. */
        public int offset(String member) {
            Integer offset = offsets.get(member);
            if (offset == null) {
                throw new IllegalArgumentException("no such member: " + member);
            }
            return offset;
        }
    }

    private final LibBpf bpf;
    private final Pointer object;
    private final Map<String, Pointer> programs;
    private boolean closed;

    private BpfObject(LibBpf bpf, Pointer object, Map<String, Pointer> programs) {
        this.bpf = bpf;
        this.object = object;
        this.programs = programs;
    }

    /**
     * Loads an object from the class path.
     *
     * @param resource absolute class-path name
     * @param optional programs to leave out where the running kernel does not have their tracepoint
     * @throws CrabException LIBBPF_MISSING, BTF_MISSING, or BPF_REFUSED with libbpf's own words
     */
    public static BpfObject load(String resource, Set<String> optional) {
        LibBpf bpf = library();
        if (!Files.isReadable(KERNEL_BTF)) {
            throw CrabException.of(
                    ErrorCode.BTF_MISSING,
                    "the inspector's programs cannot be loaded",
                    KERNEL_BTF + " is not readable",
                    "run a kernel built with CONFIG_DEBUG_INFO_BTF=y, as root, or choose the tier that needs none (crab.inspector=scan)");
        }
        byte[] bytes = read(resource);
        synchronized (BpfLog.INSTANCE) {
            BpfLog.INSTANCE.clear();
            Pointer object = bpf.bpf_object__open_mem(bytes, new NativeLong(bytes.length), null);
            if (object == null) {
                throw refused("the object cannot be opened", Native.getLastError());
            }
            Map<String, Pointer> programs = new LinkedHashMap<>();
            for (Pointer program = bpf.bpf_object__next_program(object, null);
                    program != null;
                    program = bpf.bpf_object__next_program(object, program)) {
                String name = bpf.bpf_program__name(program);
                String section = bpf.bpf_program__section_name(program);
                if (optional.contains(name) && !exists(bpf, section)) {
                    bpf.bpf_program__set_autoload(program, false);
                } else {
                    programs.put(name, program);
                }
            }
            BpfLog.INSTANCE.clear();
            if (bpf.bpf_object__load(object) != 0) {
                CrabException refusal = refused("the kernel refused a program", Native.getLastError());
                bpf.bpf_object__close(object);
                throw refusal;
            }
            return new BpfObject(bpf, object, programs);
        }
    }

    /** Whether the program was loaded, that is, whether the kernel has its tracepoint. */
    public boolean has(String program) {
        return programs.containsKey(program);
    }

    /** Attaches a program to the tracepoint that its section names. */
    public BpfLink attach(String program) {
        Pointer pointer = programs.get(program);
        if (pointer == null) {
            throw new IllegalArgumentException("not a loaded program: " + program);
        }
        synchronized (BpfLog.INSTANCE) {
            BpfLog.INSTANCE.clear();
            Pointer link = bpf.bpf_program__attach(pointer);
            if (link == null) {
                throw refused("program " + program + " cannot be attached", Native.getLastError());
            }
            return new BpfLink(bpf, link);
        }
    }

    /** Names of the loaded programs, in the object's order. */
    public List<String> programs() {
        return new ArrayList<>(programs.keySet());
    }

    /**
     * How often the kernel has left out a run of one of the programs since they were loaded, because that program was just running on the
     * same processor (an interrupt came in between). What happened then is not known. Field {@code recursion_misses} of struct
     * bpf_prog_info (linux/bpf.h, Linux 5.12).
     */
    public long missedRuns() {
        long missed = 0;
        try (Memory info = new Memory(PROGRAM_INFO)) {
            for (Map.Entry<String, Pointer> program : programs.entrySet()) {
                info.clear();
                IntByReference length = new IntByReference(PROGRAM_INFO);
                int fd = bpf.bpf_program__fd(program.getValue());
                if (bpf.bpf_obj_get_info_by_fd(fd, info, length) != 0 || length.getValue() < PROGRAM_INFO) {
                    throw refused("the kernel does not tell how " + program.getKey() + " fares", Native.getLastError());
                }
                missed += info.getLong(RECURSION_MISSES);
            }
        }
        return missed;
    }

    /** A map of the object. */
    public BpfMap map(String name) {
        Pointer map = bpf.bpf_object__find_map_by_name(object, name);
        if (map == null) {
            throw new IllegalArgumentException("no such map: " + name);
        }
        return new BpfMap(
                bpf, name, bpf.bpf_map__fd(map), bpf.bpf_map__key_size(map), bpf.bpf_map__value_size(map), false);
    }

    /** Makes a hash map of its own, for use within a map of maps. The caller closes it. */
    public BpfMap newHashMap(String name, int keySize, int valueSize, int maxEntries) {
        int fd = bpf.bpf_map_create(LibBpf.BPF_MAP_TYPE_HASH, name, keySize, valueSize, maxEntries, null);
        if (fd < 0) {
            throw refused("map " + name + " cannot be made", Native.getLastError());
        }
        return new BpfMap(bpf, name, fd, keySize, valueSize, true);
    }

    /** The layout of a struct of the object, from its BTF (struct btf_type, linux/btf.h). */
    public Layout structure(String name) {
        Pointer btf = btf();
        Pointer type = type(btf, name, LibBpf.BTF_KIND_STRUCT);
        Map<String, Integer> offsets = new HashMap<>();
        int members = type.getInt(4) & 0xffff;
        for (int i = 0; i < members; i++) {
            long member = 12 + 12L * i;
            offsets.put(bpf.btf__name_by_offset(btf, type.getInt(member)), (type.getInt(member + 8) & 0xffffff) / 8);
        }
        return new Layout(type.getInt(8), offsets);
    }

    /** The enumerators of an enum of the object with their values, in order. */
    public Map<String, Integer> enumeration(String name) {
        Pointer btf = btf();
        Pointer type = type(btf, name, LibBpf.BTF_KIND_ENUM);
        Map<String, Integer> values = new LinkedHashMap<>();
        int members = type.getInt(4) & 0xffff;
        for (int i = 0; i < members; i++) {
            long member = 12 + 8L * i;
            values.put(bpf.btf__name_by_offset(btf, type.getInt(member)), type.getInt(member + 4));
        }
        return values;
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            bpf.bpf_object__close(object);
        }
    }

    private Pointer btf() {
        Pointer btf = bpf.bpf_object__btf(object);
        if (btf == null) {
            throw new IllegalStateException("the object has no BTF");
        }
        return btf;
    }

    private Pointer type(Pointer btf, String name, int kind) {
        int id = bpf.btf__find_by_name_kind(btf, name, kind);
        Pointer type = id < 0 ? null : bpf.btf__type_by_id(btf, id);
        if (type == null) {
            throw new IllegalArgumentException("no such type: " + name);
        }
        return type;
    }

    private static boolean exists(LibBpf bpf, String section) {
        return bpf.libbpf_find_vmlinux_btf_id(section.substring(section.indexOf('/') + 1), LibBpf.BPF_TRACE_RAW_TP)
                >= 0;
    }

    private static LibBpf library() {
        String cure = "install libbpf 1.0 or newer (Debian: apt-get install libbpf1), or run ./crab setup";
        LibBpf bpf;
        try {
            bpf = Holder.LIBRARY;
        } catch (LinkageError e) {
            throw CrabException.of(ErrorCode.LIBBPF_MISSING, "libbpf cannot be used", reason(e), cure, e);
        }
        if (bpf.libbpf_major_version() < 1) {
            throw CrabException.of(
                    ErrorCode.LIBBPF_MISSING, "libbpf cannot be used", "its version is older than 1.0", cure);
        }
        return bpf;
    }

    private static String reason(LinkageError error) {
        @Nullable Throwable cause = error.getCause() == null ? error : error.getCause();
        return String.valueOf(cause.getMessage()).lines().findFirst().orElse("libbpf.so.1 was not found");
    }

    private static byte[] read(String resource) {
        try (InputStream in = BpfObject.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw CrabException.of(
                        ErrorCode.INTERNAL,
                        "the inspector's programs cannot be loaded",
                        resource + " is not in the class path",
                        "put crab-bpf's jar on the class path");
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw CrabException.io("the inspector's programs cannot be read", e);
        }
    }

    private static CrabException refused(String what, int error) {
        List<String> lines = BpfLog.INSTANCE.lines();
        return CrabException.of(
                ErrorCode.BPF_REFUSED,
                what,
                "errno " + error + (lines.isEmpty() ? "" : ": " + String.join(" | ", lines)),
                "run as root on a kernel with BPF and BTF tracepoints (./crab doctor names what is missing), or choose the tier that"
                        + " needs none (crab.inspector=scan)");
    }

    /** Loads the library on first use, so that its absence is an answer and not a crash of this class. */
    private static final class Holder {
        static final LibBpf LIBRARY = open();

        private static LibBpf open() {
            LibBpf bpf = Native.load("libbpf.so.1", LibBpf.class);
            bpf.libbpf_set_print(BpfLog.INSTANCE);
            return bpf;
        }
    }
}

package dev.crab.runtime.libbpf;

import com.sun.jna.Callback;
import com.sun.jna.Library;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import org.jspecify.annotations.Nullable;

/** The part of libbpf 1.x that Crab needs. Functions return null or a negative number on failure and set errno. */
interface LibBpf extends Library {
    /** {@code enum bpf_attach_type} of BTF tracepoints (linux/bpf.h). */
    int BPF_TRACE_RAW_TP = 23;

    /** {@code enum bpf_map_type} (linux/bpf.h). */
    int BPF_MAP_TYPE_HASH = 1;

    /** {@code BTF_KIND_*} (linux/btf.h). */
    int BTF_KIND_STRUCT = 4;

    int BTF_KIND_ENUM = 6;

    /** Receives libbpf's messages as a format and its arguments. */
    interface Printer extends Callback {
        int print(int level, Pointer format, Pointer arguments);
    }

    @Nullable
    Printer libbpf_set_print(@Nullable Printer printer);

    int libbpf_major_version();

    int libbpf_find_vmlinux_btf_id(String name, int attachType);

    @Nullable
    Pointer bpf_object__open_mem(byte[] object, NativeLong size, @Nullable Pointer options);

    int bpf_object__load(Pointer object);

    void bpf_object__close(Pointer object);

    @Nullable
    Pointer bpf_object__next_program(Pointer object, @Nullable Pointer previous);

    @Nullable
    Pointer bpf_object__find_map_by_name(Pointer object, String name);

    @Nullable
    Pointer bpf_object__btf(Pointer object);

    String bpf_program__name(Pointer program);

    String bpf_program__section_name(Pointer program);

    int bpf_program__set_autoload(Pointer program, boolean on);

    @Nullable
    Pointer bpf_program__attach(Pointer program);

    int bpf_program__fd(Pointer program);

    int bpf_obj_get_info_by_fd(int fd, Pointer info, IntByReference length);

    int bpf_link__destroy(Pointer link);

    int bpf_map__fd(Pointer map);

    int bpf_map__key_size(Pointer map);

    int bpf_map__value_size(Pointer map);

    int bpf_map_create(int type, String name, int keySize, int valueSize, int maxEntries, @Nullable Pointer options);

    int bpf_map_lookup_elem(int fd, byte[] key, byte[] value);

    int bpf_map_update_elem(int fd, byte[] key, byte[] value, long flags);

    int bpf_map_delete_elem(int fd, byte[] key);

    int bpf_map_lookup_batch(
            int fd,
            @Nullable Pointer in,
            Pointer out,
            Pointer keys,
            Pointer values,
            IntByReference count,
            @Nullable Pointer options);

    int btf__find_by_name_kind(Pointer btf, String name, int kind);

    @Nullable
    Pointer btf__type_by_id(Pointer btf, int id);

    String btf__name_by_offset(Pointer btf, int offset);
}

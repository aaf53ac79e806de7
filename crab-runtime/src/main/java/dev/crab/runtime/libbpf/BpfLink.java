package dev.crab.runtime.libbpf;

import com.sun.jna.Pointer;
import org.jspecify.annotations.Nullable;

/** An attached program. Closing detaches it. Thread-safe. */
public final class BpfLink implements AutoCloseable {
    private final LibBpf bpf;
    private @Nullable Pointer link;

    BpfLink(LibBpf bpf, Pointer link) {
        this.bpf = bpf;
        this.link = link;
    }

    @Override
    public synchronized void close() {
        if (link != null) {
            bpf.bpf_link__destroy(link);
            link = null;
        }
    }
}

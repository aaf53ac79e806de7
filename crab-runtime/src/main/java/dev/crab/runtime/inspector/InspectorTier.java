package dev.crab.runtime.inspector;

/** The ways to learn what a turn did, the sharpest first. All are sound; they differ in how often they save for nothing. */
public enum InspectorTier {
    /** {@link TracepointInspector}: needs root, the kernel's BTF and libbpf 1.x. */
    TRACEPOINT(TracepointInspector.TIER, "what its documentation lists (docs/inspector.md)"),

    /** {@link ScanInspector}: needs nothing of the kernel. */
    SCAN(ScanInspector.TIER, "what processes do that live on between turns: while there is one, every turn is dumped"),

    /** {@link AlwaysInspector}: needs nothing, sees nothing. */
    ALWAYS(AlwaysInspector.TIER, "anything: every turn is saved in full");

    private final String label;
    private final String blindTo;

    InspectorTier(String label, String blindTo) {
        this.label = label;
        this.blindTo = blindTo;
    }

    /** Its stable name in reports. */
    public String label() {
        return label;
    }

    /** What it does not see, in words that complete "it does not see …". */
    public String blindTo() {
        return blindTo;
    }

    /**
     * Makes an inspector of this tier.
     *
     * @param policy which changes of files count
     * @throws dev.crab.runtime.error.CrabException if the host does not let it work: LIBBPF_MISSING, BTF_MISSING, BPF_REFUSED
     */
    public TurnInspector open(FilePolicy policy) {
        return switch (this) {
            case TRACEPOINT -> new TracepointInspector(policy);
            case SCAN -> new ScanInspector(policy);
            case ALWAYS -> new AlwaysInspector();
        };
    }
}

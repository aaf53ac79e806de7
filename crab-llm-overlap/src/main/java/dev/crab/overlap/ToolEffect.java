package dev.crab.overlap;

/** Where the effect of a tool lies, and so what becomes of its result after a crash. */
public enum ToolEffect {
    /** In the sandbox: an uncommitted call runs again in the sandbox that was put back to before it. */
    SANDBOX,
    /** Nowhere (a claim): like {@link #SANDBOX}, and a turn of such tools alone that changed the sandbox is reported. */
    READ_ONLY,
    /** Outside: it cannot be undone, so a recorded result is served whether or not its turn was committed. */
    EXTERNAL
}

package dev.crab.runtime.criu;

/**
 * What the CRIU that was found can do.
 *
 * @param major first part of its version
 * @param minor second part
 * @param sublevel third part, 0 if it gives none
 * @param locksAfterMappings whether it takes POSIX locks again only after it has mapped files, so that they outlast that; releases up to 4.2.1
 *     do not, the one that setup builds does
 */
public record CriuFeatures(int major, int minor, int sublevel, boolean locksAfterMappings)
        implements Comparable<CriuFeatures> {
    /** The oldest version that dumps TCP sockets on current kernels and takes the options that Crab needs: 4.2. */
    public static final CriuFeatures MINIMUM = new CriuFeatures(4, 2, 0, false);

    /** {@code major.minor.sublevel}. */
    public String version() {
        return major + "." + minor + "." + sublevel;
    }

    public boolean isSufficient() {
        return compareTo(MINIMUM) >= 0;
    }

    @Override
    public int compareTo(CriuFeatures other) {
        int byMajor = Integer.compare(major, other.major);
        int byMinor = byMajor != 0 ? byMajor : Integer.compare(minor, other.minor);
        return byMinor != 0 ? byMinor : Integer.compare(sublevel, other.sublevel);
    }
}

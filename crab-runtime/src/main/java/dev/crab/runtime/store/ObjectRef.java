package dev.crab.runtime.store;

/**
 * Names one stored object and says what it must be.
 *
 * @param name the object's name in its store; {@code [a-z0-9][a-z0-9._-]{0,120}}
 * @param length bytes
 * @param sha256 64 lower-case hexadecimal digits
 */
public record ObjectRef(String name, long length, String sha256) {
    public ObjectRef {
        if (!name.matches("[a-z0-9][a-z0-9._-]{0,120}")) {
            throw new IllegalArgumentException("not an object's name: " + name);
        }
        if (length < 0) {
            throw new IllegalArgumentException("negative length: " + length);
        }
        if (!sha256.matches("[0-9a-f]{64}")) {
            throw new IllegalArgumentException("not a SHA-256: " + sha256);
        }
    }
}

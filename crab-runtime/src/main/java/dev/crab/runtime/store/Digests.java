package dev.crab.runtime.store;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** SHA-256 as the store writes it. */
final class Digests {
    private Digests() {}

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    static String sha256(byte[] content) {
        return hex(sha256().digest(content));
    }

    static String hex(byte[] digest) {
        return HexFormat.of().formatHex(digest);
    }
}

package dev.crab.samples.replay;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The policies by their labels. */
final class Policies {
    static final String NONE = "none";
    static final String CHAT = "chat";
    static final String FILES = "files";
    static final String FULL = "full";
    static final String CRAB = "crab";
    static final String PODMAN = "podman";

    /** Those that can be run everywhere, least first. */
    static final List<String> ALL = List.of(NONE, CHAT, FILES, FULL, CRAB);

    private Policies() {}

    /**
     * Those of the given ones that can be run here; says of the others why not.
     *
     * @param path where programs are looked for
     */
    static List<String> here(List<String> wanted, String path, Results results) {
        List<String> here = new ArrayList<>();
        for (String policy : wanted) {
            if (policy.equals(PODMAN)) {
                if (Podman.isIn(path)) {
                    here.add(policy);
                } else {
                    results.note("podman: not measured: absent, no program of that name is in PATH");
                }
            } else if (ALL.contains(policy)) {
                here.add(policy);
            } else {
                throw new IllegalArgumentException(
                        "no policy is named " + policy + ": " + String.join(", ", ALL) + ", " + PODMAN);
            }
        }
        return here;
    }

    static Policy open(AgentPlan plan) throws IOException {
        Path data = Path.of(plan.data());
        Path image = Path.of(plan.image());
        Map<String, Path> copies = new LinkedHashMap<>();
        plan.copies().forEach((to, from) -> copies.put(to, Path.of(from)));
        return switch (plan.policy()) {
            case NONE -> new PlainPolicy(PlainPolicy.Kept.NOTHING, data, image, copies);
            case CHAT -> new PlainPolicy(PlainPolicy.Kept.CHAT, data, image, copies);
            case FILES -> new PlainPolicy(PlainPolicy.Kept.FILES, data, image, copies);
            case FULL -> new PlainPolicy(PlainPolicy.Kept.EVERYTHING, data, image, copies);
            case PODMAN -> new PodmanPolicy(data, image, copies);
            case CRAB -> new CrabPolicy(data, image, copies);
            default -> throw new IllegalArgumentException("no policy is named " + plan.policy());
        };
    }
}

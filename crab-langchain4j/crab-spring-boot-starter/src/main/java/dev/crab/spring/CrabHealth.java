package dev.crab.spring;

import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabSupport;
import dev.crab.runtime.CrabSupport.Check;
import dev.crab.runtime.CrabSupport.Status;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Whether Crab can work on this host. Looked at once, when first asked: it loads the inspector's programs and starts CRIU. */
final class CrabHealth {
    private final CrabConfig config;
    private @Nullable List<Check> missing;

    CrabHealth(Map<String, String> settings) {
        config = CrabConfig.resolve(settings);
    }

    private synchronized List<Check> missing() {
        List<Check> known = missing;
        if (known == null) {
            known = config.enabled()
                    ? CrabSupport.checks(config).stream()
                            .filter(check -> check.status() == Status.MISSING)
                            .toList()
                    : List.of();
            missing = known;
        }
        return known;
    }

    boolean isUp() {
        return missing().isEmpty();
    }

    Map<String, Object> details() {
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("enabled", config.enabled());
        details.put("data", config.data().toString());
        for (Check check : missing()) {
            details.put(check.name(), check.code() + ": " + check.detail() + "; cure: " + check.cure());
        }
        return details;
    }
}

package dev.crab.runtime.inspector;

import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Turns evidence into an effect. A pure function, tried rule by rule; every rule that holds adds its reason, and the effect is their
 * union. The rules are explained in docs/inspector.md.
 */
final class EffectClassifier {
    private static final Map<KernelMark, String> PROCESS_RULES = new EnumMap<>(Map.of(
            KernelMark.OTHER_PROCESS, "other-process-changed",
            KernelMark.IPC, "ipc",
            KernelMark.MOUNT, "mount",
            KernelMark.KERNEL, "kernel-state"));

    private final Evidence evidence;
    private final List<EffectReason> reasons = new ArrayList<>();

    private EffectClassifier(Evidence evidence) {
        this.evidence = evidence;
    }

    static TurnEffects classify(Evidence evidence) {
        EffectClassifier classifier = new EffectClassifier(evidence);
        classifier.blindness();
        classifier.kernelState();
        classifier.processSet();
        classifier.survivors();
        classifier.channels();
        classifier.files();
        return TurnEffects.of(classifier.reasons);
    }

    /** Rule 1: where something could not be seen, everything may have changed. */
    private void blindness() {
        if (evidence.failure() != null) {
            because("inspection-failed", Effect.FULL, List.of(evidence.failure()));
        }
        for (KernelMark mark : evidence.marks()) {
            if (mark.blind()) {
                because(
                        mark.name().toLowerCase(Locale.ROOT).replace('_', '-'),
                        Effect.FULL,
                        mark == KernelMark.UNKNOWN_CALL ? List.of(evidence.unknownCall()) : List.of());
            }
        }
        List<ProcessRef> async = holders(Holdings::asyncIo);
        if (!async.isEmpty() && !evidence.marks().contains(KernelMark.ASYNC_IO)) {
            because("async-io", Effect.FULL, async);
        }
    }

    /** Rule 2: kernel state that only a dump holds. */
    private void kernelState() {
        for (KernelMark mark : evidence.marks()) {
            String rule = PROCESS_RULES.get(mark);
            if (rule != null) {
                because(rule, Effect.PROCESSES, List.of());
            }
        }
    }

    /** Rule 3. What was born and died within the turn is in neither set. */
    private void processSet() {
        List<String> changed = new ArrayList<>();
        evidence.born().forEach(process -> changed.add(process + " is new"));
        evidence.gone().forEach(process -> changed.add(process + " is gone"));
        if (!changed.isEmpty()) {
            because("process-set-differs", Effect.PROCESSES, changed);
        }
    }

    /** Rules 4 and 6. */
    private void survivors() {
        if (!evidence.signalled().isEmpty()) {
            because("survivor-signalled", Effect.PROCESSES, evidence.signalled());
        }
        if (!evidence.ran().isEmpty()) {
            because(EffectReason.SURVIVOR_RAN, Effect.PROCESSES, evidence.ran());
            // The second write to a shared mapping changes neither time stamps nor anything that a hook sees.
            List<ProcessRef> mapped = holders(Holdings::sharedMapping).stream()
                    .filter(evidence.ran()::contains)
                    .toList();
            if (!mapped.isEmpty()) {
                because("survivor-maps-file-shared", Effect.FILES, mapped);
            }
        }
    }

    /** Rule 5: data, or room for it, that a survivor will find. Channels that only this turn's processes held are gone with them. */
    private void channels() {
        Evidence.Touched touched = evidence.touched();
        because("pipe-held-by-survivor", KernelMark.PIPE, holdings -> meets(holdings.pipes(), touched.pipes()));
        because(
                "socket-held-by-survivor",
                KernelMark.SOCKET,
                holdings -> meets(holdings.sockets(), touched.sockets())
                        || (touched.sockets().contains(0L)
                                && !holdings.sockets().isEmpty()));
        because("terminal-held-by-survivor", KernelMark.TERMINAL, Holdings::terminal);
        because(
                "memory-file-held-by-survivor",
                KernelMark.MEMORY_FILE,
                holdings -> meets(holdings.inodes(), touched.memoryFiles()));
        if (!evidence.unnamedTouched().isEmpty()) {
            because("unnamed-file-held-by-survivor", Effect.PROCESSES, evidence.unnamedTouched());
        }
        if (!evidence.queued().isEmpty()) {
            because("changed-file-in-channel", Effect.PROCESSES, evidence.queued());
        }
        if (!evidence.notified().isEmpty()) {
            because("watcher-notified", Effect.PROCESSES, evidence.notified());
        }
    }

    /** Rule 7, and the pairing of a new snapshot with an older dump. */
    private void files() {
        List<FileChange> changes = evidence.changes();
        if (changes == null) {
            if (evidence.failure() == null) {
                because("too-many-files", Effect.FULL, List.of());
            }
            return;
        }
        if (changes.isEmpty()) {
            return;
        }
        List<String> held = new ArrayList<>();
        for (FileChange change : changes) {
            for (ProcessRef survivor : evidence.survivors()) {
                Holdings holdings = evidence.holdings().get(survivor);
                if (holdings == null || change.isHeldBy(holdings)) {
                    held.add(change + ", held by " + survivor);
                }
            }
        }
        List<FileChange> counting = changes.stream().filter(FileChange::counts).toList();
        if (counting.isEmpty() && held.isEmpty()) {
            because("files-ignored", Effect.NONE, changes);
            return;
        }
        because("files-changed", Effect.FILES, counting.isEmpty() ? changes : counting);
        if (!held.isEmpty()) {
            because("changed-file-held-by-survivor", Effect.FULL, held);
        }
    }

    private void because(String rule, KernelMark mark, Predicate<Holdings> holds) {
        if (evidence.marks().contains(mark)) {
            List<ProcessRef> holders = evidence.survivors().stream()
                    .filter(survivor -> {
                        Holdings holdings = evidence.holdings().get(survivor);
                        return holdings == null || !holdings.complete() || holds.test(holdings);
                    })
                    .toList();
            if (!holders.isEmpty()) {
                because(rule, Effect.PROCESSES, holders);
            }
        }
    }

    private List<ProcessRef> holders(Predicate<Holdings> holds) {
        return evidence.survivors().stream()
                .filter(survivor -> {
                    Holdings holdings = evidence.holdings().get(survivor);
                    return holdings != null && holds.test(holdings);
                })
                .toList();
    }

    private void because(String rule, Effect effect, Collection<?> evidenceOfRule) {
        reasons.add(new EffectReason(
                rule, effect, evidenceOfRule.stream().map(Object::toString).toList()));
    }

    private static boolean meets(Collection<Long> some, Collection<Long> others) {
        return some.stream().anyMatch(others::contains);
    }
}

package dev.crab.runtime.inspector;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class EffectClassifierTest {
    private static final ProcessRef SURVIVOR = new ProcessRef(100, 1, 7, "server");
    private static final Holdings NOTHING = new Holdings(
            Set.of(), Set.of(), Set.of(), Set.of(), Set.of(), Set.of(), Set.of(), false, false, false, true);

    private static Evidence evidence(
            Set<KernelMark> marks,
            Evidence.Touched touched,
            Map<ProcessRef, Holdings> holdings,
            @Nullable List<FileChange> changes) {
        return new Evidence(
                marks,
                "",
                List.of(),
                List.of(),
                List.of(SURVIVOR),
                Set.of(),
                Set.of(),
                touched,
                holdings,
                Set.of(),
                Set.of(),
                Set.of(),
                changes,
                null);
    }

    private static List<String> rules(TurnEffects effects) {
        return effects.reasons().stream().map(EffectReason::rule).toList();
    }

    @Test
    void noEvidence_isNone() {
        TurnEffects effects = EffectClassifier.classify(
                evidence(Set.of(), Evidence.Touched.NOTHING, Map.of(SURVIVOR, NOTHING), List.of()));
        assertThat(effects).isEqualTo(new TurnEffects(Effect.NONE, List.of()));
    }

    @Test
    void failure_isFull() {
        TurnEffects effects = EffectClassifier.classify(Evidence.failed("no such file"));
        assertThat(effects.effect()).isEqualTo(Effect.FULL);
        assertThat(effects.reasons())
                .containsExactly(new EffectReason("inspection-failed", Effect.FULL, List.of("no such file")));
    }

    @ParameterizedTest
    @EnumSource(KernelMark.class)
    void everyMark_thatTellsOfNoFilesOrChannels_countsByItself(KernelMark mark) {
        Effect effect = EffectClassifier.classify(
                        evidence(EnumSet.of(mark), Evidence.Touched.NOTHING, Map.of(SURVIVOR, NOTHING), List.of()))
                .effect();
        Effect expected = switch (mark) {
            case PATH_CALL, TRUNCATE, FILE_WRITE, INODE_DIRTY, MEMORY_FILE, PIPE, SOCKET, TERMINAL -> Effect.NONE;
            case OTHER_PROCESS, IPC, MOUNT, KERNEL -> Effect.PROCESSES;
            case ASYNC_IO, UNKNOWN_CALL, FOREIGN_ABI, UNREADABLE, OVERFLOW, LEFT_CGROUP -> Effect.FULL;
        };
        assertThat(effect).isEqualTo(expected);
    }

    @Test
    void changedFile_withSurvivorThatWasNotLookedAt_isFull() {
        FileChange change = new FileChange("/f", FileChange.Kind.CHANGED, false, true, Set.of(5L));
        TurnEffects effects = EffectClassifier.classify(
                evidence(Set.of(KernelMark.PATH_CALL), Evidence.Touched.NOTHING, Map.of(), List.of(change)));
        assertThat(effects.effect()).isEqualTo(Effect.FULL);
        assertThat(rules(effects)).containsExactly("files-changed", "changed-file-held-by-survivor");
    }

    @Test
    void socketOfUnknownHolder_countsForEverySurvivorWithASocket() {
        Holdings socket = new Holdings(
                Set.of(), Set.of(), Set.of(), Set.of(9L), Set.of(), Set.of(), Set.of(), false, false, false, true);
        Evidence.Touched unknown = new Evidence.Touched(Set.of(), Set.of(0L), Set.of());
        assertThat(rules(EffectClassifier.classify(
                        evidence(Set.of(KernelMark.SOCKET), unknown, Map.of(SURVIVOR, socket), List.of()))))
                .containsExactly("socket-held-by-survivor");
        assertThat(rules(EffectClassifier.classify(
                        evidence(Set.of(KernelMark.SOCKET), unknown, Map.of(SURVIVOR, NOTHING), List.of()))))
                .isEmpty();
    }

    @Test
    void terminalTouched_besideSurvivorOnATerminal_isProcesses() {
        Holdings terminal = new Holdings(
                Set.of(), Set.of(), Set.of(), Set.of(), Set.of(), Set.of(), Set.of(), true, false, false, true);
        assertThat(rules(EffectClassifier.classify(evidence(
                        Set.of(KernelMark.TERMINAL), Evidence.Touched.NOTHING, Map.of(SURVIVOR, terminal), List.of()))))
                .containsExactly("terminal-held-by-survivor");
    }

    @Test
    void alwaysInspector_savesEverything() {
        InspectionTarget target = new InspectionTarget(
                "x", java.nio.file.Path.of("/"), 1, java.nio.file.Path.of("/"), java.nio.file.Path.of("/"), null);
        try (TurnInspector inspector = new AlwaysInspector();
                TurnInspector.Watch watch = inspector.watch(target)) {
            watch.begin();
            assertThat(watch.judge().effect()).isEqualTo(Effect.FULL);
            watch.rebase();
            assertThat(watch.judge().effect()).isEqualTo(Effect.FULL);
        }
    }
}

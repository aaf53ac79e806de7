package dev.crab.runtime.session;

import dev.crab.runtime.engine.CheckpointEngine;
import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.store.DataDirectory;

/**
 * What sessions are made of. Whoever makes it closes the parts, after the sessions.
 *
 * @param data where everything durable lies
 * @param factory makes sandboxes
 * @param snapshots keeps their files
 * @param engine takes and restores checkpoints
 * @param inspector judges turns
 * @param onUncaptured what to do where processes cannot be captured
 * @param onLost what a restore does about processes that could not be captured
 * @param onDamaged what to do where the newest checkpoint does not come back
 * @param keepGenerations how many of the newest generations stay, from 1
 * @param standby how many sandboxes are restored ahead
 */
public record SessionServices(
        DataDirectory data,
        SandboxFactory factory,
        Snapshotter snapshots,
        CheckpointEngine engine,
        TurnInspector inspector,
        UncapturedPolicy onUncaptured,
        LostPolicy onLost,
        DamagePolicy onDamaged,
        int keepGenerations,
        StandbyPolicy standby) {}

package dev.crab.runtime.store;

import dev.crab.runtime.fault.FaultPoints;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What a session has in the store that none of its kept manifests needs.
 *
 * @param manifests generations
 * @param objects names, the remains of interrupted writes included
 */
public record Unneeded(List<Long> manifests, List<String> objects) {
    public Unneeded {
        manifests = List.copyOf(manifests);
        objects = List.copyOf(objects);
    }

    /** Looks; changes nothing. What is found may only be deleted while nothing of the session is being captured. */
    public static Unneeded of(String session, ManifestStore manifests, FileObjectStore objects, List<Manifest> kept) {
        Set<Long> generations = new HashSet<>();
        Set<String> needed = new HashSet<>();
        for (Manifest manifest : kept) {
            generations.add(manifest.generation());
            manifest.objects().forEach(ref -> needed.add(ref.name()));
        }
        List<Long> others = new ArrayList<>(manifests.generations());
        others.removeAll(generations);
        List<String> names = new ArrayList<>(objects.list(Names.prefix(session)));
        names.removeAll(needed);
        return new Unneeded(others, names);
    }

    /**
     * Deletes it, manifests first: one that names a deleted object must never be found.
     *
     * @throws dev.crab.runtime.error.CrabException IO_FAILED
     */
    public void delete(ManifestStore from, FileObjectStore objects) {
        for (long generation : manifests) {
            from.delete(generation);
            FaultPoints.reach("sweep.manifest");
        }
        for (String name : this.objects) {
            objects.delete(name);
            FaultPoints.reach("sweep.object");
        }
    }
}

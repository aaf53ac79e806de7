package dev.crab.samples.leaks;

import java.util.Collection;
import java.util.EnumMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;

/** What there was at one moment, by what it is. */
final class Counts {
    private final Map<Row, SortedSet<String>> items = new EnumMap<>(Row.class);

    Counts() {
        for (Row row : Row.values()) {
            items.put(row, new TreeSet<>());
        }
    }

    void add(Row row, String item) {
        of(row).add(item);
    }

    /** Of things that are alike, so many; each is an item of its own. */
    void addAlike(Row row, Collection<String> names) {
        for (String name : names) {
            int number = 1;
            while (!of(row).add(name + " #" + number)) {
                number++;
            }
        }
    }

    SortedSet<String> of(Row row) {
        SortedSet<String> found = items.get(row);
        if (found == null) {
            throw new IllegalStateException("no row " + row);
        }
        return found;
    }

    /** What is here and not there. */
    SortedSet<String> beyond(Row row, Counts other) {
        SortedSet<String> more = new TreeSet<>(of(row));
        more.removeAll(other.of(row));
        return more;
    }
}

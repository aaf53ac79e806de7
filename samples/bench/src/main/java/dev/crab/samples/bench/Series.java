package dev.crab.samples.bench;

import java.util.ArrayList;
import java.util.List;

/** The values of one quantity over the runs, in nanoseconds. Not thread-safe. */
final class Series {
    private final String name;
    private final List<Long> values = new ArrayList<>();

    Series(String name) {
        this.name = name;
    }

    String name() {
        return name;
    }

    void add(long nanos) {
        values.add(nanos);
    }

    int runs() {
        return values.size();
    }

    double min() {
        return quantile(0);
    }

    double median() {
        return quantile(0.5);
    }

    double max() {
        return quantile(1);
    }

    /**
     * The value below which that share of the runs lies, in milliseconds; between two runs, interpolated (type 7 of Hyndman and Fan, 1996,
     * which R and NumPy use by default).
     *
     * @throws IllegalStateException if there was no run
     */
    double quantile(double share) {
        if (values.isEmpty()) {
            throw new IllegalStateException("no run of \"" + name + "\" could be used");
        }
        List<Long> sorted = values.stream().sorted().toList();
        double position = share * (sorted.size() - 1);
        int below = (int) Math.floor(position);
        int above = Math.min(below + 1, sorted.size() - 1);
        double nanos = sorted.get(below) + (position - below) * (sorted.get(above) - sorted.get(below));
        return nanos / 1e6;
    }
}

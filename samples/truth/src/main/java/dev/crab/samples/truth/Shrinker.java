package dev.crab.samples.truth;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Delta debugging: takes away what is not needed for a failure, in ever smaller pieces. */
final class Shrinker {
    /** Whether some steps still show the failure. */
    interface Failure<T> {
        boolean shows(List<T> steps) throws IOException;
    }

    private Shrinker() {}

    /**
     * A part of the steps, in their order, that still fails and of which no single step can be left out.
     *
     * @param steps fail
     * @param attempts how often the failure may be asked for at most; what has been reached by then is the result
     */
    static <T> List<T> shrink(List<T> steps, Failure<T> failure, int attempts) throws IOException {
        List<T> smallest = List.copyOf(steps);
        int left = attempts;
        int piece = Math.max(1, smallest.size() / 2);
        while (true) {
            boolean smaller = false;
            for (int from = 0; from < smallest.size() && left > 0; ) {
                List<T> rest = new ArrayList<>(smallest.subList(0, from));
                rest.addAll(smallest.subList(Math.min(smallest.size(), from + piece), smallest.size()));
                left--;
                if (failure.shows(rest)) {
                    smallest = List.copyOf(rest);
                    smaller = true;
                } else {
                    from += piece;
                }
            }
            if (left == 0 || (piece == 1 && !smaller)) {
                return smallest;
            }
            if (!smaller || piece > smallest.size()) {
                piece = Math.max(1, piece / 2);
            }
        }
    }
}

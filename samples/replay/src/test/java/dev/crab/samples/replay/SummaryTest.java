package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.samples.common.Json;
import java.util.List;
import org.junit.jupiter.api.Test;

class SummaryTest {
    private static Measured ran(String policy, int run, int place, long seconds) {
        return new Measured(
                policy, "one", "service", run, place, seconds * 1_000_000_000L, 0, List.of(), 0, 0, 0, 0, 0.5);
    }

    private static ObjectNode cost(List<Measured> crab, List<Measured> none) {
        ObjectNode into = Json.object();
        Summary.measured(into, crab, List.of(), none);
        return (ObjectNode) into.path("cost");
    }

    @Test
    void theSameTrajectoryTwiceBesideItselfIsComparedByItsPlace() {
        ObjectNode cost = cost(
                List.of(ran("crab", 1, 0, 20), ran("crab", 1, 1, 60)),
                List.of(ran("none", 1, 0, 20), ran("none", 1, 1, 40)));

        assertThat(cost.path("wallOverNone").asDouble()).isEqualTo(80.0 / 60);
        assertThat(cost.path("wallOverNoneEach").path("min").asDouble()).isEqualTo(1.0);
        assertThat(cost.path("wallOverNoneEach").path("max").asDouble()).isEqualTo(1.5);
    }

    @Test
    void eachRepetitionHasARatioOfItsOwn() {
        ObjectNode cost = cost(
                List.of(ran("crab", 1, 0, 11), ran("crab", 1, 1, 9), ran("crab", 2, 0, 30), ran("crab", 2, 1, 10)),
                List.of(ran("none", 1, 0, 10), ran("none", 1, 1, 10), ran("none", 2, 0, 10), ran("none", 2, 1, 10)));

        assertThat(cost.path("wallOverNoneRuns").path("min").asDouble()).isEqualTo(1.0);
        assertThat(cost.path("wallOverNoneRuns").path("max").asDouble()).isEqualTo(2.0);
        assertThat(cost.path("machineShare").path("mean").asDouble()).isEqualTo(0.5);
    }

    @Test
    void theMachinesWorkIsWhatItsProcessorsHadLessWhatTheyWereIdleOrWaitedForADisk() {
        long[] first = Usage.machine("cpu  100 1 50 900 40 3 4 2 7 0");
        long[] then = Usage.machine("cpu  160 1 70 1000 50 3 4 12 7 0");

        assertThat(first).containsExactly(160, 1100);
        Usage before = new Usage(0, 0, 0, 0, first[0], first[1]);
        Usage after = new Usage(0, 0, 0, 0, then[0], then[1]);
        assertThat(after.machineShareSince(before)).isCloseTo(90.0 / 200, within(1e-9));
        assertThat(before.machineShareSince(before)).isZero();
    }
}

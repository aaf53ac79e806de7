package dev.crab.overlap.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.overlap.schedule.HostSimulation.Discipline;
import dev.crab.overlap.schedule.HostSimulation.Model;
import dev.crab.overlap.schedule.HostSimulation.Outcome;
import dev.crab.overlap.schedule.HostSimulation.Setting;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * 10,000 sandboxes in virtual time. The simulation itself fails where a job does not end, where bounds are broken, and where somebody who
 * is waited for is overtaken by one who asked later than {@link AdmissionQueue} allows.
 */
class HostSimulationTest {
    private static final List<Model> MODELS = List.of(
            new Model("small", Duration.ofSeconds(3), 0.5),
            new Model("middle", Duration.ofSeconds(9), 0.5),
            new Model("large", Duration.ofSeconds(25), 0.6));

    /** What each discipline has come to. */
    private record Outcomes(Outcome deadline, Outcome fifo, Outcome oracle) {}

    private static Outcomes run(String what, int captures, int persists, int seen) {
        AdmissionPolicy policy = AdmissionPolicy.of(captures, persists, 0, 0);
        Setting setting = new Setting(2026, 10_000, 8, Duration.ofSeconds(10), seen, policy, MODELS);
        return new Outcomes(
                run(what, setting, Discipline.DEADLINE),
                run(what, setting, Discipline.FIFO),
                run(what, setting, Discipline.ORACLE));
    }

    private static Outcome run(String what, Setting setting, Discipline discipline) {
        Outcome outcome = new HostSimulation(setting, discipline).run();
        System.out.println(what + ", " + discipline + ": " + outcome);
        assertThat(outcome.turns()).isEqualTo(80_000);
        assertThat(outcome.over()).isEqualTo(outcome.jobs());
        return outcome;
    }

    @Test
    void busyHost_exposesATenthOfFirstComeFirstServed_andLittleMoreThanTheOracle() {
        Outcomes outcomes = run("busy", 26, 62, 20);
        long deadline = outcomes.deadline().exposed();
        assertThat(deadline).isLessThan(outcomes.fifo().exposed() / 7);
        // The oracle exposes next to nothing, so that a factor says nothing: 40 ms a turn.
        assertThat(deadline - outcomes.oracle().exposed()).isLessThan(80_000L * 40_000_000);
    }

    @Test
    void overloadedHost_thatKnowsNothingAtFirst_isWithinAFifthOfTheOracle() {
        Outcomes outcomes = run("overloaded", 20, 48, 0);
        Outcome deadline = outcomes.deadline();
        assertThat(deadline.exposed()).isLessThan(outcomes.fifo().exposed());
        assertThat(deadline.p99()).isLessThan(outcomes.fifo().p99());
        assertThat(deadline.exposed()).isLessThan(outcomes.oracle().exposed() * 6 / 5);
        // Nobody waits for longer than it takes to serve all who were there before, and the time to his deadline and
        // its ageing.
        assertThat(deadline.longestWait()).isLessThan(Duration.ofMinutes(2).toNanos());
    }

    @Test
    void sameSeed_sameHistory() {
        AdmissionPolicy policy = AdmissionPolicy.of(2, 4, 0, 20_000_000);
        Setting setting = new Setting(7, 500, 6, Duration.ofSeconds(2), 0, policy, MODELS);
        assertThat(new HostSimulation(setting, Discipline.DEADLINE).run())
                .isEqualTo(new HostSimulation(setting, Discipline.DEADLINE).run());
    }
}

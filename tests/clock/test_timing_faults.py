"""Timing faults that other loops have had, each as the promise that it does not happen here.

A test is named after what goes wrong.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from mainspring.clock import FixedLoop, Rate, TimeManager, TimeMode

SECOND = 1_000_000_000


def recording(*rates: object, mode: TimeMode = TimeMode.SIM_REALTIME) -> tuple[TimeManager, list]:
    """A clock with a runner a rate, and the list of (time, runner, step) its callbacks fill."""
    time = TimeManager(runners=[(f"r{i}", rate) for i, rate in enumerate(rates)], mode=mode)  # type: ignore[misc]
    steps: list[tuple[int, int, int]] = []
    for runner in time.runners:
        time.register(lambda c: steps.append((c.time, c.id, c.step)), runner=runner.id)
    return time, steps


class TestRatesThatMeet:
    def test_200_and_60_hz_miss_each_other_by_rounding(self) -> None:
        """200 and 60 Hz share exactly 20 steps a second: no near miss of a nanosecond."""
        time, _ = recording(200, 60)
        report = time.advance(seconds=10)
        assert report.steps == {"r0": 2000, "r1": 600}
        assert report.shared == 200
        assert report.instants == 2400

    def test_29_97_hz_drifts_from_30(self) -> None:
        """29.97 and 30 Hz meet at 0 and then every hundred seconds, and nowhere else."""
        time, _ = recording(30, 29.97)
        shared = [i.time_ns for i in time.boundaries(201 * SECOND) if i.shared]
        assert [t for t in shared if t % SECOND == 0] == [0, 100 * SECOND, 200 * SECOND]
        assert time.advance(seconds=100).steps == {"r0": 3000, "r1": 2997}

    def test_ntsc_30000_over_1001_is_taken_for_29_97(self) -> None:
        """30000/1001 Hz and 29.97 Hz are different rates: one fits two more boundaries into ten hours."""
        ntsc, rounded = Rate("30000/1001"), Rate("29.97")
        hours = 10 * 3600 * SECOND
        assert ntsc.boundaries_before(hours) - rounded.boundaries_before(hours) == 2

    def test_a_step_is_lost_after_a_million(self) -> None:
        """A million steps of six rates together land where the formula says, shared ones too."""
        rates = (1000, 500, 200, 60, 30, "29.97")
        time = TimeManager(runners=[(str(r), r) for r in rates])
        seconds = 560
        report = time.advance(seconds=seconds)
        assert sum(report.steps.values()) > 1_000_000
        ends = {str(r): Rate(r) for r in rates}
        assert report.steps == {n: r.boundaries_before(seconds * SECOND) for n, r in ends.items()}
        for runner in time.runners:
            assert runner.next_ns == runner.rate.boundary(report.steps[runner.name])
        moments = [
            {rate.boundary(k) for k in range(rate.boundaries_before(10 * SECOND))}
            for rate in ends.values()
        ]
        fresh = TimeManager(runners=[(str(r), r) for r in rates]).advance(seconds=10)
        everything = [t for m in moments for t in m]
        assert fresh.instants == len(set(everything))
        assert fresh.shared == sum(1 for t in set(everything) if everything.count(t) > 1)

    def test_thirty_years_overflow_or_drift(self) -> None:
        """Thirty years in, boundaries are where the formula says, shared ones included."""
        rates = [Rate(r) for r in (1000, 500, 200, 60, 30, "29.97")]
        years = 30 * 365 * 86_400 * SECOND
        time = TimeManager(runners=[(r.as_written(), r) for r in rates])
        state = time.save()
        state["now"] = years
        for row, rate in zip(state["runners"], rates, strict=True):
            row[4] = rate.boundaries_before(years)
        time.restore(state)
        found = list(time.boundaries(years + SECOND))
        wanted: dict[int, list[str]] = {}
        for rate in rates:
            first = rate.boundaries_before(years)
            for k in range(first, rate.boundaries_before(years + SECOND)):
                wanted.setdefault(rate.boundary(k), []).append(rate.as_written())
        assert [(i.time_ns, list(i.runners)) for i in found] == sorted(wanted.items())


class TestARateChangedMidRun:
    def test_the_new_rate_inherits_the_old_phase(self) -> None:
        """Boundaries are counted from the change: no short or doubled first step."""
        time, steps = recording(50)
        time.advance(seconds=Fraction(1, 2))
        time.runners[0].rate = 125  # type: ignore[assignment]
        steps.clear()
        time.advance(seconds=Fraction(1, 2))
        assert [t for t, _, _ in steps] == [SECOND // 2 + k * 8_000_000 for k in range(63)]

    def test_a_change_inside_a_step_depends_on_how_the_run_is_cut(self) -> None:
        """A callback that changes its own rate gives the same instants in one piece or in many."""

        def run(pieces: list[int]) -> list[tuple[int, int, int]]:
            time, steps = recording(50, 30)

            def change(context: object) -> None:
                step = len(steps)
                if step % 7 == 3:
                    time.runners[0].rate = 40 + step  # type: ignore[assignment]

            time.register(change, runner=0, priority=5)
            for piece in pieces:
                time.advance(ns=piece)
            return steps

        whole = run([SECOND])
        assert run([SECOND // 1000] * 1000) == whole
        assert run([1] * 500 + [SECOND - 500]) == whole

    def test_a_runner_is_added_at_a_boundary_that_has_run(self) -> None:
        """A runner added at an instant that has run begins one step later, not twice there."""
        time, steps = recording(50)
        time.advance(instants=1)
        time.runners.add("late", 100)
        time.register(lambda c: steps.append((c.time, c.id, c.step)), runner="late")
        time.advance(ns=25_000_000)
        assert [s for s in steps if s[1] == 1] == [(10_000_000, 1, 1), (20_000_000, 1, 2)]


class TestFramesAndStalls:
    def test_a_stall_of_ten_seconds_injects_ten_seconds(self) -> None:
        """A stall brings in a quarter of a second at most; the rest is forgiven and said."""
        time, _ = recording(50)
        report = time.frame(10 * SECOND)
        assert report.advanced_ns == 250_000_000
        assert report.forgiven_ns == 9_750_000_000
        assert report.steps == {"r0": 13}

    def test_a_slow_machine_races_to_catch_up(self) -> None:
        """What was forgiven is gone: after a stall the next frame is an ordinary one."""
        time, _ = recording(50)
        time.frame(10 * SECOND)
        assert time.frame(20_000_000).steps == {"r0": 1}

    def test_a_frame_faster_than_the_step_runs_a_step_each(self) -> None:
        """At 240 frames a second a 50 Hz runner steps in one frame of five, on average."""
        time, steps = recording(50)
        reports = [time.frame(SECOND // 240) for _ in range(240)]
        assert {r.steps["r0"] for r in reports} == {0, 1}
        assert len(steps) == 50

    def test_a_frame_slower_than_the_step_loses_steps(self) -> None:
        """At 10 frames a second a 500 Hz runner does all its 50 steps in every frame."""
        time, _ = recording(500)
        assert {time.frame(SECOND // 10).steps["r0"] for _ in range(10)} == {50}

    @pytest.mark.parametrize("mode", [TimeMode.SIM_REALTIME, TimeMode.SIM_HIGH_PERFORMANCE])
    def test_jittery_frames_change_the_steps(self, mode: TimeMode) -> None:
        """24, 60, 144 and random frame times give the same sequence of steps."""

        def run(elapsed: list[int]) -> list[tuple[int, int, int]]:
            time, steps = recording(500, 200, 60, 29.97, mode=mode)
            wall = 0

            def tick(_: object) -> None:
                nonlocal wall
                wall += 10_000

            time.register(tick, runner=0)
            time.use_wall(lambda: wall, lambda until: None)
            for ns in elapsed:
                time.frame(ns)
            return steps

        jitter = random.Random(7)
        runs = [
            run([SECOND // 24] * 24),
            run([SECOND // 60] * 60),
            run([SECOND // 144] * 144),
            run([jitter.randrange(1, 30_000_000) for _ in range(60)]),
        ]
        shortest = min(len(steps) for steps in runs)
        assert shortest > 500
        for steps in runs:
            assert steps[:shortest] == runs[0][:shortest]

    def test_game_mode_loses_time_without_a_word(self) -> None:
        """Each skip is in the frame's report, in the statistics, and told to observers, exactly."""
        time, steps = recording(50, mode=TimeMode.GAME_REALTIME)
        told: list[tuple[int, int]] = []

        class Watch:
            def skipped(self, from_ns: int, to_ns: int) -> None:
                told.append((from_ns, to_ns))

        time.observers.add(Watch())
        time.frame(100_000_000)
        report = time.frame(3 * SECOND)
        assert report.skipped_ns == 2_750_000_000
        assert report.skipped == {"r0": 137}
        assert told == [(350_000_000, 3_100_000_000)]
        assert time.now == 3_100_000_000
        assert time.statistics().skipped_ns == 2_750_000_000
        assert time.statistics().runners["r0"].skipped == 137
        time.frame(20_000_000)
        assert steps[-1] == (3_100_000_000, 0, 155)

    def test_a_budget_starves_the_simulation(self) -> None:
        """A frame that has an instant due runs one, however dear; the others wait."""
        time, steps = recording(100)
        wall = 0

        def dear(_: object) -> None:
            nonlocal wall
            wall += 50_000_000

        time.register(dear, runner=0)
        time.use_wall(lambda: wall, lambda until: None)
        assert [time.frame(30_000_000).instants for _ in range(5)] == [1] * 5
        assert [t for t, _, _ in steps] == [k * 10_000_000 for k in range(5)]


class TestInputsAndFrames:
    @pytest.mark.parametrize("frames", [[1_000_000] * 100, [100_000_000], [7_000_000] * 15])
    def test_inputs_are_lost_or_doubled_when_frames_and_instants_differ(
        self, frames: list[int]
    ) -> None:
        """Each input is applied once, at the next instant, with no instant in the frame or many."""
        time, _ = recording(50)
        applied: list[tuple[int, object]] = []
        time.inbox.route("say", lambda given: applied.append((time.now, given.payload)))
        sent = 0
        for elapsed in frames:
            time.inbox.put("say", sent)
            sent += 1
            time.frame(elapsed)
        time.frame(250_000_000)
        assert [payload for _, payload in applied] == list(range(sent))
        assert all(t % 20_000_000 == 0 for t, _ in applied)


class TestTheFixedLoop:
    def test_sixty_steps_a_second_at_any_frame_rate(self) -> None:
        """The result is exactly 60 steps a second, however often it is drawn."""
        for fps in (24, 30, 59, 60, 61, 144, 240, 1000):
            loop = FixedLoop(lambda ts: None)
            for _ in range(fps):
                loop.frame(1 / fps)
            assert loop.steps == 60, fps

    def test_a_stall_steps_more_than_five_times(self) -> None:
        """A frame runs five steps at most; what a quarter of a second brought in is kept."""
        loop = FixedLoop(lambda ts: None)
        assert [loop.frame(100.0).steps] + [loop.frame(0.0).steps for _ in range(3)] == [5, 5, 5, 0]

    def test_alpha_reaches_one(self) -> None:
        """Alpha stays in [0, 1), also while steps are owed."""
        told: list[float] = []
        loop = FixedLoop(lambda ts: None, frame=told.append)
        for elapsed in (0.0, 0.008, 1 / 60, 10.0, 0.01, 0.2, 0.0):
            loop.frame(elapsed)
        assert all(0.0 <= alpha < 1.0 for alpha in told)
        assert told[1] == pytest.approx(0.48)

    def test_ts_is_the_frame_time(self) -> None:
        """The step callback always gets the fixed step."""
        told: list[float] = []
        loop = FixedLoop(told.append)
        loop.frame(0.07)
        assert told == [1 / 60] * 4

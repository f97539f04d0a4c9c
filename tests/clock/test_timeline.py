"""The shared timeline: boundaries, shared steps, the order of a step, and what a callback is told."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mainspring.clock import (
    Phase,
    Rate,
    RateError,
    RegistrationError,
    RunEnd,
    RunnerError,
    TimeManager,
    TimeMode,
)


@pytest.fixture
def time() -> TimeManager:
    return TimeManager()


def milliseconds(time_ns: int) -> int:
    return round(time_ns / 1e6)


class TestTheDefaultScene:
    def test_starts_with_robot_and_capture(self, time: TimeManager) -> None:
        """A new timeline has Robot at 50 Hz as 0 and Capture at 30 Hz as 1."""
        assert [(r.id, r.name, r.rate) for r in time.runners] == [
            (0, "Robot", Rate(50)),
            (1, "Capture", Rate(30)),
        ]

    def test_one_cycle(self, time: TimeManager) -> None:
        """Robot and Capture meet every 100 ms and run alone in between."""
        cycle = [(milliseconds(i.time_ns), i.runners) for i in time.boundaries(100_000_001)]
        both = ("Robot", "Capture")
        assert cycle == [
            (0, both),
            (20, ("Robot",)),
            (33, ("Capture",)),
            (40, ("Robot",)),
            (60, ("Robot",)),
            (67, ("Capture",)),
            (80, ("Robot",)),
            (100, both),
        ]

    def test_ten_seconds(self, time: TimeManager) -> None:
        """Ten seconds are exactly 500 Robot and 300 Capture steps, 100 of them shared."""
        report = time.advance(seconds=10)
        assert report.steps == {"Robot": 500, "Capture": 300}
        assert report.shared == 100
        assert report.instants == 700
        assert time.now == 10_000_000_000

    def test_thirty_hertz_cycles_its_step(self, time: TimeManager) -> None:
        """Steps of 30 Hz are 33 333 333, 33 333 333 and 33 333 334 ns long, again and again."""
        steps: list[int] = []
        time.register(lambda context: steps.append(context.dt), runner="Capture")
        time.advance(seconds=1)
        assert steps == [33_333_333, 33_333_333, 33_333_334] * 10
        assert sum(steps) == 1_000_000_000


class TestSharedSteps:
    def test_phases_interleave_by_priority(self, time: TimeManager) -> None:
        """On a shared step a recorder of one runner sees what a controller of another wrote."""
        ran: list[str] = []
        time.register(lambda _: ran.append("late update"), phase=Phase.VALIDATION)
        time.register(lambda _: ran.append("recorder"), runner="Capture")
        time.register(lambda _: ran.append("robot physics"), phase=Phase.PHYSICS)
        time.register(lambda _: ran.append("capture physics"), runner="Capture", phase="physics")
        time.register(lambda _: ran.append("update"), priority=-200)
        time.advance(instants=1)
        assert ran == ["update", "recorder", "robot physics", "capture physics", "late update"]

    def test_ties_run_in_order_of_registration(self, time: TimeManager) -> None:
        """Callbacks of one phase and priority run in the order they were registered."""
        ran: list[int] = []
        for i in range(20):
            time.register(lambda _, i=i: ran.append(i), runner=i % 2)
        time.advance(instants=1)
        assert ran == list(range(20))

    def test_ts_is_the_runners_own(self, time: TimeManager) -> None:
        """On the same shared step each callback receives its own runner's step."""
        told: list[tuple[str, float]] = []
        for name in ("Robot", "Capture"):
            time.register(lambda c: told.append((c.runner.name, c.ts)), runner=name)
        time.advance(instants=1)
        assert told == [("Robot", 0.02), ("Capture", 1 / 30)]

    def test_only_due_runners_fire(self, time: TimeManager) -> None:
        """A runner short of its boundary does nothing at another runner's instant."""
        fired: list[tuple[int, str]] = []
        for name in ("Robot", "Capture"):
            time.register(lambda c: fired.append((c.time, c.runner.name)), runner=name)
        time.advance(ns=40_000_000)
        assert fired == [
            (0, "Robot"),
            (0, "Capture"),
            (20_000_000, "Robot"),
            (33_333_333, "Capture"),
        ]


class TestTheSwarm:
    def test_alpha_is_how_far_the_other_is(self, time: TimeManager) -> None:
        """At 20 ms the 30 Hz runner is six tenths of the way to its next boundary."""
        alphas: list[float] = []
        time.register(lambda c: alphas.append(c.get_alpha("Capture")))
        time.advance(ns=90_000_000)
        assert alphas == pytest.approx([0.0, 0.6, 0.2, 0.8, 0.4], abs=1e-7)
        assert all(0.0 <= alpha < 1.0 for alpha in alphas)

    def test_a_runner_is_found_by_id_name_or_handle(self, time: TimeManager) -> None:
        """Every way of naming a runner gives the same state."""
        told: list[tuple[int, int, int]] = []
        handle = time.runners["Capture"]
        time.register(
            lambda c: told.append((c.get_step(1), c.get_step("Capture"), c.get_step(handle)))
        )
        time.advance(seconds=0.05)
        assert told == [(0, 0, 0), (0, 0, 0), (1, 1, 1)]

    def test_an_unknown_runner_is_named_with_the_nearest(self, time: TimeManager) -> None:
        """A misspelt runner is an error that offers the right one."""
        with pytest.raises(RunnerError, match="did you mean 'Capture'"):
            time.runners["Captur"]


class TestRates:
    @pytest.mark.parametrize(
        ("given", "exact"),
        [
            (50, Fraction(50)),
            (29.97, Fraction(2997, 100)),
            ("29.97", Fraction(2997, 100)),
            ("30000/1001", Fraction(30000, 1001)),
            (Fraction(1, 3), Fraction(1, 3)),
            (np.float32(29.97), Fraction(2997, 100)),
            (np.int64(50), Fraction(50)),
        ],
    )
    def test_are_taken_as_written(self, given: object, exact: Fraction) -> None:
        """A rate is the number that was written, not the binary fraction nearest to it."""
        assert Rate(given).hertz == exact  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "given",
        [
            0, -1, float("nan"), float("inf"), "fast", None, True, 1_000_000_001, "1/0",
            "1e999999999", "1e-999999999", np.array([1, 2]), np.bool_(True),
        ],
    )  # fmt: skip
    def test_refuses_what_no_runner_can_have(self, given: object) -> None:
        """Zero, negative, not a number and above 1 GHz are refused."""
        with pytest.raises(RateError):
            Rate(given)  # type: ignore[arg-type]

    def test_thirty_years_are_exact(self) -> None:
        """Runners of six rates end thirty years on the nanosecond the formula gives."""
        years_ns = 30 * 365 * 86_400 * 1_000_000_000
        for rate in map(Rate, (1000, 500, 200, 60, 30, 29.97)):
            count = rate.boundaries_before(years_ns)
            assert rate.boundary(count - 1) < years_ns <= rate.boundary(count)


class TestModes:
    def test_both_vocabularies_name_the_same_modes(self) -> None:
        """The second vocabulary's names are aliases."""
        assert TimeMode.parse("LowPerformanceDeterministic") is TimeMode.SIM_REALTIME
        assert TimeMode.parse("HighPerformanceDeterministic") is TimeMode.SIM_HIGH_PERFORMANCE
        assert TimeMode.RealtimeNonDeterministic is TimeMode.GAME_REALTIME
        assert TimeManager().mode is TimeMode.SIM_REALTIME


class TestRegistrations:
    def test_refuses_what_cannot_be_called(self, time: TimeManager) -> None:
        """Registering something that is no function is an error at the door."""
        with pytest.raises(RegistrationError, match="cannot be called"):
            time.register(3)  # type: ignore[arg-type]

    def test_changes_inside_an_instant_wait_for_the_next(self, time: TimeManager) -> None:
        """What a callback changes takes effect at the next instant, never inside this one."""
        ran: list[tuple[int, str]] = []

        def first(context: object) -> None:
            ran.append((time.now, "first"))
            if time.now == 0:
                second.disable()
                time.register(lambda _: ran.append((time.now, "third")), priority=5)

        time.register(first)
        second = time.register(lambda _: ran.append((time.now, "second")), priority=1)
        time.advance(ns=20_000_001)
        assert ran == [
            (0, "first"),
            (0, "second"),
            (20_000_000, "first"),
            (20_000_000, "third"),
        ]

    def test_one_made_changed_and_removed_inside_an_instant_was_never_there(
        self, time: TimeManager
    ) -> None:
        """Whatever is asked of a registration that never took effect, nothing is left of it."""

        def make_and_drop(context: object) -> None:
            place = time.register(lambda _: None, name="short")
            place.move(runner="Capture", phase="export", priority=5)
            place.enabled = False
            place.remove()

        time.register(make_and_drop, name="maker")
        time.advance(instants=2)
        assert [row.name for row in time.execution_order()] == ["maker"]

    def test_a_runner_goes_when_all_were_moved_off_it_a_moment_ago(self, time: TimeManager) -> None:
        """Inside an instant a runner counts as used by those who will be on it afterwards."""
        ran: list[tuple[int, str]] = []

        def change(context: Any) -> None:
            ran.append((context.time, context.runner.name))
            if context.time == 0:
                place.runner = time.runners["Capture"]
                with pytest.raises(RunnerError, match="'Capture' still runs mover"):
                    time.runners.remove("Capture")
                time.runners.remove("Robot")
                assert "mover" in time.statistics().callbacks

        place = time.register(change, name="mover")
        time.advance(ns=66_000_000)
        assert ran == [(0, "Robot"), (33_333_333, "Capture")]
        assert [r.name for r in time.runners] == ["Capture"]

    def test_a_runner_goes_with_all_that_ran_on_it(self, time: TimeManager) -> None:
        """Inside an instant too: registrations first, then their runner, and its name is free."""

        def change(context: Any) -> None:
            if context.step == 1:
                extra.remove()
                time.runners.remove("Capture")
                time.runners.add("Capture", 100)

        time.register(change)
        extra = time.register(lambda _: None, runner="Capture")
        assert time.advance(ns=60_000_000).steps == {"Robot": 3, "Capture": 3}
        assert [row.name for row in time.execution_order()] == ["change"]

    def test_counting_the_steps_of_a_runner_ends_when_it_goes(self, time: TimeManager) -> None:
        """Steps that are never going to come are not waited for: the report says stopped."""

        def leave(context: Any) -> None:
            place.remove()
            time.runners.remove("Capture")

        place = time.register(leave, runner="Capture")
        report = time.advance(steps=5, runner="Capture")
        assert report.reason is RunEnd.STOPPED
        assert (time.now, report.steps) == (0, {"Robot": 1})

    def test_coming_and_going_leaves_nothing_behind(self, time: TimeManager) -> None:
        """A callback that registers another at every step and drops the one before it, for long,
        takes no more room than two, and what came last still runs last."""
        ran: list[int] = []
        kept = [time.register(lambda _: None, name="first")]

        def replace(context: Any) -> None:
            kept.pop().remove()
            kept.append(time.register(lambda _, n=context.step: ran.append(n)))

        time.register(replace)
        time.advance(steps=1000, runner="Robot")
        assert ran == list(range(999))
        assert {r._entry for r in time.registrations} <= {0, 1, 2}
        assert time.registrations[0].name == "replace"
        assert time.execution_order()[-1].name == "<lambda>"

    def test_a_removed_one_is_listed_until_its_instant_is_over(self, time: TimeManager) -> None:
        """What shows and what runs change at the same moment."""
        seen: list[list[str]] = []

        def look(context: object) -> None:
            if place.callback is not None:
                place.remove()
            seen.append([r.name for r in time.registrations])

        time.register(look, name="look")
        place = time.register(lambda _: None, name="gone")
        time.advance(instants=2)
        assert seen == [["look", "gone"], ["look"]]

"""Frames, free updates, pacing and the run loop, on a wall clock of our own."""

from __future__ import annotations

import itertools
import threading

import pytest

from mainspring.clock import (
    ClockError,
    FrameContext,
    FreePhase,
    RunEnd,
    RunReport,
    TimeManager,
    TimeMode,
)


class Wall:
    """A wall clock that moves when something sleeps or works."""

    def __init__(self, time: TimeManager) -> None:
        self.now = 1_000_000_000_000
        self.slept: list[int] = []
        time.use_wall(lambda: self.now, self.sleep)

    def sleep(self, until: int) -> None:
        self.slept.append(until)
        self.now = max(self.now, until)


def test_free_updates_bracket_the_instants() -> None:
    """Free pre-updates run before a frame's instants and free post-updates after; ts is the frame's."""
    ran: list[object] = []
    time = TimeManager()
    time.register(lambda _: ran.append("step"))
    time.register_free(lambda f: ran.append(("post", f.ts)), FreePhase.POST_EXPORT)
    time.register_free(lambda f: ran.append(("pre", f.ts)), priority=1)
    time.register_free(lambda f: ran.append("first"), priority=0)
    time.frame(30_000_000)
    assert ran == ["first", ("pre", 0.03), "step", "step", ("post", 0.03)]


def test_a_paced_run_steps_at_the_wall_time_of_each_instant() -> None:
    """Every instant waits for its own wall time, tied to one anchor, so errors never add up."""
    time = TimeManager()
    wall = Wall(time)
    start = wall.now
    begun: list[tuple[int, int]] = []
    time.register(lambda c: begun.append((c.time, wall.now - start)))
    time.register(lambda c: begun.append((c.time, wall.now - start)), runner="Capture")
    report = time.run(seconds=1)
    assert report.reason is RunEnd.FINISHED
    assert report.steps == {"Robot": 50, "Capture": 30}
    assert all(sim == real for sim, real in begun)
    assert report.forgiven_ns == 0
    assert wall.now - start == 1_000_000_000


def test_a_run_has_as_many_frames_as_the_frame_rate_says() -> None:
    """Frames are not summed from a rounded length: sixty are a second to the nanosecond, and a free
    update at the end of one does not see sim time ahead of the wall clock."""
    time = TimeManager()
    wall = Wall(time)
    start = wall.now
    ends: list[int] = []
    ahead: list[bool] = []

    def look(frame: FrameContext) -> None:
        ends.append(frame.time)
        ahead.append(frame.time > wall.now - start)

    time.register_free(look, FreePhase.POST_EXPORT)
    report = time.run(seconds=10)
    assert report.frames == 600
    assert ends[59::60] == [n * 1_000_000_000 for n in range(1, 11)]
    assert not any(ahead)


def test_a_slow_run_gets_slower_and_loses_no_step() -> None:
    """Callbacks dearer than their step stretch a deterministic run; every step still happens."""
    time = TimeManager()
    wall = Wall(time)
    steps: list[int] = []

    def dear(context) -> None:  # type: ignore[no-untyped-def]
        steps.append(context.step)
        wall.now += 40_000_000

    time.register(dear)
    report = time.run(seconds=1)
    assert steps == list(range(50))
    assert report.wall_ns >= 50 * 40_000_000
    assert report.forgiven_ns == pytest.approx(1_000_000_000, rel=0.1)


def test_after_a_stall_it_does_not_race() -> None:
    """One long callback is forgiven; the steps after it keep their distance."""
    time = TimeManager()
    wall = Wall(time)
    begun: list[int] = []

    def stall_once(context) -> None:  # type: ignore[no-untyped-def]
        begun.append(wall.now)
        if context.step == 10:
            wall.now += 2_000_000_000

    time.register(stall_once)
    report = time.run(seconds=1)
    gaps = [b - a for a, b in itertools.pairwise(begun)]
    assert gaps[10] >= 2_000_000_000
    assert min(gaps[12:]) == 20_000_000
    assert report.forgiven_ns > 1_900_000_000


def test_game_mode_keeps_up_with_the_wall() -> None:
    """Game mode skips what it has no time for and ends when the wall clock says."""
    time = TimeManager(mode=TimeMode.GAME_REALTIME)
    wall = Wall(time)
    start = wall.now
    steps: list[int] = []

    def dear(context) -> None:  # type: ignore[no-untyped-def]
        steps.append(context.step)
        wall.now += 40_000_000

    time.register(dear)
    report = time.run(seconds=2)
    assert len(steps) < 60
    assert report.skipped_ns > 0
    assert wall.now - start < 2_100_000_000
    assert report.end_ns == 2_000_000_000  # no skip goes beyond the end


def test_it_is_never_ahead_of_the_wall_clock() -> None:
    """In the deterministic real-time mode sim time never passes wall time."""
    time = TimeManager()
    wall = Wall(time)
    start = wall.now
    ahead: list[bool] = []
    time.register(lambda c: ahead.append(c.time > wall.now - start))
    time.run(seconds=3)
    assert not any(ahead)


def test_stop_ends_the_run_after_the_instant() -> None:
    """A callback, or another thread, may end the run; the report says stopped."""
    time = TimeManager(mode="sim_high_performance")
    time.register(lambda c: c.step == 5 and time.stop())
    assert time.run(seconds=10).reason is RunEnd.STOPPED
    assert time.runners["Robot"].step == 5

    begun = threading.Event()
    time.register(lambda _: begun.set(), priority=1)

    def stop_from_outside() -> None:
        begun.wait()
        time.stop()

    other = threading.Thread(target=stop_from_outside)
    other.start()
    assert time.run(mode="sim_high_performance").reason is RunEnd.STOPPED
    other.join()


def test_progress_is_told() -> None:
    """A progress function hears of the run, and of its end last."""
    time = TimeManager()
    Wall(time)
    told: list[RunReport] = []
    report = time.run(seconds=2, progress=told.append)
    assert told[-1] == report
    assert len(told) >= 15
    assert [t.end_ns for t in told] == sorted(t.end_ns for t in told)


def test_real_sleep_releases_the_gil_and_keeps_the_mean() -> None:
    """A real paced run takes the time it should, and other threads run meanwhile."""
    time = TimeManager()
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1

    other = threading.Thread(target=count)
    other.start()
    report = time.run(seconds=0.2)
    done.set()
    other.join()
    assert counted > 0
    assert report.wall_ns >= 180_000_000  # the last instant lies at 180 ms
    assert report.steps == {"Robot": 10, "Capture": 6}


def test_a_free_update_that_touches_is_found() -> None:
    """With the check on, a free update that changes state is an error that names it."""
    from mainspring import Scene, Script

    class Counter(Script):
        def __init__(self) -> None:
            self.n = 0

        def on_update(self, ts: float) -> None:
            self.n += 1

    scene = Scene()
    counter = scene.add(Counter())
    scene.check_free_updates()
    scene.time.register_free(lambda f: f.get_alpha("Robot"), name="looks")
    scene.frame(20_000_000)
    scene.time.register_free(lambda _: setattr(counter, "n", 0), name="touches")
    with pytest.raises(ClockError, match="'touches' changed the state"):
        scene.frame(20_000_000)


def test_a_mode_may_be_assigned_by_name() -> None:
    """Assigning a mode's name, in either vocabulary, is assigning the mode."""
    time = TimeManager()
    time.mode = "RealtimeNonDeterministic"  # type: ignore[assignment]
    assert time.mode is TimeMode.GAME_REALTIME
    with pytest.raises(ClockError, match="no time mode"):
        time.mode = "warp"  # type: ignore[assignment]


def test_free_updates_follow_a_priority_that_changes() -> None:
    """Assigning a free update's priority or phase moves it from the next free phase on."""
    ran: list[str] = []
    time = TimeManager()
    first = time.register_free(lambda _: ran.append("a"))
    time.register_free(lambda _: ran.append("b"), priority=1)
    time.frame(0)
    first.priority = 2
    time.frame(0)
    first.phase = FreePhase.POST_EXPORT
    time.register(lambda _: ran.append("step"))
    time.frame(1)
    assert ran == ["a", "b", "b", "a", "b", "step", "a"]


def test_a_mode_set_during_a_run_counts_from_the_next_frame() -> None:
    """A run that is told to hurry no longer waits; told to pace itself, it waits from there on."""
    time = TimeManager()
    wall = Wall(time)
    start = wall.now
    begun: list[tuple[int, int]] = []

    def switch(context) -> None:  # type: ignore[no-untyped-def]
        begun.append((context.time, wall.now - start))
        if context.time == 1_000_000_000:
            time.mode = TimeMode.SIM_HIGH_PERFORMANCE
        if context.time == 5_000_000_000:
            time.mode = TimeMode.SIM_REALTIME
            time.stop()

    time.register(switch)
    time.run(seconds=10)
    assert begun[50] == (1_000_000_000, 1_000_000_000)
    assert all(real < 1_020_000_000 for sim, real in begun[51:])
    assert begun[-1][0] == 5_000_000_000
    assert time.run(seconds=1).wall_ns == 1_000_000_000


def test_a_runner_that_takes_anothers_id_in_a_frame_has_its_own_steps() -> None:
    """A report counts the steps of the runners there are, and none below zero."""
    time = TimeManager()
    time.frame(100_000_000)

    def replace(context) -> None:  # type: ignore[no-untyped-def]
        if "Capture" in time.runners:
            time.runners.remove("Capture")
            time.runners.add("Lidar", 100)

    time.register(replace)
    assert time.frame(100_000_000).steps == {"Robot": 5, "Lidar": 9}

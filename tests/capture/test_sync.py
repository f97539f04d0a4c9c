"""Sync points: latched once, at shared instants, consistent on every thread."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from mainspring import Scene, Script
from mainspring.capture import SyncError, SyncPoint


class Counter(Script):
    """Counts its steps; `pair` is always two equal numbers, `turn` a quaternion about z."""

    def __init__(self) -> None:
        self.count = 0
        self.height = 0.0
        self.pair = np.zeros(2000)
        self.turn = np.array([1.0, 0.0, 0.0, 0.0])

    def on_update(self, ts: float) -> None:
        self.count += 1
        self.height = float(self.count)
        self.pair[:] = self.count
        half = self.count * 0.1
        self.turn = np.array([np.cos(half), 0.0, 0.0, np.sin(half)])


def cell(**settings: Any) -> tuple[Scene, Counter, SyncPoint]:
    """The default scene with a counter and a sync point on it."""
    scene = Scene("cell")
    counter = scene.add(Counter(), name="counter")
    paths = {name: f"counter.{name}" for name in ("count", "height", "pair", "turn")}
    sync = scene.add(SyncPoint(paths, rotations=["turn"], **settings))
    return scene, counter, sync


def test_latched_at_shared_boundaries_only() -> None:
    """Robot at 50 Hz and Capture at 30 Hz share every 100 ms: ten a second, and no other."""
    scene, _, sync = cell(history=100)
    scene.advance(seconds=1)
    assert [one.time_ns for one in sync.history] == [k * 100_000_000 for k in range(10)]
    assert [one.index for one in sync.history] == list(range(10))
    # Latched in Acquisition: what the steps before have left, not what this one will do.
    assert [one["count"] for one in sync.history] == [5 * k for k in range(10)]
    assert sync.count == 10


def test_three_runners_and_one() -> None:
    """Any choice of runners; with one, every boundary of it."""
    scene = Scene("cell", runners=[("A", 12), ("B", 8), ("C", 6)])
    every = scene.add(SyncPoint({"t": lambda: 1.0}, runners=["A", "B", "C"], history=99))
    pair = scene.add(
        SyncPoint({"t": lambda: 1.0}, runners=["B", "C"], history=99, name="pair"), runner="B"
    )
    single = scene.add(
        SyncPoint({"t": lambda: 1.0}, runners=["C"], history=99, name="c"), runner="C"
    )
    scene.advance(seconds=2)
    assert (every.count, pair.count, single.count) == (4, 4, 12)


def test_history_is_bounded() -> None:
    """The last N, oldest first."""
    scene, _, sync = cell(history=3)
    scene.advance(seconds=1)
    assert [one.index for one in sync.history] == [7, 8, 9]


def test_snapshots_never_change() -> None:
    """A snapshot is a copy, and nobody can write to it."""
    scene, counter, sync = cell()
    scene.advance(seconds=0.15)
    latest = sync.latest
    assert latest is not None
    before = latest["pair"].copy()
    counter.pair[:] = -1.0
    np.testing.assert_array_equal(latest["pair"], before)
    with pytest.raises(ValueError, match="read-only"):
        latest["pair"][0] = 1.0
    with pytest.raises(TypeError):
        latest["pair2"] = 1  # type: ignore[index]
    with pytest.raises(KeyError, match="did you mean 'pair'"):
        latest["pai"]


def test_interpolation() -> None:
    """Numbers in a line, rotations on the sphere, counts in steps."""
    scene, _, sync = cell()
    scene.advance(seconds=0.25)  # latched at 0, 100, 200 ms: counts 0, 5, 10
    assert sync.at(0.0)["height"] == 5.0
    assert sync.at(1.0)["height"] == 10.0
    assert sync.at(0.25)["height"] == pytest.approx(6.25)
    assert sync.at(0.25)["count"] == 5
    np.testing.assert_allclose(sync.at(0.5)["pair"], 7.5)
    turn = sync.at(0.5)["turn"]
    np.testing.assert_allclose(turn, (np.cos(0.75), 0, 0, np.sin(0.75)), atol=1e-12)
    assert sync.at_time(150_000_000)["height"] == pytest.approx(7.5)
    assert sync.at_time(50_000_000)["height"] == pytest.approx(2.5)
    assert sync.at_time(10**12)["height"] == 10.0
    assert sync.at_time(-5)["height"] == 0.0


def test_readers_on_other_threads_see_one_instant() -> None:
    """While the simulation runs, each snapshot that anybody reads is whole."""
    scene, _, sync = cell(history=4)
    scene.advance(instants=1)
    torn: list[Any] = []
    seen: set[int] = set()
    done = threading.Event()
    looked = threading.Condition()

    def read() -> None:
        last = -1
        while not done.is_set():
            latest = sync.latest
            assert latest is not None
            pair = latest["pair"]
            if pair[0] != pair[-1] or pair[0] != latest["count"] or latest["height"] != pair[7]:
                torn.append(latest)
            if latest.index < last:
                torn.append("went back")
            last = latest.index
            with looked:
                seen.add(latest.index)
                looked.notify()

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(60):
            scene.advance(seconds=0.1)
            with looked:  # every snapshot is looked at, however the threads are scheduled
                looked.wait_for(lambda: sync.latest is not None and sync.latest.index in seen)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert torn == []
    assert len(seen) >= 60


def test_it_is_state() -> None:
    """A restored scene has the history, and goes on with the same."""
    scene, _, sync = cell()
    scene.advance(seconds=0.35)
    other, _, sync2 = cell()
    other.restore(scene.save())
    assert [one.time_ns for one in sync2.history] == [one.time_ns for one in sync.history]
    scene.advance(seconds=0.2)
    other.advance(seconds=0.2)
    assert scene.hash() == other.hash()
    scene.reset()
    assert sync.latest is None
    assert sync.count == 0


def test_wrong_paths_are_named() -> None:
    """A path to nothing says what there is."""
    scene = Scene("cell")
    scene.add(Counter(), name="counter")
    with pytest.raises(SyncError, match=r"did you mean counter|did you mean 'counter'"):
        scene.add(SyncPoint({"x": "countr.count"}))
    with pytest.raises(SyncError, match="has no value 'y'"):
        SyncPoint({"x": lambda: 1.0}, rotations=["y"])
    with pytest.raises(SyncError, match="1 is the least"):
        SyncPoint({}, history=0)
    with pytest.raises(SyncError, match="no runners"):
        SyncPoint({}, runners=())
    sync = SyncPoint({"x": lambda: 1.0})
    with pytest.raises(SyncError, match="nothing yet"):
        sync.at(0.5)


def test_it_is_stepped_by_one_of_its_own_runners() -> None:
    """Added without a runner it misses no shared boundary; with one that is not among its own,
    which would miss some, it is refused."""
    scene = Scene("rates", runners=[("Robot", 50), ("A", 30), ("B", 45)])
    sync = scene.add(SyncPoint({"now": lambda: scene.time.now}, runners=["A", "B"], history=99))
    with pytest.raises(SyncError, match="'Robot', which is not there whenever A, B meet"):
        scene.add(SyncPoint({}, runners=["A", "B"], name="late"), runner="Robot")
    scene.advance(seconds=1)
    assert [one.time_ns for one in sync.history] == [k * 10**9 // 15 for k in range(15)]


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan")])
def test_alpha_is_between_the_two(alpha: float) -> None:
    """It interpolates; what lies outside is nobody's value."""
    scene = Scene("rates")
    sync = scene.add(SyncPoint({"now": lambda: float(scene.time.now)}))
    scene.advance(seconds=0.2)
    with pytest.raises(SyncError, match="from 0 to 1"):
        sync.at(alpha)

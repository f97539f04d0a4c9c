"""When a recording looks at the state, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mainspring.world.log import _cadence
from mainspring.world.log._cadence import SNAPSHOT_BUSY_NS, Cadence


class Work:
    """CPU time that passes when the test says so."""

    def __init__(self) -> None:
        self.ns = 0

    def thread_time_ns(self) -> int:
        return self.ns


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    found = Work()
    monkeypatch.setattr(_cadence, "time", found)
    return found


def snapshots(work: Work, costs_ns: list[int], step_ns: int) -> Iterator[int]:
    """The CPU time between one snapshot and the next, each of which costs what `costs_ns` says."""
    cadence = Cadence(None, "auto")
    at_ns = cadence.begin(-1)
    since_ns = work.ns
    for cost_ns in costs_ns:
        while True:
            work.ns += step_ns
            began_ns, wanted = work.ns, cadence.wants_snapshot(at_ns)
            if wanted:
                yield began_ns - since_ns
                work.ns += cost_ns
                since_ns = work.ns
            at_ns = cadence.next_look(at_ns, began_ns, wanted)
            if wanted:
                break


def test_a_snapshot_comes_whenever_a_run_has_computed_for_long_enough(work: Work) -> None:
    """However much simulation time that is."""
    assert list(snapshots(work, [100_000] * 4, 1_000_000)) == [SNAPSHOT_BUSY_NS] * 4


def test_one_snapshot_that_was_held_up_leaves_no_gap(work: Work) -> None:
    """A pause of the collector or the system is not what snapshots cost."""
    costs = [100_000, 100_000, 12_000_000, 100_000, 100_000]
    assert list(snapshots(work, costs, 1_000_000)) == [SNAPSHOT_BUSY_NS] * 5


def test_snapshots_that_are_dear_come_less_often(work: Work) -> None:
    """So that they cost no more than their share."""
    gaps = list(snapshots(work, [6_000_000] * 4, 1_000_000))
    assert gaps[0] == SNAPSHOT_BUSY_NS
    assert gaps[1:] == [200_000_000] * 3

"""A model of inbox and log: whatever is put, drained, committed and cut off, the log agrees.

The model keeps lists; the real thing is a scene with a recorder whose process dies and is
resumed at any moment. Acknowledged inputs never get lost, none comes twice, none is made up,
their order is the order in which they were put, and the state is the one the model computes.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mainspring.clock import Input
from mainspring.scene import Scene, Script
from mainspring.world import compact, open_run, record, replay, resume, verify


class Tally(Script):
    """Folds inputs into a number in which their order shows."""

    def __init__(self) -> None:
        self.value = 0
        self.steps = 0

    def on_start(self) -> None:
        self.scene.inbox.route("n", self.take)

    def take(self, given: Input) -> None:
        self.value = (self.value * 31 + given.payload) % 1_000_003

    def on_update(self, ts: float) -> None:
        self.steps += 1


def build() -> Scene:
    scene = Scene("tally")
    scene.add(Tally(), name="tally")
    return scene


class InboxAndLog(RuleBasedStateMachine):
    @initialize(durability=st.sampled_from(["group", "instant", "none"]))
    def begin(self, durability: Any) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mainspring-model-"))
        self.path = self.folder / "run.world"
        self.lives = 0
        self.waiting: list[int] = []
        self.drained: list[int] = []
        self.safe = 0  # how many of the drained are known to be on the disk
        self.recorder = record(
            build(), self.path, durability=durability, hash_every=0.1, snapshot_every=0.2,
            entry=f"{__file__}:build",
        )  # fmt: skip

    @property
    def scene(self) -> Scene:
        return self.recorder.scene  # type: ignore[no-any-return]

    @rule(numbers=st.lists(st.integers(0, 999), min_size=1, max_size=4))
    def put(self, numbers: list[int]) -> None:
        for number in numbers:
            seq = self.scene.inbox.put("n", number)
            self.waiting.append(number)
            assert seq == len(self.drained) + len(self.waiting)

    @rule(ms=st.integers(1, 120))
    def advance(self, ms: int) -> None:
        before = self.scene.time.instants
        self.scene.advance(ns=ms * 1_000_000)
        if self.scene.time.instants > before:
            self.drained += self.waiting
            self.waiting = []

    @rule()
    def flush(self) -> None:
        self.recorder.flush()
        self.safe = len(self.drained)
        assert self.recorder.durable_seq >= self.safe or self.safe == self.resumed_with()

    def resumed_with(self) -> int:
        return getattr(self, "kept", 0)

    @rule()
    def snapshot(self) -> None:
        self.recorder.snapshot()

    @rule()
    def crash(self) -> None:
        """The process dies here: what is in the file is all there is."""
        self.lives += 1
        copy = self.folder / f"life{self.lives}.world"
        for suffix in ("", "-wal"):
            if (self.folder / f"{self.path.name}{suffix}").exists():
                shutil.copy(f"{self.path}{suffix}", f"{copy}{suffix}")
        self.recorder.close()
        self.path = copy
        self.recorder = resume(copy, hash_every=0.1, snapshot_every=0.2)
        logged = self._logged()
        assert logged == self.drained[: len(logged)]
        assert len(logged) >= self.safe
        self.drained, self.waiting = logged, []
        self.safe = self.kept = len(logged)

    @rule()
    def end_and_resume(self) -> None:
        """A clean end loses nothing, not even what waits."""
        self.recorder.close()
        self.recorder = resume(self.path, hash_every=0.1, snapshot_every=0.2)
        assert [given.payload for given in self.scene.inbox.waiting] == self.waiting
        self.safe = self.kept = len(self.drained)

    @precondition(lambda self: self.lives < 3)
    @rule()
    def end_compact_and_resume(self) -> None:
        self.recorder.close()
        if compact(self.path).archive is not None:
            self.compacted = True
        self.recorder = resume(self.path, hash_every=0.1, snapshot_every=0.2)
        self.safe = self.kept = len(self.drained)

    @invariant()
    def the_state_is_what_the_inputs_make(self) -> None:
        if not hasattr(self, "recorder"):
            return
        value = 0
        for number in self.drained:
            value = (value * 31 + number) % 1_000_003
        tally: Any = self.scene.scripts["tally"]
        assert tally.value == value
        assert self.scene.inbox.pending == len(self.waiting)

    def _logged(self) -> list[int]:
        with open_run(self.path) as run:
            if getattr(self, "compacted", False):
                return self.drained[: self._count(run)]
            return [i.payload for g in run.inputs() for i in g.inputs]

    @staticmethod
    def _count(run: Any) -> int:
        # The older inputs are in archives: the last sequence number says how many there were.
        last = 0
        for group in run.inputs():
            last = group.inputs[-1].seq
        snapshot = run.reader.snapshot_before(2**62)
        from mainspring.world.log._states import decode_snapshot

        return max(last, decode_snapshot(snapshot.body).last_seq)

    def teardown(self) -> None:
        if hasattr(self, "recorder"):
            self.recorder.close()
            assert verify(self.path).ok
            assert replay(self.path).identical
            shutil.rmtree(self.folder)


InboxAndLog.TestCase.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
TestInboxAndLog = pytest.mark.slow(InboxAndLog.TestCase)

"""Solvers whose engine keeps state that it does not give away.

Box2D and Jolt hide their contact caches and warm starts, so a copy of poses and velocities
would continue a little differently. What they do promise is that the same model, with the same
things written to it before the same steps, comes out with the same bits. So the snapshot is
that: every write since the start, by engine step; restoring builds the world anew, replays it,
and compares the bodies with those of the snapshot to the last bit.

The price is time: a restore costs as much as the run so far, and the journal grows with what is
written (not with what is simulated).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from mainspring import state
from mainspring.physics._errors import RestoreError
from mainspring.physics._kinds import Array, Rows
from mainspring.physics._solver import Solver

__all__ = ["ReplayedSolver"]

_Entry = tuple[int, str, Rows, Array, Array]


class ReplayedSolver(Solver):
    """A solver that is restored by replaying its journal."""

    def __init__(self, model: Any, **settings: Any) -> None:
        self._journal: list[_Entry] = []
        super().__init__(model, **settings)

    def load(self, model: Any) -> None:
        """Put another model in its place, with an empty journal."""
        self._journal, self._chain, self._dt = [], b"", 0.0
        super().load(model)

    @abstractmethod
    def _build(self) -> None:
        """The engine's world as the model describes it, before any step."""

    def _record(self, kind: str, rows: Rows, first: Array, second: Array) -> None:
        self._append((self.steps, kind, rows.copy(), first.copy(), second.copy()))

    def _append(self, entry: _Entry) -> None:
        self._journal.append(entry)
        self._chain = state.digest([self._chain, list(entry)], self.name)

    def _set_engine_step(self, seconds: float) -> None:
        if seconds != self._dt:
            self._dt = seconds
            self._record("step", np.zeros(1, np.intp), np.array([seconds]), np.zeros(1))

    def _step_with_forces(self, count: int) -> bool:
        steps = np.array([count], dtype=np.intp)
        wrenches = np.array(self._wrenches, dtype=np.float64).reshape(-1, 6)
        self._record("forces", steps, wrenches, np.array(self._force_rows, dtype=np.float64))
        return super()._step_with_forces(count)

    def _save(self) -> Any:
        return [list(self._journal), *self.poses(), *self.velocities()]

    def _restore(self, saved: Any) -> None:
        journal, *bodies = saved
        self._build()
        self._journal, self._chain, self._dt = [], b"", 0.0
        done = 0
        for entry in journal:
            at, kind, rows, first, second = entry
            self._advance(at - done)
            done = at + self._redo(kind, rows, first, second)
            self._append((int(at), str(kind), rows, first, second))
        self._advance(self.steps - done)
        self._runner_step_s = -1.0  # fit again: this may be another scene
        now = [*self.poses(), *self.velocities()]
        for one, other in zip(now, bodies, strict=True):
            if one.tobytes() != other.tobytes():
                row = int(np.flatnonzero((one != other).any(axis=1))[0])
                raise RestoreError(
                    f"solver {self.name!r}: replaying to step {self.steps} put body "
                    f"{self.bodies[row]!r} elsewhere than the snapshot has it",
                    hint="another build of the engine, or its world was changed directly: "
                    "write through the solver, which keeps the journal",
                )

    def _redo(self, kind: str, rows: Rows, first: Array, second: Array) -> int:
        """Write again what was written; how many engine steps that took."""
        if kind == "step":
            self._dt = float(first[0])
        elif kind == "poses":
            self._write_poses(rows, first, second)
        elif kind == "positions":
            self._write_poses(rows, first, None)
        elif kind == "velocities":
            self._write_velocities(rows, first, second)
        elif kind == "controls":
            self._write_controls(rows, first)
        elif kind == "forces":
            held = [int(row) for row in second]
            self._apply_wrenches(held, [tuple(wrench) for wrench in first.tolist()])
            self._advance(int(rows[0]))
            self._clear_wrenches(held)
            return int(rows[0])
        return 0

    def _reset(self) -> None:
        dt, self._dt = self._dt, 0.0
        self._journal, self._chain = [], b""
        self._build()
        self.steps = 0
        if dt:
            self._set_engine_step(dt)

    def hash(self) -> bytes:
        """16 bytes that are the same for the same state; the journal counts by its own hash."""
        known = [self._model_digest(), self.steps, self._chain, self._wrenches, self._force_rows]
        return state.digest([*known, *self.poses(), *self.velocities()], self.name)

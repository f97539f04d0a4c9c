"""Sync points: one consistent picture of several rates, at the instants they share.

At every instant at which all the chosen runners step, after the sensors of that instant and
before anything is controlled or moved, each chosen value is read once and the whole is
published in one assignment. So whoever reads, on whatever thread, sees one instant, never half
of one and half of the next; and nobody who reads is waited for.

    >>> sync = SyncPoint({"x": lambda: 1.5}, runners=("Robot", "Capture"))
    >>> sync.latest is None
    True

A value is a callable without arguments, or a path into the scene such as "arm.joint_positions"
or "scan.value" (a subsystem's, a script's or an attached part's attribute, called if it can be).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mainspring.clock import Phase, Runner, StepContext
from mainspring.errors import MainspringError, nearest
from mainspring.scene import Scene, Subsystem

__all__ = ["SyncError", "SyncPoint", "SyncSnapshot"]


class SyncError(MainspringError):
    """A sync point cannot be set up or read."""


class SyncSnapshot(Mapping[str, Any]):
    """What was true at one instant: values by name, never to change again."""

    __slots__ = ("_values", "index", "time_ns")

    def __init__(self, index: int, time_ns: int, values: dict[str, Any]) -> None:
        self.index = index
        self.time_ns = time_ns
        self._values = values

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise KeyError(f"{name!r}; {nearest(name, self._values)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    # Two snapshots with the same values are still two: arrays have no single answer to `==`.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"SyncSnapshot(index={self.index}, time_ns={self.time_ns}, {self._values})"


class SyncPoint(Subsystem):
    """Latches `values` at every shared boundary of `runners`; keeps the last `history`.

    `rotations` names the values that are quaternions: they are interpolated on the sphere.
    """

    default_phase = Phase.ACQUISITION
    default_priority = 1_000_000  # after the sensors of the same instant

    def __init__(
        self,
        values: Mapping[str, str | Callable[[], Any]],
        *,
        runners: Sequence[str | int] = (0, 1),
        history: int = 16,
        rotations: Iterable[str] = (),
        name: str = "sync",
    ) -> None:
        self.name = name
        if history < 1:
            raise SyncError(f"sync point {name!r} keeps {history} snapshots; 1 is the least")
        if not runners:
            raise SyncError(f"sync point {name!r} has no runners to wait for")
        self._wanted = dict(values)
        self._wanted_runners = tuple(runners)
        # Any of them is there at every instant they share; another runner would miss some.
        self.default_runner = self._wanted_runners[0]
        self._rotations = frozenset(rotations)
        unknown = sorted(self._rotations - set(self._wanted))
        if unknown:
            raise SyncError(
                f"sync point {name!r} has no value {unknown[0]!r} to turn",
                hint=nearest(unknown[0], self._wanted),
            )
        self._length = history
        self._readers: list[tuple[str, Callable[[], Any]]] = []
        self._runners: list[Runner] = []
        # Replaced as a whole, never changed: that is what makes reading safe on any thread.
        self._history: tuple[SyncSnapshot, ...] = ()
        self._count = 0
        self._latched_ns = -1

    # On the scene's thread.

    def attach(self, scene: Scene) -> None:
        """Finds the runners and the values."""
        self._runners = [scene.time.runners[runner] for runner in self._wanted_runners]
        for place in scene.time.registrations:
            if place.callback == self.step and place.runner not in self._runners:
                names = [runner.name for runner in self._runners]
                raise SyncError(
                    f"sync point {self.name!r} is stepped by runner {place.runner.name!r}, which is "
                    f"not there whenever {', '.join(names)} meet",
                    hint=f"add it with runner={names[0]!r}, or with none",
                )
        self._readers = [
            (name, wanted if callable(wanted) else _path(scene, wanted, self.name))
            for name, wanted in self._wanted.items()
        ]

    def step(self, context: StepContext) -> None:
        """Latch, if this instant is shared by all."""
        now = context.time
        if now == self._latched_ns:
            return
        for runner in self._runners:
            if runner.last_ns != now or runner.step < 0:
                return
        self._latched_ns = now
        values = {name: _frozen(read()) for name, read in self._readers}
        snapshot = SyncSnapshot(self._count, now, values)
        self._count += 1
        self._history = (
            (*self._history[1 - self._length :], snapshot) if self._length > 1 else (snapshot,)
        )

    # On any thread.

    @property
    def latest(self) -> SyncSnapshot | None:
        """The newest snapshot; None before the first."""
        history = self._history
        return history[-1] if history else None

    @property
    def history(self) -> tuple[SyncSnapshot, ...]:
        """The last snapshots, oldest first."""
        return self._history

    @property
    def count(self) -> int:
        """How many were latched since the start."""
        history = self._history
        return history[-1].index + 1 if history else 0

    def at(self, alpha: float) -> dict[str, Any]:
        """The values `alpha` of the way from the last snapshot but one (0) to the last (1)."""
        if not 0.0 <= alpha <= 1.0:
            raise SyncError(f"sync point {self.name!r}: alpha is from 0 to 1, not {alpha!r}")
        history = self._history
        if not history:
            raise SyncError(f"sync point {self.name!r} has latched nothing yet")
        before = history[-2] if len(history) > 1 else history[-1]
        return self._between(before, history[-1], alpha)

    def at_time(self, time_ns: int) -> dict[str, Any]:
        """The values at a time, between the snapshots around it; held beyond the ends."""
        history = self._history
        if not history:
            raise SyncError(f"sync point {self.name!r} has latched nothing yet")
        before = after = history[0]
        for snapshot in history:
            before, after = after, snapshot
            if snapshot.time_ns >= time_ns:
                break
        span = after.time_ns - before.time_ns
        alpha = (time_ns - before.time_ns) / span if span else 1.0
        return self._between(before, after, min(max(alpha, 0.0), 1.0))

    def _between(self, before: SyncSnapshot, after: SyncSnapshot, alpha: float) -> dict[str, Any]:
        return {
            name: _interpolated(before[name], after[name], alpha, name in self._rotations)
            for name in after
        }

    # State.

    def save(self) -> Any:
        """The history, and how many there were."""
        kept = [[one.index, one.time_ns, dict(one)] for one in self._history]
        return {"history": kept, "count": self._count, "latched_ns": self._latched_ns}

    def restore(self, saved: Any) -> None:
        """Leaves it as it was."""
        self._history = tuple(
            SyncSnapshot(index, time_ns, {name: _frozen(v) for name, v in values.items()})
            for index, time_ns, values in saved["history"]
        )
        self._count = saved["count"]
        self._latched_ns = saved["latched_ns"]


def _path(scene: Scene, path: str, asker: str) -> Callable[[], Any]:
    """A reader of "part.attribute.attribute"."""
    first, *rest = path.split(".")
    parts: dict[str, Any] = {**scene.subsystems, **scene.scripts}
    root = parts[first] if first in parts else getattr(scene, first, None)
    if root is None or not rest:
        raise SyncError(
            f"sync point {asker!r} reads {path!r}, which names nothing in the scene",
            hint=f"part.attribute, of a part added before; {nearest(first, parts)}",
        )

    def read() -> Any:
        value = root
        for attribute in rest:
            try:
                value = getattr(value, attribute)
            except AttributeError:
                known = [name for name in dir(value) if not name.startswith("_")]
                raise SyncError(
                    f"sync point {asker!r} reads {path!r}: there is no {attribute!r}",
                    hint=nearest(attribute, known),
                ) from None
        return value() if callable(value) else value

    return read


def _frozen(value: Any) -> Any:
    """A copy that nobody can change."""
    if isinstance(value, np.ndarray):
        copy = value.copy()
        copy.flags.writeable = False
        return copy
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return value


def _interpolated(before: Any, after: Any, alpha: float, turns: bool) -> Any:
    if isinstance(after, bool) or not isinstance(after, float | np.ndarray):
        return after if alpha >= 1.0 else before  # steps, as whatever has no middle does
    if isinstance(after, np.ndarray) and after.dtype.kind != "f":
        return after if alpha >= 1.0 else before
    if np.shape(before) != np.shape(after):
        return after if alpha >= 1.0 else before
    if turns:
        return _turned(np.asarray(before), np.asarray(after), alpha)
    if alpha >= 1.0:
        return after
    return before + (after - before) * alpha


def _turned(before: Any, after: Any, alpha: float) -> Any:
    """Between quaternions, (4,) or (n, 4), the shorter way round."""
    dot = np.sum(before * after, axis=-1, keepdims=True)
    after = np.where(dot < 0, -after, after)
    dot = np.clip(np.abs(dot), 0.0, 1.0)
    angle = np.arccos(dot)
    small = angle < 1e-6
    sine = np.where(small, 1.0, np.sin(angle))
    first = np.where(small, 1.0 - alpha, np.sin((1.0 - alpha) * angle) / sine)
    second = np.where(small, alpha, np.sin(alpha * angle) / sine)
    mixed = first * before + second * after
    return mixed / np.linalg.norm(mixed, axis=-1, keepdims=True)

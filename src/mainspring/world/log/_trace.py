"""One instant, step by step: what each input and each callback did to the state.

A step is an input that was handed to its handler or a callback that returned. After each, the
parts of the state are encoded; parts that did not change share their bytes with the step
before, so that a trace costs little more than the state itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mainspring.clock import CallbackError, Input
from mainspring.world.log._states import Captured, capture

__all__ = ["Step", "trace_instant"]


class Step(msgspec.Struct, frozen=True):
    """One thing that an instant did, and the state after it."""

    kind: str
    """"input", "skill", "callback", or "instant" for what the clock itself does."""
    name: str
    """The callback's name, the skill's, or the kind of input."""
    runner: str
    phase: str
    owner: str | None
    """The part of the state that the callback or handler belongs to."""
    after: Captured
    seq: int | None = None
    error: str | None = None

    @property
    def label(self) -> tuple[str, str, str, str]:
        return self.kind, self.name, self.runner, self.phase

    def __str__(self) -> str:
        if self.kind == "callback":
            return f"callback {self.name} (runner {self.runner}, phase {self.phase})"
        if self.kind in ("input", "skill"):
            return f"{self.kind} {self.name} (input {self.seq})"
        return "the clock itself"


def trace_instant(scene: Any, run: Callable[[], object]) -> list[Step]:
    """Call `run`, which runs one instant of `scene`; the steps it took, in order."""
    return _Trace(scene).of(run)


class _Trace:
    def __init__(self, scene: Any) -> None:
        self._scene = scene
        self._clock = scene.time
        self._inbox = scene.time.inbox
        self._steps: list[Step] = []
        self._last = capture(scene)
        self._owners = {id(part): name for name, part in scene.parts.items()}

    def of(self, run: Callable[[], object]) -> list[Step]:
        observers = self._clock.observers
        observers.add(self)
        self._inbox.apply = self._apply
        error: str | None = None
        try:
            run()
        except CallbackError as failed:
            error = failed.message
        finally:
            del self._inbox.apply
            observers.remove(self)
        self._note("instant", "", "", "", None, error=error)
        return self._steps

    def _apply(self, given: Input) -> None:
        handler = self._inbox._routes[given.kind]
        handler(given)
        skill = given.payload.get("skill") if isinstance(given.payload, dict) else None
        if given.kind == "intent" and skill is not None:
            self._note("skill", str(skill), "", "", self._owner(handler), given.seq)
        else:
            self._note("input", given.kind, "", "", self._owner(handler), given.seq)

    def called(self, registration: Any) -> None:
        owner = self._owner(registration.callback)
        runner, phase = registration.runner.name, str(registration.phase)
        self._note("callback", registration.name, runner, phase, owner)

    def _owner(self, function: Any) -> str | None:
        return self._owners.get(id(getattr(function, "__self__", None)))

    def _note(
        self,
        kind: str,
        name: str,
        runner: str,
        phase: str,
        owner: str | None,
        seq: int | None = None,
        error: str | None = None,
    ) -> None:
        now, before = capture(self._scene), self._last.parts
        shared = {
            part: before[part] if before.get(part) == data else data
            for part, data in now.parts.items()
        }
        self._last = Captured(shared)
        self._steps.append(Step(kind, name, runner, phase, owner, self._last, seq, error))

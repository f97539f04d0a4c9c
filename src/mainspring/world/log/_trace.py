"""One instant, step by step: what each input and each callback did to the state.

A step is an input that was handed to its handler, a callback that returned, or, inside the
callback of a graph, a node that was evaluated. After each, the parts of the state are encoded; parts that did not change share their bytes with the step
before, so that a trace costs little more than the state itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from mainspring import state
from mainspring.clock import CallbackError, Input
from mainspring.errors import MainspringError
from mainspring.world.log._states import Captured, capture

__all__ = ["Step", "steps_behind", "trace_instant"]


class Step(msgspec.Struct, frozen=True):
    """One thing that an instant did, and the state after it."""

    kind: str
    """"input", "skill", "callback", "node", or "instant" for what the clock itself does."""
    name: str
    """The callback's name, the skill's, the node's path, or the kind of input."""
    runner: str
    phase: str
    owner: str | None
    """The part of the state that the callback or handler belongs to."""
    after: Captured
    seq: int | None = None
    error: str | None = None
    value: Any = None
    """What a node put out."""
    wrote: frozenset[str] = frozenset()
    """The parts that are not what they were before the step."""

    def same_as(self, other: Step) -> bool:
        """Whether the two left the same behind."""
        return (
            self.after == other.after
            and self.error == other.error
            and _comparable(self.value) == _comparable(other.value)
        )

    @property
    def label(self) -> tuple[str, str, str, str]:
        return self.kind, self.name, self.runner, self.phase

    def __str__(self) -> str:
        if self.kind == "callback":
            return f"callback {self.name} (runner {self.runner}, phase {self.phase})"
        if self.kind == "node":
            return f"node {self.name}"
        if self.kind in ("input", "skill"):
            return f"{self.kind} {self.name} (input {self.seq})"
        return "the clock itself"


def trace_instant(scene: Any, run: Callable[[], object]) -> list[Step]:
    """Call `run`, which runs one instant of `scene`; the steps it took, in order."""
    return _Trace(scene).of(run)


def steps_behind(steps: list[Step], parts: Collection[str]) -> list[Step]:
    """The steps that belong to one of `parts`, or wrote to one of them."""
    return [step for step in steps if step.owner in parts or not step.wrote.isdisjoint(parts)]


def _comparable(value: Any) -> bytes | str:
    """Something equal exactly when the values are the same."""
    try:
        return state.encode(value)
    except (MainspringError, UnicodeEncodeError, RecursionError):
        return repr(value)


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
        # Only here: who never compares runs need not load the graph layer.
        from mainspring.world.log._trace_nodes import watch_graphs

        stop_watching = watch_graphs(self._scene, self.evaluated)
        self._inbox.apply = self._apply
        error: str | None = None
        try:
            run()
        except CallbackError as failed:
            error = failed.message
        finally:
            del self._inbox.apply
            observers.remove(self)
            stop_watching()
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

    def evaluated(self, part: str, path: str, value: Any) -> None:
        # What a node did shows in the graph's part only when its callback has returned.
        self._steps.append(Step("node", path, "", "", part, self._last, value=value))

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
        wrote = frozenset(part for part, data in shared.items() if before.get(part) is not data)
        self._last = Captured(shared)
        self._steps.append(
            Step(kind, name, runner, phase, owner, self._last, seq, error, wrote=wrote)
        )

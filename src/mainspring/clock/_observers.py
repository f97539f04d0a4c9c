"""Observers: whoever wants to know what the timeline does.

An observer has any of the methods below; those it lacks cost nothing, and with no observer at
all an instant pays for one comparison. Observers look and never touch.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mainspring.clock.errors import ObserverError

if TYPE_CHECKING:
    from mainspring._kernel.clock import Timeline
    from mainspring.clock._inbox import Input
    from mainspring.clock._registration import FreeRegistration, Registration

__all__ = ["Observer", "Observers"]


class SeesInputs(Protocol):
    def inputs(self, time_ns: int, inputs: list[Input]) -> None:
        """The inputs of an instant, before the first is applied (I3)."""


class SeesBegin(Protocol):
    def begin_instant(self, time_ns: int) -> None:
        """An instant begins; its inputs have been applied, nothing of its plan has run."""


class SeesEnd(Protocol):
    def end_instant(self, time_ns: int) -> None:
        """An instant is complete (I7)."""


class SeesCalls(Protocol):
    def called(self, registration: Registration) -> None:
        """A callback has returned."""


class SeesSkips(Protocol):
    def skipped(self, from_ns: int, to_ns: int) -> None:
        """Game mode jumped over sim time."""


class SeesErrors(Protocol):
    def error(self, registration: Registration | None, error: BaseException) -> None:
        """A callback raised; None when it was the inbox or an observer."""


class SeesResets(Protocol):
    def reset(self) -> None:
        """The clock is about to go back to time 0."""


class SeesFrameBegin(Protocol):
    def begin_frame(self, elapsed_ns: int) -> None:
        """A frame begins (F1), `elapsed_ns` of wall time after the one before."""


class SeesFreeCalls(Protocol):
    def called_free(self, registration: FreeRegistration) -> None:
        """A free update has returned."""


class SeesFrames(Protocol):
    def frame(self, report: Any) -> None:
        """A frame is over; `report` is its `FrameReport`."""


Observer: TypeAlias = (
    SeesInputs
    | SeesBegin
    | SeesEnd
    | SeesCalls
    | SeesSkips
    | SeesErrors
    | SeesResets
    | SeesFrameBegin
    | SeesFreeCalls
    | SeesFrames
)

_METHODS = (
    "inputs", "begin_instant", "end_instant", "called", "skipped", "error", "reset",
    "begin_frame", "called_free", "frame",
)  # fmt: skip
# Those the kernel calls itself, by the name of its hook.
_NEVER = 2**63 - 1
_HOOKS = {"begin_instant": "begin", "end_instant": "end", "called": "call"}


class Observers:
    """The observers of a timeline, told in the order they were added."""

    def __init__(self, kernel: Timeline) -> None:
        self._kernel = kernel
        self._all: list[Observer] = []
        self._tell: dict[str, list[Callable[..., object]]] = {name: [] for name in _METHODS}
        self._marks: list[tuple[int, int, Callable[[int], object]]] = []
        self._asked = 0
        kernel.hook("mark", self._tell_marks)

    def add(self, observer: Observer) -> None:
        """Adds an observer; it must have one of the methods at least."""
        if not any(hasattr(observer, name) for name in _METHODS):
            raise ObserverError(
                f"{observer!r} has none of an observer's methods", hint=", ".join(_METHODS)
            )
        self._all.append(observer)
        self._rebuild()

    def remove(self, observer: Observer) -> None:
        """Removes an observer."""
        self._all.remove(observer)
        self._rebuild()

    def once_after(self, time_ns: int, tell: Callable[[int], object]) -> None:
        """Calls `tell(time_ns)` once, at the end of the first instant at or after `time_ns`.

        For those who look now and then: the instants between pay nothing."""
        self._asked += 1
        heapq.heappush(self._marks, (time_ns, self._asked, tell))
        self._kernel.mark_at = self._marks[0][0]

    def cancel(self, tell: Callable[[int], object]) -> None:
        """Forgets every `once_after` that would call `tell`."""
        self._marks = [mark for mark in self._marks if mark[2] != tell]
        heapq.heapify(self._marks)
        self._kernel.mark_at = self._marks[0][0] if self._marks else _NEVER

    def _tell_marks(self, time_ns: int) -> None:
        due = []
        while self._marks and self._marks[0][0] <= time_ns:
            due.append(heapq.heappop(self._marks)[2])
        # order: time asked for, then the order of asking
        for tell in due:
            tell(time_ns)
        self._kernel.mark_at = self._marks[0][0] if self._marks else _NEVER

    def __iter__(self) -> Iterator[Observer]:
        return iter(tuple(self._all))

    def __len__(self) -> int:
        return len(self._all)

    def _rebuild(self) -> None:
        for name in _METHODS:
            self._tell[name] = [getattr(o, name) for o in self._all if hasattr(o, name)]
        for name, hook in _HOOKS.items():
            self._kernel.hook(hook, _one_of(self._tell[name]))

    def tell_inputs(self, time_ns: int, inputs: list[Input]) -> None:
        for tell in self._tell["inputs"]:
            tell(time_ns, inputs)

    def tell_skipped(self, from_ns: int, to_ns: int) -> None:
        for tell in self._tell["skipped"]:
            tell(from_ns, to_ns)

    def tell_error(self, registration: Registration | None, error: BaseException) -> None:
        for tell in self._tell["error"]:
            tell(registration, error)

    def tell_reset(self) -> None:
        for tell in self._tell["reset"]:
            tell()

    def tell_begin_frame(self, elapsed_ns: int) -> None:
        for tell in self._tell["begin_frame"]:
            tell(elapsed_ns)

    def tell_free(self, registration: FreeRegistration) -> None:
        for tell in self._tell["called_free"]:
            tell(registration)

    def tell_frame(self, report: Any) -> None:
        for tell in self._tell["frame"]:
            tell(report)


def _one_of(tells: list[Callable[..., object]]) -> Callable[[Any], None] | None:
    """One function that calls them all; the only one itself when there is just one."""
    if not tells:
        return None
    if len(tells) == 1:
        return tells[0]  # type: ignore[return-value]

    def tell_all(what: Any) -> None:
        for tell in tells:
            tell(what)

    return tell_all


def raised_in(error: BaseException) -> str:
    """Which observer raised: the first function in the traceback that is not this module's."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != __file__:
            return code.co_qualname
        trace = trace.tb_next
    return "without a name"

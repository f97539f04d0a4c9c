"""The clock's errors.

ClockError
├── RateError            a rate that no runner can have
├── RunnerError          an unknown, duplicate or still needed runner
├── RegistrationError    a registration that cannot be made or no longer exists
├── WordError            no such phase, free phase or time mode
├── TimeError            a time, a span or a count that is none
├── CallbackError        a callback raised: says scene, runner, phase, callback, step, time
├── IncompleteError      the instant before was broken off; the scene must be reset
├── NestedAdvanceError   advancing from inside a callback
├── ObserverError        an observer with none of the methods that are called
├── OwnerThreadError     touching the clock from a thread that does not own it
└── InboxError
    ├── InboxFullError   as many inputs wait as the inbox holds
    └── InboxRouteError  an input of a kind nobody handles
"""

from __future__ import annotations

from mainspring.errors import MainspringError

__all__ = [
    "CallbackError",
    "ClockError",
    "InboxError",
    "InboxFullError",
    "InboxRouteError",
    "IncompleteError",
    "NestedAdvanceError",
    "ObserverError",
    "OwnerThreadError",
    "RateError",
    "RegistrationError",
    "RunnerError",
    "TimeError",
    "WordError",
]


class ClockError(MainspringError):
    """The root of the clock's errors."""


class WordError(ClockError, ValueError):
    """No such phase, free phase or time mode."""


class TimeError(ClockError, ValueError):
    """A time, a span or a count that is none."""


class RateError(ClockError, ValueError):
    """A rate that no runner can have."""


class RunnerError(ClockError, LookupError):
    """An unknown, duplicate or still needed runner."""

    __str__ = Exception.__str__


class RegistrationError(ClockError, ValueError):
    """A registration that cannot be made, or that no longer exists."""


class CallbackError(ClockError):
    """Something the clock called raised; the cause is the exception it raised, with its traceback.

    `runner`, `phase` and `step` are None where none of them called: in the inbox or an observer."""

    def __init__(
        self,
        *,
        scene: str,
        what: str,
        callback: str,
        time_ns: int,
        cause: BaseException,
        hint: str,
        runner: str | None = None,
        phase: str | None = None,
        step: int | None = None,
    ) -> None:
        place = [f"scene {scene!r}"]
        if runner is not None:
            place.append(f"runner {runner!r}")
        if phase is not None:
            place.append(f"phase {phase}")
        if step is not None:
            place.append(f"{'frame' if runner is None else 'step'} {step}")
        told = cause.message if isinstance(cause, MainspringError) else cause
        if isinstance(cause, MainspringError) and cause.hint:
            hint = f"{cause.hint}; {hint}"
        super().__init__(
            f"{what} raised {type(cause).__name__}: {told}\n"
            f"  in {', '.join(place)}, time {time_ns / 1e9:.9f} s",
            hint=hint,
        )
        self.scene = scene
        self.callback = callback
        self.runner = runner
        self.phase = phase
        self.step = step
        self.time_ns = time_ns


class IncompleteError(ClockError):
    """The instant before was broken off by an error; the scene must be reset."""


class NestedAdvanceError(ClockError):
    """Advancing from inside a callback."""


class OwnerThreadError(ClockError):
    """Touching the clock from a thread that does not own it."""


class ObserverError(ClockError, TypeError):
    """Something that cannot observe was given as an observer."""


class InboxError(ClockError):
    """The root of the inbox's errors."""


class InboxFullError(InboxError):
    """As many inputs wait as the inbox holds; nothing was added."""


class InboxRouteError(InboxError, LookupError):
    """An input of a kind nobody handles; nothing was added."""

    __str__ = Exception.__str__

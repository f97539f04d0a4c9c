"""The clock's errors.

ClockError
├── RateError            a rate that no runner can have
├── RunnerError          an unknown, duplicate or still needed runner
├── RegistrationError    a registration that cannot be made or no longer exists
├── CallbackError        a callback raised: says scene, runner, phase, callback, step, time
├── IncompleteError      the instant before was broken off; the scene must be reset
├── NestedAdvanceError   advancing from inside a callback
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
    """A time or a span that is none."""


class RateError(ClockError, ValueError):
    """A rate that no runner can have."""


class RunnerError(ClockError, LookupError):
    """An unknown, duplicate or still needed runner."""

    __str__ = Exception.__str__


class RegistrationError(ClockError, ValueError):
    """A registration that cannot be made, or that no longer exists."""


class CallbackError(ClockError):
    """A callback raised; the cause is the exception it raised, with its traceback."""

    def __init__(
        self,
        *,
        scene: str,
        callback: str,
        runner: str,
        phase: str,
        step: int,
        time_ns: int,
        cause: BaseException,
    ) -> None:
        super().__init__(
            f"callback {callback!r} raised {type(cause).__name__}: {cause}\n"
            f"  in scene {scene!r}, runner {runner!r}, phase {phase}, "
            f"step {step}, time {time_ns / 1e9:.9f} s",
            hint="the instant is incomplete: mend the callback and call scene.reset(), "
            'or register it with on_error="disable"',
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


class InboxError(ClockError):
    """The root of the inbox's errors."""


class InboxFullError(InboxError):
    """As many inputs wait as the inbox holds; nothing was added."""


class InboxRouteError(InboxError, LookupError):
    """An input of a kind nobody handles; nothing was added."""

    __str__ = Exception.__str__

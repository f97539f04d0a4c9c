"""The clock's fixed vocabulary: phases, free phases, time modes, and why a run ended."""

from __future__ import annotations

import enum
from typing import TypeVar

from mainspring.clock.errors import WordError
from mainspring.errors import nearest

__all__ = ["FreePhase", "Phase", "RunEnd", "TimeMode"]

_E = TypeVar("_E", bound=enum.Enum)


class Phase(enum.IntEnum):
    """Where in a step a callback runs; always in this order."""

    ACQUISITION = 0
    CONTROL = 1
    PHYSICS = 2
    VALIDATION = 3
    EXPORT = 4

    @classmethod
    def parse(cls, value: Phase | int | str) -> Phase:
        """A phase from itself, its number or its name in any case."""
        return _parse(cls, value)

    def __str__(self) -> str:
        return self.name.capitalize()


class FreePhase(enum.IntEnum):
    """Where in a frame a free update runs: before or after the frame's instants."""

    PRE_ACQUISITION = 0
    POST_EXPORT = 1

    @classmethod
    def parse(cls, value: FreePhase | int | str) -> FreePhase:
        """A free phase from itself, its number or its name in any case."""
        return _parse(cls, value)

    def __str__(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("_"))


class TimeMode(enum.Enum):
    """How the timeline advances against the wall clock."""

    SIM_REALTIME = "sim_realtime"
    """Deterministic, never ahead of the wall clock; slows down under load. The default."""

    SIM_HIGH_PERFORMANCE = "sim_high_performance"
    """Deterministic, as fast as the hardware goes."""

    GAME_REALTIME = "game_realtime"
    """Follows the wall clock and skips simulation time when it cannot keep up."""

    # The second vocabulary for the same three modes.
    LowPerformanceDeterministic = SIM_REALTIME
    HighPerformanceDeterministic = SIM_HIGH_PERFORMANCE
    RealtimeNonDeterministic = GAME_REALTIME

    @property
    def deterministic(self) -> bool:
        """Whether the sequence of steps is the same whatever the frame rate and the load."""
        return self is not TimeMode.GAME_REALTIME

    @classmethod
    def parse(cls, value: TimeMode | str) -> TimeMode:
        """A mode from itself or its name in either vocabulary, in any case."""
        return _parse(cls, value)

    def __str__(self) -> str:
        return self.value


class RunEnd(enum.Enum):
    """Why a run ended."""

    FINISHED = "finished"
    """It reached the end it was given."""

    INTERRUPTED = "interrupted"
    """Ctrl-C, between two instants."""

    STOPPED = "stopped"
    """A callback or the caller asked for it."""

    def __str__(self) -> str:
        return self.value


def _parse(cls: type[_E], value: object) -> _E:
    if isinstance(value, cls):
        return value
    known = dict(cls.__members__)  # aliases included
    if isinstance(value, str):
        wanted = value.strip().replace("_", "").replace(" ", "").replace("-", "").lower()
        for name, member in known.items():
            if name.replace("_", "").lower() == wanted:
                return member
    elif isinstance(value, int) and not isinstance(value, bool):
        for member in known.values():
            if member.value == value:
                return member
    what = {"Phase": "phase", "FreePhase": "free phase", "TimeMode": "time mode"}[cls.__name__]
    raise WordError(f"{value!r} is no {what}", hint=nearest(str(value), known))

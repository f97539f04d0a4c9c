"""`FixedLoop`: the classic accumulator, as a thin face of the timeline.

Each frame adds the real time that passed, at most a quarter of a second, runs as many whole
steps as have fit, at most five, and says how far the picture is between the last step and the
next. What five steps could not catch up stays in the accumulator for the frames after.

    >>> loop = FixedLoop(lambda ts: None)
    >>> loop.frame(0.05).steps
    3
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import msgspec

from mainspring.clock._manager import TimeManager
from mainspring.clock._rate import Rate, RateLike
from mainspring.clock._times import whole
from mainspring.clock.errors import TimeError

__all__ = ["FixedLoop", "LoopFrame"]

_JUST_BELOW_ONE = 1.0 - 2.0**-53


def _seconds(given: float | Fraction, what: str) -> Fraction:
    try:
        seconds = Fraction(given)
    except (TypeError, ValueError, OverflowError):
        seconds = None
    if seconds is None or seconds < 0:
        raise TimeError(f"{what} takes a number of seconds, 0 or more, not {given!r}")
    return seconds


class LoopFrame(msgspec.Struct, frozen=True):
    """What one frame of a fixed loop did."""

    steps: int
    alpha: float
    """How far the picture is between the last step and the next, in [0, 1)."""


class FixedLoop:
    """Runs `step(ts)` at a fixed rate, however long frames take."""

    def __init__(
        self,
        step: Callable[[float], object],
        *,
        frame: Callable[[float], object] | None = None,
        rate: RateLike = 60,
        max_steps_per_frame: int = 5,
        max_frame_delta: float = 0.25,
    ) -> None:
        self.rate = Rate(rate)
        self.max_steps_per_frame = whole(max_steps_per_frame, "max_steps_per_frame", least=1)
        self.max_frame_delta = _seconds(max_frame_delta, "max_frame_delta")
        self.time = TimeManager(runners=(("Loop", self.rate),), name="fixed loop")
        self.time._skip_first_boundary()  # step k is run once its whole length has passed
        self.time._register(step, wants_ts=True, runner="Loop")
        self._frame = frame
        self._elapsed = Fraction(0)
        self._steps = 0

    def reset(self) -> None:
        """Back to before the first frame, also after a step that raised."""
        self.time.reset()
        self.time._skip_first_boundary()
        self._elapsed = Fraction(0)
        self._steps = 0

    @property
    def steps(self) -> int:
        """How many steps have run."""
        return self._steps

    @property
    def accumulator(self) -> Fraction:
        """The time that passed and was not stepped yet, in seconds, exactly."""
        return self._elapsed - self._steps / self.rate.hertz

    @property
    def alpha(self) -> float:
        """How far the picture is between the last step and the next, in [0, 1)."""
        return min(max(float(self.accumulator * self.rate.hertz), 0.0), _JUST_BELOW_ONE)

    def frame(self, elapsed: float | Fraction) -> LoopFrame:
        """One frame after `elapsed` real seconds."""
        self._elapsed += min(_seconds(elapsed, "a frame"), self.max_frame_delta)
        # Sums of floats are rounded once, to the nanosecond, and never frame by frame.
        fit = self.rate.boundaries_before(round(self._elapsed * 1_000_000_000) + 1) - 1
        wanted = min(fit - self._steps, self.max_steps_per_frame)
        if wanted > 0:
            self.time.advance(instants=wanted)
            self._steps += wanted
        alpha = self.alpha
        if self._frame is not None:
            self._frame(alpha)
        return LoopFrame(max(wanted, 0), alpha)

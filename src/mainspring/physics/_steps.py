"""How an engine's step fits into its runner's: a whole number of times, or not at all.

Both are exact fractions of a second, so the answer never depends on rounding:

    >>> substeps_of(Fraction(1, 50), Fraction(1, 500), "arm")
    10
    >>> substeps_of(Fraction(1, 30), as_step(0.002), "arm")
    Traceback (most recent call last):
    mainspring.physics._errors.StepError: ...
"""

from __future__ import annotations

import math
from fractions import Fraction

from mainspring.physics._errors import StepError

__all__ = ["as_step", "substeps_of"]


def as_step(value: int | float | str | Fraction) -> Fraction:
    """A step in seconds, exact: a float is taken as it is written (0.002 is 1/500)."""
    try:
        step = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError, TypeError):
        step = Fraction(0)
    if step <= 0:
        raise StepError(
            f"an engine step of {value!r} s is not a positive number",
            hint="give seconds: 0.002, '1/480' or Fraction(1, 480)",
        )
    return step


def substeps_of(runner_step: Fraction, engine_step: Fraction, solver: str) -> int:
    """How many engine steps make one runner step."""
    ratio = runner_step / engine_step
    if ratio.denominator == 1:
        return int(ratio)
    below, above = math.floor(ratio), math.ceil(ratio)
    # A step longer than the runner's has one neighbour only: the runner's own.
    nearest = [
        f"{count} a runner step, {_seconds(runner_step / count)}"
        for count in sorted({max(below, 1), above})
    ]
    raise StepError(
        f"solver {solver!r}: an engine step of {_seconds(engine_step)} does not divide "
        f"its runner's step of {_seconds(runner_step)}",
        hint="the nearest that do: " + "; or ".join(nearest),
    )


def _seconds(step: Fraction) -> str:
    return f"{step} s ({float(step):.9g})"

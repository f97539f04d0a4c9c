"""`Rate`: how often a runner steps, as an exact fraction of a hertz.

A rate is taken as it is written, so 29.97 is 2997/100 and never the binary fraction nearest
to it, and everything derived from it is integer arithmetic:

    >>> Rate(29.97).hertz
    Fraction(2997, 100)
    >>> [Rate(30).boundary(k) for k in range(4)]
    [0, 33333333, 66666666, 100000000]
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from mainspring.clock.errors import RateError

__all__ = ["Rate", "RateLike"]

SECOND_NS = 1_000_000_000
_MOST = Fraction(SECOND_NS)  # 1 GHz: one boundary a nanosecond
_LEAST = Fraction(SECOND_NS, 2**62)  # a boundary in 146 years
_LIMIT = 10**18  # what the kernel's exact arithmetic can hold
_MOST_EXPONENT = 400  # of what is written: a longer number is not worth expanding


class Rate:
    """An exact rate in hertz; immutable, comparable and hashable."""

    __slots__ = ("_hertz",)

    def __init__(self, value: RateLike) -> None:
        hertz = value.hertz if isinstance(value, Rate) else _fraction(value)
        if hertz <= 0:
            raise RateError(f"a rate must be above zero, not {value}", hint="write hertz, as in 50")
        if hertz > _MOST:
            raise RateError(f"{value} Hz is faster than 1 GHz, one boundary a nanosecond")
        if hertz < _LEAST:
            raise RateError(f"{value} Hz is less than one step in 146 years")
        if hertz.numerator > _LIMIT or hertz.denominator > _LIMIT:
            raise RateError(
                f"{value} Hz has too many digits", hint="write at most eighteen significant digits"
            )
        self._hertz = hertz

    @property
    def hertz(self) -> Fraction:
        """The exact rate."""
        return self._hertz

    @property
    def seconds(self) -> float:
        """The step in seconds, as a callback's `ts`."""
        return float(1 / self._hertz)

    def boundary(self, k: int, origin: int = 0) -> int:
        """The time of the `k`-th boundary in ns: `origin + floor(k * 10^9 / rate)`."""
        return origin + k * SECOND_NS * self._hertz.denominator // self._hertz.numerator

    def boundaries_before(self, time_ns: int, origin: int = 0) -> int:
        """How many boundaries lie in `[origin, time_ns)`."""
        if time_ns <= origin:
            return 0
        distance = (time_ns - origin) * self._hertz.numerator
        return -(-distance // (SECOND_NS * self._hertz.denominator))

    def __eq__(self, other: object) -> bool:
        return self._hertz == other._hertz if isinstance(other, Rate) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._hertz)

    def __lt__(self, other: Rate) -> bool:
        return self._hertz < other._hertz

    def __float__(self) -> float:
        return float(self._hertz)

    def __repr__(self) -> str:
        return f"Rate({self.as_written()!r})"

    def __str__(self) -> str:
        return f"{self.as_written()} Hz"

    def as_written(self) -> str:
        """The shortest text that gives this rate back: `50`, `29.97`, `30000/1001`."""
        denominator = self._hertz.denominator
        while denominator % 2 == 0:
            denominator //= 2
        while denominator % 5 == 0:
            denominator //= 5
        if denominator != 1:
            return f"{self._hertz.numerator}/{self._hertz.denominator}"
        if self._hertz.denominator == 1:
            return str(self._hertz.numerator)
        digits = next(d for d in range(1, 64) if (self._hertz * 10**d).denominator == 1)
        scaled = str(self._hertz.numerator * 10**digits // self._hertz.denominator).zfill(
            digits + 1
        )
        return f"{scaled[:-digits]}.{scaled[-digits:]}"


def _exact(text: str) -> Fraction:
    number = Decimal(text.strip())
    if number and abs(number.adjusted()) > _MOST_EXPONENT:
        raise OverflowError
    return Fraction(number)


RateLike: TypeAlias = "Rate | int | float | str | Decimal | Fraction"


def _fraction(value: Any) -> Fraction:
    if isinstance(value, np.generic):
        value = value.item() if isinstance(value, np.integer) else str(value)  # as it prints
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal, Fraction)):
        raise RateError(
            f"a rate cannot be made from {value!r}",
            hint='give hertz as an int, a float, a decimal string, a Fraction or "30000/1001"',
        )
    try:
        if isinstance(value, (int, Fraction)):
            return Fraction(value)
        text = repr(value) if isinstance(value, float) else str(value).strip()
        above, slash, below = text.partition("/")
        return _exact(above) / _exact(below) if slash else _exact(text)
    except (InvalidOperation, ValueError, OverflowError, ZeroDivisionError):
        raise RateError(
            f"{value!r} is not a number a rate can have",
            hint='give hertz as an int, a float, a decimal string, a Fraction or "30000/1001"',
        ) from None

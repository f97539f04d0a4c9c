"""Times as a person writes them: `12.5` (seconds), `"12.5s"`, `"80ms"`, `"1:02:03"`, `"40ns"`."""

from __future__ import annotations

import operator
import re
from fractions import Fraction
from typing import TypeAlias

from mainspring.clock.errors import TimeError

__all__ = ["LAST_NS", "Time", "duration", "format_ns", "time_ns", "whole"]

#: The last nanosecond a run may come to, 292 years in.
LAST_NS = 2**63 - 2

#: Seconds as a number, or text with a unit.
Time: TypeAlias = "float | Fraction | str"

_UNITS = {
    "ns": Fraction(1),
    "us": Fraction(10**3),
    "µs": Fraction(10**3),
    "ms": Fraction(10**6),
    "s": Fraction(10**9),
    "m": Fraction(60 * 10**9),
    "min": Fraction(60 * 10**9),
    "h": Fraction(3600 * 10**9),
    "d": Fraction(86400 * 10**9),
}
_TEXT = re.compile(r"\s*(-?[\d_]*\.?[\d_]+(?:[eE][-+]?\d{1,2})?)\s*([a-zµ]*)\s*")
_CLOCK = re.compile(r"\s*(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)\s*")


def time_ns(time: Time) -> int:
    """`time` in nanoseconds: a number or a bare text means seconds, taken as written."""
    if isinstance(time, str):
        if found := _CLOCK.fullmatch(time):
            hours, minutes, seconds = found.groups()
            total = int(hours or 0) * 3600 + int(minutes) * 60 + Fraction(seconds)
            return int(total * 10**9)
        found = _TEXT.fullmatch(time)
        try:
            if found is not None:
                return int(Fraction(found[1]) * _UNITS[found[2] or "s"])
        except (ValueError, KeyError):
            pass
        raise TimeError(
            f"{time!r} is not a time", hint='write seconds, or "12.5s", "80ms", "1:02:03"'
        )
    if isinstance(time, bool) or not isinstance(time, (int, float, Fraction)):
        raise TimeError(f"{time!r} is not a time", hint='write seconds, or "12.5s", "80ms"')
    # A float is taken as written, as everywhere: 0.1 is a tenth and not its nearest double.
    try:
        return int(Fraction(str(time)) * 10**9)
    except ValueError:
        raise TimeError(f"{time!r} is not a time", hint="a time is finite") from None


def whole(value: int, what: str, *, least: int = 0, most: int = LAST_NS) -> int:
    """`value` when it is a whole number from `least` to `most`; an error about `what` otherwise."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TimeError(f"{what} is a whole number, not {value!r}")
    if number < least:
        raise TimeError(f"{what} is {least} or more, not {number}")
    if number > most:
        raise TimeError(f"{what} of {number} goes beyond the end of time, 292 years")
    return number


def format_ns(ns: int) -> str:
    """`ns` as seconds with a unit, without trailing zeros."""
    if ns < 0:
        return f"-{format_ns(-ns)}"
    text = f"{ns // 10**9}.{ns % 10**9:09d}".rstrip("0").rstrip(".")
    return f"{text} s"


def duration(ns: float) -> str:
    """A duration in the unit people would use: `340 ns`, `1.25 ms`, `2.5 s`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"

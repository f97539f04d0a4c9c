"""Enumerations that operators take and give."""

import enum

__all__ = ["CmpResult", "DivideByZero"]


class CmpResult(enum.Enum):
    """How one value stands to another."""

    LT = -1
    EQ = 0
    GT = 1


class DivideByZero(enum.Enum):
    """What a zero divisor gives: an error, a value, or no tick. The kernel knows the numbers."""

    ERROR = 0
    NAN = 1
    INF = 2
    NONE = 3
    ZERO = 4
    ONE = 5

"""Two operands, one result: every arithmetic, comparison, logical and bitwise operator over pairs of types."""

from datetime import date, datetime, time, timedelta
from typing import Tuple, FrozenSet, Mapping

from lib import (
    TS,
    TSL,
    TSS,
    TSD,
    Size,
    CmpResult,
    DivideByZero,
    REMOVE,
    Removed,
    abs_,
    add_,
    and_,
    bit_and,
    bit_or,
    bit_xor,
    cmp_,
    div_,
    divmod_,
    eq_,
    floordiv_,
    ge_,
    gt_,
    invert_,
    le_,
    ln,
    lshift_,
    lt_,
    max_,
    mean,
    min_,
    mod_,
    mul_,
    ne_,
    neg_,
    not_,
    or_,
    pos_,
    pow_,
    round_,
    rshift_,
    sign,
    sub_,
    sum_,
)

D = date(2024, 2, 28)
T = datetime(2024, 2, 28, 12, 30)
H = timedelta(hours=36, microseconds=7)

PAIRS = {
    "int-int": ((TS[int], TS[int]), [7, None, -7, 6], [2, 3, None, 6]),
    "float-float": ((TS[float], TS[float]), [7.5, None, -7.0, 2.0], [2.0, 0.5, None, 2.0]),
    "int-float": ((TS[int], TS[float]), [7, None, -7, 2], [2.0, 0.5, None, 2.0]),
    "float-int": ((TS[float], TS[int]), [7.5, None, -7.0, 2.0], [2, 3, None, 2]),
    "bool-bool": ((TS[bool], TS[bool]), [True, None, False], [True, False, None]),
    "bool-int": ((TS[bool], TS[int]), [True, None, False], [1, 3, None]),
    "str-str": ((TS[str], TS[str]), ["ab", None, ""], ["c", "ab", None]),
    "str-int": ((TS[str], TS[int]), ["ab", None], [2, 0]),
    "int-str": ((TS[int], TS[str]), [2, None], ["ab", "c"]),
    "date-date": ((TS[date], TS[date]), [D], [D - timedelta(days=3)]),
    "date-timedelta": ((TS[date], TS[timedelta]), [D], [timedelta(days=2)]),
    "timedelta-date": ((TS[timedelta], TS[date]), [timedelta(days=2)], [D]),
    "datetime-datetime": ((TS[datetime], TS[datetime]), [T], [T - H]),
    "datetime-timedelta": ((TS[datetime], TS[timedelta]), [T], [H]),
    "timedelta-datetime": ((TS[timedelta], TS[datetime]), [H], [T]),
    "timedelta-timedelta": ((TS[timedelta], TS[timedelta]), [H], [timedelta(hours=5)]),
    "timedelta-int": ((TS[timedelta], TS[int]), [H], [2]),
    "int-timedelta": ((TS[int], TS[timedelta]), [3], [H]),
    "timedelta-float": ((TS[timedelta], TS[float]), [H], [2.5]),
    "float-timedelta": ((TS[float], TS[timedelta]), [2.5], [H]),
    "date-time": ((TS[date], TS[time]), [D], [time(1, 2, 3)]),
    "tuple-tuple": (
        (TS[Tuple[int, ...]], TS[Tuple[int, ...]]),
        [(1, 2), None, ()],
        [(3,), (1, 2), None],
    ),
    "tuple-int": ((TS[Tuple[int, ...]], TS[int]), [(1, 2, 2)], [2]),
    "set-set": (
        (TS[FrozenSet[int]], TS[FrozenSet[int]]),
        [frozenset({1, 2}), None, frozenset()],
        [frozenset({2, 3}), frozenset({1, 2}), None],
    ),
    "dict-dict": (
        (TS[Mapping[str, int]], TS[Mapping[str, int]]),
        [{"a": 1, "b": 2}, None],
        [{"b": 2, "c": 4}, {"a": 1, "b": 2}],
    ),
    "enum-enum": (
        (TS[CmpResult], TS[CmpResult]),
        [CmpResult.LT, None],
        [CmpResult.LT, CmpResult.GT],
    ),
    "tsl-tsl": (
        (TSL[TS[int], Size[2]], TSL[TS[int], Size[2]]),
        [(5, 6), {0: 7}, None],
        [(2, 3), None, {1: 5}],
    ),
    "tsl-int": ((TSL[TS[int], Size[2]], TS[int]), [(5, 6), {0: 7}, None], [2, None, 3]),
    "int-tsl": ((TS[int], TSL[TS[int], Size[2]]), [2, None, 3], [(5, 6), {0: 7}, None]),
    "tss-tss": ((TSS[int], TSS[int]), [{1, 2}, None, {Removed(1), 4}], [{2, 3}, {1}, None]),
    "tss-int": ((TSS[int], TS[int]), [{1, 2}, None], [2, 1]),
    "tsd-tsd": (
        (TSD[str, TS[int]], TSD[str, TS[int]]),
        [{"a": 1, "b": 2}, None, {"a": REMOVE}],
        [{"b": 2, "c": 3}, {"a": 1}, None],
    ),
}

BINARY = [
    add_,
    sub_,
    mul_,
    div_,
    floordiv_,
    mod_,
    divmod_,
    pow_,
    lshift_,
    rshift_,
    bit_and,
    bit_or,
    bit_xor,
    and_,
    or_,
    eq_,
    ne_,
    lt_,
    le_,
    gt_,
    ge_,
    cmp_,
    min_,
    max_,
    sum_,
    mean,
]

SYMBOLS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "divmod": lambda a, b: divmod(a, b),
}


def _name(op):
    return getattr(op, "__name__", None) or op.name


NAMES = (
    "add_ sub_ mul_ div_ floordiv_ mod_ divmod_ pow_ lshift_ rshift_ bit_and bit_or bit_xor and_ or_ "
    "eq_ ne_ lt_ le_ gt_ ge_ cmp_ min_ max_ sum_ mean"
).split()


def table_binary():
    for name, op in zip(NAMES, BINARY):
        for pair, (kinds, left, right) in PAIRS.items():
            yield f"{name}-{pair}", lambda op=op, k=kinds, a=left, b=right: ticks(op, k, a, b)


def table_symbol():
    for symbol, op in SYMBOLS.items():
        for pair in ("int-int", "float-int", "bool-bool"):
            kinds, left, right = PAIRS[pair]
            yield f"{symbol}-{pair}", lambda op=op, k=kinds, a=left, b=right: ticks(op, k, a, b)
            yield (
                f"{symbol}-{pair}-constant",
                lambda op=op, k=kinds, a=left, b=right: ticks(lambda x: op(x, b[0]), k[:1], a),
            )
            yield (
                f"{symbol}-{pair}-reflected",
                lambda op=op, k=kinds, a=left, b=right: ticks(lambda x: op(a[0], x), k[1:], b),
            )


UNARY = dict(
    abs_=abs_,
    neg_=neg_,
    pos_=pos_,
    invert_=invert_,
    not_=not_,
    sign=sign,
    ln=ln,
    builtin_abs=abs,
    minus=lambda a: -a,
    plus=lambda a: +a,
    tilde=lambda a: ~a,
    min_=min_,
    max_=max_,
    sum_=sum_,
    mean=mean,
)

SINGLES = {
    "int": (TS[int], [3, None, -2, 0]),
    "float": (TS[float], [3.5, None, -2.0, 0.0]),
    "bool": (TS[bool], [True, False]),
    "str": (TS[str], ["x", ""]),
    "timedelta": (TS[timedelta], [-H]),
    "date": (TS[date], [D, D - timedelta(days=1)]),
    "tuple": (TS[Tuple[int, ...]], [(3, 1, 2), ()]),
    "tuple-float": (TS[Tuple[float, ...]], [(3.0, 1.5), (1.0,)]),
    "set": (TS[FrozenSet[int]], [frozenset({3, 1}), frozenset()]),
    "dict": (TS[Mapping[str, int]], [{"a": 3, "b": 1}, {}]),
    "tsl": (TSL[TS[int], Size[3]], [(3, -1, None), {2: 7}, {0: None, 1: 4}]),
    "tsl-float": (TSL[TS[float], Size[2]], [(3.0, -1.0), {1: 7.0}]),
    "tss": (TSS[int], [{3, 1}, {Removed(3), 8}, {Removed(1), Removed(8)}]),
    "tss-float": (TSS[float], [{3.0, 1.0}, {Removed(3.0), 8.0}]),
    "tsd": (TSD[str, TS[int]], [{"a": 3, "b": 1}, {"a": 9}, {"b": REMOVE}, {"a": REMOVE}]),
    "tsd-float": (
        TSD[str, TS[float]],
        [{"a": 3.0, "b": 1.0}, {"a": 9.0}, {"b": REMOVE}, {"a": REMOVE}],
    ),
    "tsd-bool": (TSD[str, TS[bool]], [{"a": True}, {"b": False}]),
}


def table_unary():
    for name, op in UNARY.items():
        for kind, (tp, values) in SINGLES.items():
            yield f"{name}-{kind}", lambda op=op, tp=tp, v=values: ticks(op, (tp,), v)


def table_by_zero():
    for name, op, on in (
        ("div_", div_, ("int-int", "float-float", "int-float", "float-int")),
        ("floordiv_", floordiv_, ("int-int", "float-float", "int-float", "float-int")),
        ("mod_", mod_, ("int-int", "float-float", "int-float", "float-int")),
        ("pow_", pow_, ("int-int", "float-float", "int-float", "float-int")),
        ("divmod_", divmod_, ("int-int", "float-float", "int-float", "float-int")),
    ):
        for pair in on:
            kinds = PAIRS[pair][0]
            zero = 0.0 if kinds[1] is PAIRS["float-float"][0][1] or pair.endswith("float") else 0
            one = 3.0 if pair.startswith("float") else 3
            left, right = [one, None, -one, one * 0], [zero, zero + 2, zero, zero]
            if name == "pow_":
                left, right = [one * 0, one], [zero - 1, zero + 2]
            yield f"{name}-{pair}-plain", lambda op=op, k=kinds, a=left, b=right: ticks(op, k, a, b)
            for rule in DivideByZero:
                yield (
                    f"{name}-{pair}-{rule.name}",
                    lambda op=op, k=kinds, a=left, b=right, rule=rule: ticks(
                        lambda x, y: op(x, y, divide_by_zero=rule), k, a, b
                    ),
                )


EDGE = 2**63 - 1


def table_limits():
    """Sums, products and shifts at the edge of 64 bits; an int that does not fit is an error, never a wrap."""
    for name, op, left, right in (
        ("add-fits", add_, EDGE - 1, 1),
        ("sub-fits", sub_, -EDGE, 1),
        ("mul-fits", mul_, 2**31, 2**31),
        ("pow-fits", pow_, 2, 62),
        ("pow-negative-exponent", pow_, 2, -1),
        ("lshift-fits", lshift_, 1, 62),
        ("lshift-negative", lshift_, 1, -1),
        ("rshift-negative", rshift_, 1, -1),
        ("rshift-far", rshift_, -5, 70),
        ("floordiv-signs", floordiv_, -7, 2),
        ("mod-signs", mod_, -7, 2),
        ("mod-signs-2", mod_, 7, -2),
        ("divmod-signs", divmod_, -7, 2),
        ("floordiv-edge", floordiv_, -EDGE, -1),
    ):
        yield name, lambda op=op, a=left, b=right: ticks(op, (TS[int], TS[int]), [a], [b])
    for name, op, left, right in (
        ("mod", mod_, -7.5, 2.0),
        ("floordiv", floordiv_, -7.5, 2.0),
        ("pow", pow_, 2.0, 0.5),
        ("pow-of-negative", pow_, -8.0, 0.5),
        ("nan-eq", eq_, float("nan"), float("nan")),
        ("inf-minus-inf", sub_, float("inf"), float("inf")),
        ("min-nan", min_, float("nan"), 1.0),
        ("max-nan", max_, 1.0, float("nan")),
    ):
        yield (
            f"float-{name}",
            lambda op=op, a=left, b=right: ticks(op, (TS[float], TS[float]), [a], [b]),
        )


def table_round():
    for digits in (0, 1, 2, -1):
        yield (
            str(digits),
            lambda d=digits: ticks(
                lambda x: round_(x, d), (TS[float],), [2.5, 3.14159, -1.255, 155.0]
            ),
        )


def table_epsilon():
    for pair in ("float-float", "int-float", "float-int"):
        kinds = PAIRS[pair][0]
        left = [1] if pair.startswith("int") else [1.0, 1.05]
        right = [1] if pair.endswith("int") else [1.0 + 1e-12, 1.3]
        yield f"eq-default-{pair}", lambda k=kinds, a=left, b=right: ticks(eq_, k, a, b)
        yield (
            f"eq-wide-{pair}",
            lambda k=kinds, a=left, b=right: ticks(lambda x, y: eq_(x, y, epsilon=0.5), k, a, b),
        )


def table_many():
    """Three and more operands, strict and not."""
    for name, op in (("min_", min_), ("max_", max_), ("sum_", sum_), ("mean", mean)):
        yield (
            f"{name}-ints",
            lambda op=op: ticks(op, (TS[int],) * 3, [1, None, 9], [2, None], [3, 0]),
        )
        yield (
            f"{name}-floats",
            lambda op=op: ticks(op, (TS[float],) * 3, [1.0, None, 9.0], [2.0, None], [None, 0.0]),
        )
    for name, op in (("min_", min_), ("max_", max_)):
        yield (
            f"{name}-loose",
            lambda op=op: ticks(
                lambda a, b, c: op(a, b, c, __strict__=False),
                (TS[int],) * 3,
                [1, None, 9],
                [None, None, 2],
                [None, 4],
            ),
        )
        yield (
            f"{name}-loose-two",
            lambda op=op: ticks(
                lambda a, b: op(a, b, __strict__=False), (TS[int],) * 2, [1, None, 9], [None, 4]
            ),
        )
        yield (
            f"{name}-default",
            lambda op=op: ticks(
                lambda a: op(a, default_value=-1), (TSS[int],), [set(), {4}, {Removed(4)}]
            ),
        )
        yield (
            f"{name}-tuple-default",
            lambda op=op: ticks(
                lambda a: op(a, default_value=-1), (TS[Tuple[int, ...]],), [(), (4,)]
            ),
        )
    yield (
        "add-loose",
        lambda: ticks(
            lambda a, b: add_(a, b, __strict__=False), (TS[int],) * 2, [1, None], [None, 4]
        ),
    )
    yield (
        "sum-reset",
        lambda: ticks(
            lambda a, r: sum_(a, reset=r),
            (TS[int], TS[bool]),
            [1, 2, 3, 4],
            [None, None, True, None],
        ),
    )
    yield (
        "sum-tuple-default",
        lambda: ticks(lambda a: sum_(a, default_value=-1), (TS[Tuple[int, ...]],), [(), (4, 2)]),
    )

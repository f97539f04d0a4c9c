"""Text, dates and times: the operators on scalars that are not numbers."""

from datetime import date, datetime, time, timedelta
from typing import Tuple, FrozenSet

from lib import (
    CmpResult,
    TS,
    TSB,
    TSL,
    Size,
    concat,
    contains_,
    datepart,
    day,
    day_of_month,
    days,
    explode,
    format_,
    getitem_,
    hour,
    is_empty,
    isoformat,
    isoweekday,
    join,
    len_,
    match_,
    microsecond,
    microseconds,
    minute,
    month,
    month_of_year,
    replace,
    second,
    seconds,
    split,
    str_,
    substr,
    temporal_ceil,
    temporal_floor,
    temporal_round,
    timestamp,
    total_seconds,
    type_,
    weekday,
    year,
)

S = TS[str]


def case_len():
    return ticks(len_, (S,), ["abc", "", None, "é"])


def case_is_empty():
    return ticks(is_empty, (S,), ["abc", "", None, "x"])


def case_contains():
    return ticks(contains_, (S, S), ["hello", None, "say"], ["ell", "xyz", None])


def case_index():
    return ticks(lambda s, i: s[i], (S, TS[int]), ["hello", None, "abc"], [0, -1, None])


def case_index_out_of_range():
    return ticks(lambda s, i: s[i], (S, TS[int]), ["hello"], [9])


def case_substr():
    return ticks(
        substr,
        (S, TS[int], TS[int]),
        ["hello world", None, None, "ab"],
        [0, 6, None, 0],
        [5, None, 8, -1],
    )


def case_substr_constant():
    return ticks(lambda s: substr(s, 1, 3), (S,), ["hello", "a", ""])


def case_replace():
    return ticks(
        replace,
        (S, S, S),
        [r"\d+", None, r"(\w)-(\w)"],
        ["#", "$1", r"\2\1"],
        ["a1b22", None, "x-y"],
    )


def case_match():
    return ticks(match_, (S, S), [r"([A-Z]+)-(\d+)", None, "b"], ["AB-12", "none", "abc"])


def case_match_fields():
    def program(p, s):
        m = match_(p, s)
        return m.is_match

    return ticks(program, (S, S), [r"([A-Z]+)-(\d+)"], ["AB-12", "none"])


def case_split_tuple():
    return ticks(lambda s: split[TS[Tuple[str, ...]]](s, ","), (S,), ["a,b,c", "x", ""])


def case_split_fixed():
    return ticks(lambda s: split[TSL[TS[str], Size[2]]](s, ","), (S,), ["a,b", "x,y"])


def case_split_keyword():
    return ticks(lambda s: split[TS[Tuple[str, ...]]](s, separator=" "), (S,), ["a b"])


def case_join():
    return ticks(lambda a, b: join(a, b, separator="-"), (S, S), ["a", None], ["b", "c"])


def case_join_waits():
    return ticks(lambda a, b: join(a, b, separator="-"), (S, S), ["a", None], [None, "c"])


def case_join_loose():
    return ticks(
        lambda a, b: join(a, b, separator="-", __strict__=False), (S, S), ["a", None], [None, "c"]
    )


def case_join_tuple():
    return ticks(lambda a: join(a, separator="/"), (TS[Tuple[str, ...]],), [("a", "b"), ()])


def case_join_list():
    return ticks(lambda a: join(a, separator="/"), (TSL[S, Size[2]],), [("a", "b"), {1: "z"}])


def case_format_positional():
    return ticks(
        lambda a, b: format_("{} and {:.2f}", a, b),
        (TS[int], TS[float]),
        [1, None, 2],
        [2.5, 3.0, None],
    )


def case_format_named():
    return ticks(lambda a, b: format_("{x}-{y}", x=a, y=b), (TS[int], S), [1, None], ["p", "q"])


def case_format_loose():
    return ticks(
        lambda a, b: format_("{}-{}", a, b, __strict__=False), (TS[int], S), [1, None], [None, "q"]
    )


def case_format_sampled():
    return ticks(lambda a: format_("{}", a, __sample__=2), (TS[int],), [1, 2, 3, 4, 5])


def case_format_live_pattern():
    return ticks(lambda f, a: format_(f, a), (S, TS[int]), ["<{}>", None, "[{}]"], [1, 2, None])


def case_format_of_list():
    return ticks(lambda a: format_("{}", a), (TSL[TS[int], Size[2]],), [(1, 2), {0: 3}])


def table_str():
    for name, tp, values in (
        ("int", TS[int], [1, -2]),
        ("float", TS[float], [1.0, 0.1]),
        ("bool", TS[bool], [True]),
        ("str", S, ["a"]),
        ("date", TS[date], [date(2024, 1, 2)]),
        ("datetime", TS[datetime], [datetime(2024, 1, 2, 3, 4)]),
        ("tuple", TS[Tuple[int, ...]], [(1, 2)]),
        ("enum", TS[CmpResult], [CmpResult.LT]),
        ("tsl", TSL[TS[int], Size[2]], [(1, 2)]),
    ):
        yield name, lambda tp=tp, v=values: ticks(str_, (tp,), v)
        yield f"type-{name}", lambda tp=tp, v=values: ticks(type_, (tp,), v)


DATES = [date(2024, 2, 29), date(1999, 12, 31)]
TIMES = [datetime(2024, 2, 29, 13, 14, 15, 16), datetime(1999, 12, 31)]
SPANS = [timedelta(days=2, hours=3, seconds=4, microseconds=5), timedelta(seconds=-1)]


def table_parts():
    for name, op in dict(
        year=year,
        month=month,
        day=day,
        day_of_month=day_of_month,
        month_of_year=month_of_year,
        weekday=weekday,
        isoweekday=isoweekday,
        isoformat=isoformat,
        explode=explode,
    ).items():
        yield f"{name}-date", lambda op=op: ticks(op, (TS[date],), DATES)
        yield f"{name}-datetime", lambda op=op: ticks(op, (TS[datetime],), TIMES)
    for name, op in dict(
        hour=hour,
        minute=minute,
        second=second,
        microsecond=microsecond,
        timestamp=timestamp,
        datepart=datepart,
    ).items():
        yield f"{name}-datetime", lambda op=op: ticks(op, (TS[datetime],), TIMES)
        yield f"{name}-time", lambda op=op: ticks(op, (TS[time],), [time(1, 2, 3, 4)])
    for name, op in dict(
        days=days, seconds=seconds, microseconds=microseconds, total_seconds=total_seconds
    ).items():
        yield f"{name}-timedelta", lambda op=op: ticks(op, (TS[timedelta],), SPANS)


def table_part_attributes():
    for name in (
        "year",
        "month",
        "day",
        "weekday",
        "isoweekday",
        "isoformat",
        "date",
        "time",
        "hour",
        "nonsense",
    ):
        yield f"{name}-date", lambda n=name: ticks(lambda a: getattr(a, n), (TS[date],), DATES)
        yield (
            f"{name}-datetime",
            lambda n=name: ticks(lambda a: getattr(a, n), (TS[datetime],), TIMES),
        )
    for name in ("days", "seconds", "microseconds"):
        yield (
            f"{name}-timedelta",
            lambda n=name: ticks(lambda a: getattr(a, n), (TS[timedelta],), SPANS),
        )


def table_temporal():
    for name, op in dict(floor=temporal_floor, ceil=temporal_ceil, round=temporal_round).items():
        yield (
            f"{name}-timedelta",
            lambda op=op: ticks(op, (TS[timedelta],) * 2, SPANS, [timedelta(hours=1)]),
        )
        yield (
            f"{name}-datetime",
            lambda op=op: ticks(op, (TS[datetime], TS[timedelta]), TIMES, [timedelta(minutes=5)]),
        )


def case_tuple_contains():
    return ticks(contains_, (TS[Tuple[int, ...]], TS[int]), [(1, 2), None], [2, 3])


def case_set_contains():
    return ticks(contains_, (TS[FrozenSet[int]], TS[int]), [frozenset({1, 2}), None], [2, 3])


def case_tuple_len():
    return ticks(len_, (TS[Tuple[int, ...]],), [(1, 2), ()])


def case_tuple_getitem():
    return ticks(lambda t, i: t[i], (TS[Tuple[int, ...]], TS[int]), [(1, 2), None], [0, 1])


def case_tuple_getitem_constant():
    return ticks(lambda t: t[1], (TS[Tuple[int, str]],), [(1, "a"), (2, "b")])


def case_tuple_operator_getitem():
    return ticks(lambda t: getitem_(t, 0), (TS[Tuple[int, ...]],), [(1, 2), (3,)])

"""Every operator of two with every type it takes: inputs that come late, together, again, empty and go."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from lib import (
    REMOVE,
    TS,
    TSB,
    TSD,
    TSL,
    TSS,
    CompoundScalar,
    Removed,
    Size,
    TimeSeriesSchema,
    add_,
    all_,
    and_,
    any_,
    bit_and,
    bit_or,
    bit_xor,
    cmp_,
    combine,
    contains_,
    count,
    dedup,
    default,
    difference,
    div_,
    divmod_,
    eq_,
    filter_,
    floordiv_,
    ge_,
    getitem_,
    gt_,
    index_of,
    intersection,
    le_,
    lshift_,
    lt_,
    make_tsd,
    match_,
    max_,
    mean,
    merge,
    min_,
    mod_,
    mul_,
    ne_,
    or_,
    partition,
    pow_,
    race,
    rekey,
    rshift_,
    sample,
    std,
    sub_,
    sum_,
    symmetric_difference,
    take,
    union,
    var,
)


class Colour(enum.Enum):
    A = 1
    B = 2


@dataclass(frozen=True)
class Part(CompoundScalar):
    x: int
    y: str = "q"


class Alike(TimeSeriesSchema):
    a: TS[int]
    b: TS[int]


# A kind: its type, what ticks on the left, what ticks on the right.
KINDS = {
    "int": (TS[int], [7, None, -7, 3, None], [None, 2, None, 3, -2]),
    "float": (TS[float], [7.5, None, -7.0, 3.0, None], [None, 2.0, None, 3.0, -2.5]),
    "bool": (TS[bool], [True, None, False, True, None], [None, False, None, True, False]),
    "str": (TS[str], ["abc", None, "", "b", None], [None, "b", None, "b", ""]),
    "date": (
        TS[date],
        [date(2024, 1, 31), None, date(2024, 2, 1)],
        [None, date(2024, 1, 31), None, date(2025, 1, 1)],
    ),
    "datetime": (
        TS[datetime],
        [datetime(2024, 1, 31, 13, 5, 6, 7), None, datetime(2024, 2, 1)],
        [None, datetime(2024, 1, 31), None, datetime(2025, 1, 1)],
    ),
    "time": (TS[time], [time(13, 5), None, time(1)], [None, time(1), None, time(2)]),
    "timedelta": (
        TS[timedelta],
        [timedelta(7, 2, 3), None, -timedelta(1)],
        [None, timedelta(1), None, timedelta(2)],
    ),
    "enum": (TS[Colour], [Colour.A, None, Colour.B], [None, Colour.A, None, Colour.A]),
    "tuple": (TS[tuple[int, ...]], [(1, 2, 2), None, (), (3,)], [None, (2,), None, (3,)]),
    "stuple": (TS[tuple[str, ...]], [("b", "a"), None, ()], [None, ("a",), None, ()]),
    "set": (
        TS[frozenset[int]],
        [frozenset({1, 2}), None, frozenset()],
        [None, frozenset({2, 3}), None, frozenset()],
    ),
    "map": (
        TS[Mapping[str, int]],
        [{"a": 1, "b": 2}, None, {}],
        [None, {"b": 3, "c": 4}, None, {}],
    ),
    "cs": (TS[Part], [Part(1), None, Part(2, "z")], [None, Part(1), None, Part(3)]),
    "obj": (TS[object], [Part(1), 3, None, "z"], [None, 3, None, "y"]),
    "tss": (
        TSS[int],
        [{1, 2}, None, {3, Removed(1)}, {Removed(2)}],
        [None, {2, 3}, None, {9}, {Removed(3)}],
    ),
    "tss_r": (
        TSS[int],
        [None, {1, 2}, {3, Removed(1)}, {Removed(2)}],
        [{2, 3}, None, {9}, {Removed(3)}],
    ),
    "tsd": (
        TSD[str, TS[int]],
        [{"a": 1, "b": 2}, None, {"c": 5, "a": REMOVE}, {"b": 7}, None],
        [None, {"b": 4, "c": 6}, None, {"b": REMOVE}, {"b": 3, "z": 1}],
    ),
    "tsl": (TSL[TS[int], Size[2]], [{0: 1}, {1: 2}, None, (5, 6)], [None, {0: 4}, {1: 5}, {0: 9}]),
    "stsl": (TSL[TS[str], Size[2]], [{0: "a"}, {1: "b"}, None], [None, {0: "c"}, {1: "d"}]),
    "tsltss": (
        TSL[TSS[int], Size[2]],
        [{0: {1}}, {1: {2, 3}}, {0: {Removed(1)}}],
        [None, {0: {1, 2}}, {1: {3}}],
    ),
    "tsba": (
        TSB[Alike],
        [{"a": 1}, {"b": 2}, None, {"a": 3, "b": 4}],
        [None, {"a": 1}, {"b": 2}, {"a": 5, "b": 6}],
    ),
}

# An operator: the pairs of kinds it takes.
TAKES = {
    "add_": (
        "int-int float-float str-str timedelta-timedelta tuple-tuple stuple-stuple tsl-tsl "
        "stsl-stsl tsba-tsba int-float float-int date-timedelta datetime-timedelta "
        "timedelta-datetime tuple-int stuple-str tss-int tsl-int int-tsl date-time tsltss-int"
    ),
    "sub_": (
        "int-int float-float date-date datetime-datetime timedelta-timedelta set-set map-map "
        "tss-tss tss_r-tss_r tsd-tsd tsl-tsl tsltss-tsltss tsba-tsba int-float float-int "
        "date-timedelta datetime-timedelta tuple-int stuple-str tss-int tsl-int int-tsl tss-tss_r "
        "tss_r-tss tsltss-int"
    ),
    "mul_": (
        "int-int float-float tsl-tsl tsba-tsba int-float float-int str-int int-str timedelta-int "
        "int-timedelta timedelta-float float-timedelta tuple-int tsl-int int-tsl"
    ),
    "div_": (
        "int-int float-float timedelta-timedelta tsl-tsl tsba-tsba int-float float-int "
        "timedelta-int timedelta-float tsl-int int-tsl"
    ),
    "floordiv_": (
        "int-int float-float timedelta-timedelta tsl-tsl tsba-tsba int-float float-int tsl-int "
        "int-tsl"
    ),
    "mod_": "int-int float-float tsl-tsl tsba-tsba int-float float-int tsl-int int-tsl",
    "divmod_": "int-int float-float int-float float-int",
    "pow_": "float-float tsl-tsl tsba-tsba int-float float-int int-tsl",
    "lshift_": "tsl-tsl tsba-tsba int-tsl",
    "rshift_": "tsl-tsl tsba-tsba int-tsl",
    "bit_and": (
        "int-int bool-bool set-set tss-tss tss_r-tss_r tsd-tsd tsl-tsl tsltss-tsltss tsba-tsba "
        "tsl-int int-tsl tss-tss_r tss_r-tss"
    ),
    "bit_or": (
        "int-int bool-bool set-set map-map tss-tss tss_r-tss_r tsd-tsd tsl-tsl tsltss-tsltss "
        "tsba-tsba tsl-int int-tsl tss-tss_r tss_r-tss"
    ),
    "bit_xor": (
        "int-int bool-bool set-set tss-tss tss_r-tss_r tsd-tsd tsl-tsl tsltss-tsltss tsba-tsba "
        "tsl-int int-tsl tss-tss_r tss_r-tss"
    ),
    "and_": (
        "int-int float-float bool-bool str-str tuple-tuple stuple-stuple set-set map-map tss-tss "
        "tss_r-tss_r int-float float-int tss-tss_r tss_r-tss"
    ),
    "or_": (
        "int-int float-float bool-bool str-str tuple-tuple stuple-stuple set-set map-map tss-tss "
        "tss_r-tss_r int-float float-int tss-tss_r tss_r-tss"
    ),
    "eq_": (
        "int-int float-float bool-bool str-str date-date datetime-datetime time-time "
        "timedelta-timedelta enum-enum tuple-tuple stuple-stuple set-set map-map cs-cs obj-obj "
        "tss-tss tss_r-tss_r tsd-tsd tsl-tsl stsl-stsl tsltss-tsltss tsba-tsba int-float "
        "float-int tss-tss_r tss_r-tss"
    ),
    "ne_": (
        "int-int float-float bool-bool str-str date-date datetime-datetime time-time "
        "timedelta-timedelta enum-enum tuple-tuple stuple-stuple set-set map-map cs-cs obj-obj "
        "tsl-tsl stsl-stsl int-float float-int"
    ),
    "lt_": (
        "int-int float-float str-str date-date datetime-datetime timedelta-timedelta enum-enum "
        "int-float float-int"
    ),
    "le_": (
        "int-int float-float str-str date-date datetime-datetime timedelta-timedelta enum-enum "
        "int-float float-int"
    ),
    "gt_": (
        "int-int float-float str-str date-date datetime-datetime timedelta-timedelta enum-enum "
        "int-float float-int"
    ),
    "ge_": (
        "int-int float-float str-str date-date datetime-datetime timedelta-timedelta enum-enum "
        "int-float float-int"
    ),
    "cmp_": (
        "int-int float-float bool-bool str-str date-date datetime-datetime time-time "
        "timedelta-timedelta enum-enum tuple-tuple stuple-stuple set-set map-map cs-cs obj-obj "
        "int-float float-int"
    ),
    "min_": (
        "int-int float-float str-str date-date datetime-datetime timedelta-timedelta enum-enum "
        "tuple-tuple stuple-stuple tsl-tsl stsl-stsl tsba-tsba int-float float-int tuple-int "
        "stuple-str set-int tss-int tsl-int int-tsl tsltss-int"
    ),
    "max_": (
        "int-int float-float str-str date-date datetime-datetime timedelta-timedelta enum-enum "
        "tuple-tuple stuple-stuple tsl-tsl stsl-stsl tsba-tsba int-float float-int tuple-int "
        "stuple-str set-int tss-int tsl-int int-tsl tsltss-int"
    ),
    "sum_": (
        "int-int float-float str-str timedelta-timedelta tuple-tuple stuple-stuple tsl-tsl "
        "stsl-stsl tsba-tsba int-float float-int int-bool date-timedelta datetime-timedelta "
        "timedelta-datetime tuple-int stuple-str set-int tss-int tsl-int int-tsl date-time "
        "tsltss-int"
    ),
    "mean": (
        "int-int float-float timedelta-timedelta tsl-tsl tsba-tsba int-float float-int tsl-int "
        "int-tsl"
    ),
    "contains_": (
        "str-str tuple-tuple stuple-stuple tss-tss tss_r-tss_r tuple-int stuple-str "
        "set-int tss-int tsd-str tss-tss_r tss_r-tss tuple-set"
    ),
    "index_of": "tuple-tuple stuple-stuple tuple-int stuple-str tsl-int tuple-set",
    "getitem_": "tuple-int map-str tsd-str",
    "union": "tss-tss tss_r-tss_r tsd-tsd tss-tss_r tss_r-tss",
    "intersection": "tss-tss tss_r-tss_r tsd-tsd tss-tss_r tss_r-tss",
    "difference": "tss-tss tss_r-tss_r tsd-tsd tss-tss_r tss_r-tss",
    "symmetric_difference": "tss-tss tss_r-tss_r tsd-tsd tss-tss_r tss_r-tss",
    "merge": (
        "int-int float-float bool-bool str-str date-date datetime-datetime time-time "
        "timedelta-timedelta enum-enum tuple-tuple stuple-stuple set-set map-map cs-cs obj-obj "
        "tss-tss tss_r-tss_r tsd-tsd tsl-tsl stsl-stsl tsltss-tsltss tsba-tsba tss-tss_r "
        "tss_r-tss"
    ),
    "race": (
        "int-int float-float bool-bool str-str date-date datetime-datetime time-time "
        "timedelta-timedelta enum-enum tuple-tuple stuple-stuple set-set map-map cs-cs obj-obj "
        "tss-tss tss_r-tss_r tsd-tsd tsl-tsl stsl-stsl tsltss-tsltss tsba-tsba tss-tss_r "
        "tss_r-tss"
    ),
    "default": (
        "int-int float-float bool-bool str-str date-date datetime-datetime time-time "
        "timedelta-timedelta enum-enum tuple-tuple stuple-stuple set-set map-map cs-cs obj-obj "
        "tss-tss tss_r-tss_r tsd-tsd tsl-tsl stsl-stsl tsltss-tsltss tsba-tsba tss-tss_r "
        "tss_r-tss"
    ),
    "std": "int-int float-float tsl-tsl tsba-tsba",
    "var": "int-int float-float tsl-tsl tsba-tsba",
    "dedup": "float-float",
    "count": (
        "int-int float-float bool-bool str-str date-date datetime-datetime time-time "
        "timedelta-timedelta enum-enum tuple-tuple stuple-stuple set-set map-map cs-cs obj-obj "
        "tss-tss tss_r-tss_r tsd-tsd tsl-tsl stsl-stsl tsltss-tsltss tsba-tsba int-float "
        "float-int bool-int int-bool str-int int-str date-timedelta timedelta-date "
        "datetime-timedelta timedelta-datetime timedelta-int int-timedelta timedelta-float "
        "float-timedelta tuple-int int-tuple stuple-str set-int map-str tss-int int-tss tsd-str "
        "tsl-int int-tsl tsba-int tss-set date-datetime datetime-date tsl-tsba obj-int tss-tss_r "
        "tss_r-tss date-time tuple-set tsltss-int"
    ),
    "make_tsd": (
        "int-int float-float bool-bool str-str date-date datetime-datetime time-time "
        "timedelta-timedelta enum-enum tuple-tuple stuple-stuple set-set cs-cs obj-obj int-float "
        "float-int bool-int int-bool str-int int-str date-timedelta timedelta-date "
        "datetime-timedelta timedelta-datetime timedelta-int int-timedelta timedelta-float "
        "float-timedelta tuple-int int-tuple stuple-str set-int int-tss int-tsl date-datetime "
        "datetime-date obj-int date-time tuple-set"
    ),
    "sample": (
        "int-int float-float bool-bool str-str date-date datetime-datetime time-time "
        "timedelta-timedelta enum-enum tuple-tuple stuple-stuple set-set map-map cs-cs obj-obj "
        "tss-tss tss_r-tss_r tsd-tsd tsl-tsl stsl-stsl tsltss-tsltss tsba-tsba int-float "
        "float-int bool-int int-bool str-int int-str date-timedelta timedelta-date "
        "datetime-timedelta timedelta-datetime timedelta-int int-timedelta timedelta-float "
        "float-timedelta tuple-int int-tuple stuple-str set-int map-str tss-int int-tss tsd-str "
        "tsl-int int-tsl tsba-int tss-set date-datetime datetime-date tsl-tsba obj-int tss-tss_r "
        "tss_r-tss date-time tuple-set tsltss-int"
    ),
    "filter_": "bool-bool bool-int",
    "match_": "str-str",
    "take": (
        "int-int float-float bool-bool str-str date-date datetime-datetime time-time "
        "timedelta-timedelta enum-enum tuple-tuple stuple-stuple set-set map-map cs-cs obj-obj "
        "tss-tss tss_r-tss_r tsd-tsd tsl-tsl stsl-stsl tsltss-tsltss tsba-tsba int-float "
        "float-int bool-int int-bool str-int int-str date-timedelta timedelta-date "
        "datetime-timedelta timedelta-datetime timedelta-int int-timedelta timedelta-float "
        "float-timedelta tuple-int int-tuple stuple-str set-int map-str tss-int int-tss tsd-str "
        "tsl-int int-tsl tsba-int tss-set date-datetime datetime-date tsl-tsba obj-int tss-tss_r "
        "tss_r-tss date-time tuple-set tsltss-int"
    ),
    "combine": (
        "int-int float-float bool-bool str-str date-date datetime-datetime time-time "
        "timedelta-timedelta enum-enum tuple-tuple stuple-stuple set-set map-map cs-cs obj-obj "
        "tss-tss tss_r-tss_r tsd-tsd tsl-tsl stsl-stsl tsltss-tsltss tsba-tsba tss-tss_r "
        "tss_r-tss"
    ),
    "rekey": "map-map tsd-tsd",
    "partition": "map-map tsd-tsd",
    "all_": "bool-bool",
    "any_": "bool-bool",
}


def table_of():
    for name, pairs in TAKES.items():
        for pair in pairs.split():
            left, right = (KINDS[kind] for kind in pair.split("-"))
            yield (
                f"{name}-{pair}",
                lambda name=name, left=left, right=right: ticks(
                    globals()[name], [left[0], right[0]], left[1], right[2]
                ),
            )

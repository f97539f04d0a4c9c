"""Schemas of the bundles that operators make, for programs that name them: ``TSB[BoolResult[TS[int]]]``."""

from datetime import datetime
from typing import Any, Generic

from mainspring.graph.operators._base import SCALAR, TS, TimeSeriesSchema, make_schema

__all__ = ["BoolResult", "KeyValue", "WindowResult"]


class BoolResult:
    """``TSB[BoolResult[V]]``: a time series on the side of `true` or of `false`, which `if_` makes."""

    def __class_getitem__(cls, item: Any) -> Any:
        return make_schema({"true": item, "false": item}, "BoolResult")


class KeyValue:
    """``TSB[KeyValue[K, V]]``: a key and a time series, which `emit` makes of a dictionary."""

    def __class_getitem__(cls, item: Any) -> Any:
        key, value = item
        return make_schema({"key": TS[key], "value": value}, "KeyValue")


class WindowResult(TimeSeriesSchema, Generic[SCALAR]):
    """``TSB[WindowResult]``: the last values and when they ticked, which `window` makes."""

    buffer: TS[tuple[SCALAR, ...]]
    index: TS[tuple[datetime, ...]]

"""Where the tools for looking at a run plug in: a trace and a profiler, when asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_makers: dict[str, Callable[[Any], Any]] = {}


def register(kind: str, maker: Callable[[Any], Any]) -> None:
    """`maker(option)` gives the observer for `trace=` or `profile=`."""
    _makers[kind] = maker


def make_trace(option: Any) -> Any:
    return option if hasattr(option, "on_before_graph_evaluation") else _make("trace", option)


def make_profiler(option: Any) -> Any:
    return option if hasattr(option, "on_before_graph_evaluation") else _make("profile", option)


def _make(kind: str, option: Any) -> Any:
    maker = _makers.get(kind)
    return None if maker is None else maker(option)

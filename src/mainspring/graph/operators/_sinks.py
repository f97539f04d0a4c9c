"""Ends of the graph: printing, logging, asserting, calling, stopping."""

import logging
import sys
from collections.abc import Callable
from typing import Any

from mainspring.graph.operators._base import (
    CLOCK,
    LOGGER,
    OUT,
    SIGNAL,
    STATE,
    TIME_SERIES_TYPE,
    TS,
    TS_SCHEMA,
    TS_SCHEMA_1,
    TSB,
    EvaluationEngineApi,
    compute_node,
    sink_node,
)
from mainspring.graph.operators._names import (
    apply,
    assert_,
    call,
    debug_print,
    format_,
    log_,
    print_,
    stop_engine,
)


def _value(ts: Any) -> Any:
    return ts.value if ts.valid else None


def _parts(args: Any) -> Any:
    return args if isinstance(args, tuple) else args.values()  # a tuple when there are none


def _values(args: Any) -> list[Any]:
    return [_value(ts) for ts in _parts(args)]


def _named(kwargs: Any) -> dict[str, Any]:
    return {name: _value(ts) for name, ts in kwargs.items()}


def _filled(pattern: str, args: Any, kwargs: Any) -> str:
    return pattern.format(*_values(args), **_named(kwargs))


@sink_node(overloads=debug_print)
def debug_print_any(
    label: str,
    ts: TIME_SERIES_TYPE,
    print_delta: bool = True,
    sample: int = -1,
    _clock: CLOCK = None,
    _state: STATE = None,
) -> None:
    """Print every tick (or every `sample`-th) with a label and the time."""
    _state.count = getattr(_state, "count", 0) + 1
    if sample > 1 and _state.count % sample:
        return
    shown = ts.delta_value if print_delta else ts.value
    print(f"[{_clock.now}][{_clock.evaluation_time}] {label}: {shown}")


@sink_node(overloads=print_)
def print_any(
    fmt: TS[str],
    *args: TSB[TS_SCHEMA],
    __std_out__: bool = True,
    **kwargs: TSB[TS_SCHEMA_1],
) -> None:
    """Print a line whenever something in it ticks, to standard output or standard error."""
    print(_filled(fmt.value, args, kwargs), file=sys.stdout if __std_out__ else sys.stderr)


@sink_node(overloads=log_)
def log_any(
    fmt: TS[str],
    *args: TSB[TS_SCHEMA],
    level: int = logging.INFO,
    sample_count: int = 1,
    _logger: LOGGER = None,
    _state: STATE = None,
    **kwargs: TSB[TS_SCHEMA_1],
) -> None:
    """Log a line whenever something in it ticks, or every `sample_count`-th time."""
    _state.count = getattr(_state, "count", 0) + 1
    if _state.count % sample_count == 0:
        _logger.log(level, _filled(fmt.value, args, kwargs))


@sink_node(overloads=assert_)
def assert_plain(condition: TS[bool], error_msg: str) -> None:
    """Fail when the condition ticks false."""
    if not condition.value:
        raise AssertionError(error_msg)


@sink_node(overloads=assert_, valid=("condition",))
def assert_formatted(
    condition: TS[bool],
    error_msg: str,
    *args: TSB[TS_SCHEMA],
    **kwargs: TSB[TS_SCHEMA_1],
) -> None:
    """Fail, with the values in the message, while the condition is false."""
    if not condition.value:
        raise AssertionError(_filled(error_msg, args, kwargs))


@sink_node(overloads=call)
def call_any(fn: TS[Callable], *args: TSB[TS_SCHEMA], **kwargs: TSB[TS_SCHEMA_1]) -> None:
    """Call the function there is now whenever it or an argument ticks."""
    fn.value(*_values(args), **_named(kwargs))


@compute_node(overloads=apply)
def apply_any(fn: TS[Callable], *args: TSB[TS_SCHEMA], **kwargs: TSB[TS_SCHEMA_1]) -> OUT:
    """Return what the function there is now gives for the arguments."""
    return fn.value(*_values(args), **_named(kwargs))


@compute_node(overloads=format_, valid=("fmt",))
def format_any(
    fmt: TS[str],
    *args: TSB[TS_SCHEMA],
    __sample__: int = 1,
    __strict__: bool = True,
    _state: STATE = None,
    **kwargs: TSB[TS_SCHEMA_1],
) -> TS[str]:
    """Fill the values into a pattern; strictly, once all of them have one."""
    _state.count = getattr(_state, "count", 0) + 1
    if _state.count % max(__sample__, 1):
        return None
    if __strict__ and not all(ts.valid for ts in (*_parts(args), *kwargs.values())):
        return None
    return _filled(fmt.value, args, kwargs)


@sink_node(overloads=stop_engine)
def stop_engine_any(
    ts: SIGNAL, msg: str = "stopping", _api: EvaluationEngineApi = None, _logger: LOGGER = None
) -> None:
    """Ask the engine to stop at the end of this cycle."""
    _logger.info("stop_engine: %s", msg)
    _api.request_engine_stop()

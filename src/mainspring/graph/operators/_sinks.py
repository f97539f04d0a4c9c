"""Ends of the graph: printing, logging, asserting, calling, stopping."""

import logging
import sys
from collections.abc import Callable
from typing import Any, ClassVar, get_type_hints

from mainspring.graph._types import is_ts
from mainspring.graph.operators._base import (
    AUTO_RESOLVE,
    LOGGER,
    OUT,
    SIGNAL,
    TIME_SERIES_TYPE,
    TS,
    TS_SCHEMA,
    TS_SCHEMA_1,
    TSB,
    EvaluationEngineApi,
    TSm,
    compute_node,
    graph,
    made_node,
    sink_node,
    type_name,
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
from mainspring.graph.operators._shown import change_reader, pattern_reader, value_reader


def _value(ts: Any) -> Any:
    return ts.value if ts.valid else None


def _values(args: Any) -> list[Any]:
    # A tuple when there are none.
    return [_value(ts) for ts in (args if isinstance(args, tuple) else args.values())]


def _all_valid(args: Any) -> bool:
    return isinstance(args, tuple) or all(ts.valid for ts in args.values())


def _named(kwargs: Any) -> dict[str, Any]:
    return {name: ts.value for name, ts in kwargs.items() if ts.valid}


class _Pattern:
    """What is filled into a pattern: ports by place and by name, and how their values are shown."""

    def __init__(self, args: Any, kwargs: Any) -> None:
        places = list(args) if isinstance(args, tuple) else list(args.as_dict().values())
        names = kwargs if isinstance(kwargs, dict) else kwargs.as_dict()
        self.ports = [*places, *names.values()]
        self.names = list(names)
        types = [port.output_type.dereference() for port in self.ports]
        self.inputs = {f"arg_{i}": tp for i, tp in enumerate(types)}
        self.readers = [pattern_reader(tp) for tp in types]

    def filled(self, pattern: str, views: tuple[Any, ...]) -> str:
        """Return the pattern with what the views have now."""
        texts = [read(ts) for read, ts in zip(self.readers, views, strict=True)]
        if not self.names:
            return pattern.format(*texts)
        places = len(texts) - len(self.names)
        return pattern.format(*texts[:places], **dict(zip(self.names, texts[places:], strict=True)))


@graph(overloads=debug_print)
def debug_print_any(
    label: str, ts: TIME_SERIES_TYPE, print_delta: bool = True, sample: int = -1
) -> None:
    """Print every tick, or every `sample`-th, behind a label."""
    tp = ts.output_type.dereference()
    read = value_reader(tp) if isinstance(tp, TSm) or not print_delta else change_reader(tp)

    def printed(ts: Any, state: Any) -> None:
        count = state.count = getattr(state, "count", 0) + 1
        if sample <= 1:
            print(f"{label}: {read(ts)}")
        elif count % sample == 0:
            print(f"[{sample}] {label}: {read(ts)}")

    made_node("debug_print", printed, {"ts": tp}, None)(ts)


class DebugContext:
    """``with DebugContext("[prices]"):``, in which ``DebugContext.print("bid", bid)`` wires a `debug_print`.

    Outside of one, or in one with ``debug=False``, nothing is wired.
    """

    _open: ClassVar[list["DebugContext"]] = []

    def __init__(self, prefix: str = "", debug: bool = True) -> None:
        self.prefix = prefix
        self.debug = debug

    def __enter__(self) -> "DebugContext":
        self._open.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self._open.pop()

    @classmethod
    def instance(cls) -> "DebugContext | None":
        """The innermost context, or None outside of all."""
        return cls._open[-1] if cls._open else None

    @classmethod
    def print(cls, label: str, ts: Any, print_delta: bool = True, sample: int = -1) -> None:
        """Print the ticks of a time series behind the prefix and a label."""
        inside = cls.instance()
        if inside is not None and inside.debug:
            between = " " if inside.prefix and not label.startswith("[") else ""
            debug_print(f"{inside.prefix}{between}{label}", ts, print_delta, sample)


@graph(overloads=print_)
def print_any(
    fmt: TS[str],
    *args: TSB[TS_SCHEMA],
    __std_out__: bool = True,
    **kwargs: TSB[TS_SCHEMA_1],
) -> None:
    """Print a line whenever something in it ticks, to standard output or standard error."""
    pattern = _Pattern(args, kwargs)

    def printed(fmt: Any, *views: Any) -> None:
        file = sys.stdout if __std_out__ else sys.stderr
        print(pattern.filled(fmt.value, views), file=file)

    made_node("print_", printed, {"fmt": TS[str], **pattern.inputs}, None)(fmt, *pattern.ports)


@graph(overloads=log_)
def log_any(
    fmt: TS[str],
    *args: TSB[TS_SCHEMA],
    level: int = logging.INFO,
    sample_count: int = 1,
    **kwargs: TSB[TS_SCHEMA_1],
) -> None:
    """Log a line whenever something in it ticks, or every `sample_count`-th time."""
    pattern = _Pattern(args, kwargs)

    def logged(fmt: Any, *views: Any, state: Any, logger: Any) -> None:
        count = state.count = getattr(state, "count", 0) + 1
        if count % sample_count == 0:
            logger.log(level, pattern.filled(fmt.value, views))

    made_node("log_", logged, {"fmt": TS[str], **pattern.inputs}, None)(fmt, *pattern.ports)


@sink_node(overloads=assert_)
def assert_plain(condition: TS[bool], error_msg: str) -> None:
    """Fail when the condition ticks false."""
    if not condition.value:
        raise AssertionError(error_msg)


@graph(overloads=assert_)
def assert_formatted(
    condition: TS[bool],
    error_msg: str,
    *args: TSB[TS_SCHEMA],
    **kwargs: TSB[TS_SCHEMA_1],
) -> None:
    """Fail, with the values in the message, while the condition is false."""
    pattern = _Pattern(args, kwargs)

    def asserted(condition: Any, *views: Any) -> None:
        if not condition.value:
            raise AssertionError(pattern.filled(error_msg, views))

    inputs = {"condition": TS[bool], **pattern.inputs}
    made_node("assert_", asserted, inputs, None, valid=("condition",))(condition, *pattern.ports)


@sink_node(overloads=call, valid=("fn",))
def call_any(fn: TS[Callable], *args: TSB[TS_SCHEMA], **kwargs: TSB[TS_SCHEMA_1]) -> None:
    """Call the function there is now whenever it or an argument ticks, once those by place have values."""
    if _all_valid(args):
        fn.value(*_values(args), **_named(kwargs))


@compute_node(overloads=apply, valid=("fn",))
def apply_any(fn: TS[Callable], *args: TSB[TS_SCHEMA], **kwargs: TSB[TS_SCHEMA_1]) -> OUT:
    """Return what the function there is now gives for the arguments, once those by place have values."""
    return fn.value(*_values(args), **_named(kwargs)) if _all_valid(args) else None


@graph(overloads=apply)
def apply_plain(
    fn: Callable,
    *args: TSB[TS_SCHEMA],
    tp: type[OUT] = AUTO_RESOLVE,
    **kwargs: TSB[TS_SCHEMA_1],
) -> OUT:
    """Return what a function gives, as the type in brackets: `apply[TS[int]](fn, ...)`."""
    return apply_any[OUT:tp](fn, *args, **kwargs)


def _says_what_it_gives(bindings: Any, scalars: Any) -> bool | str:
    return get_type_hints(scalars["fn"]).get("return") is not None or (
        f"{type_name(scalars['fn'])} does not say what it gives: "
        "annotate its result, or name the type: apply[TS[int]](...)"
    )


@graph(overloads=apply, requires=_says_what_it_gives)
def apply_annotated(fn: Callable, *args: TSB[TS_SCHEMA], **kwargs: TSB[TS_SCHEMA_1]):
    """Return what a function gives, as the type that it says it gives."""
    gives = get_type_hints(fn)["return"]
    return apply_any[OUT : gives if is_ts(gives) else TS[gives]](fn, *args, **kwargs)


@graph(overloads=format_)
def format_any(
    fmt: TS[str],
    *args: TSB[TS_SCHEMA],
    __sample__: int = 1,
    __strict__: bool = True,
    **kwargs: TSB[TS_SCHEMA_1],
) -> TS[str]:
    """Fill the values into a pattern; strictly, once all of them have one."""
    pattern = _Pattern(args, kwargs)

    def formatted(fmt: Any, *views: Any) -> str:
        return pattern.filled(fmt.value, views)

    def sampled(fmt: Any, *views: Any, state: Any) -> str | None:
        if __strict__ and not all(ts.valid for ts in views):
            return None
        count = state.count = getattr(state, "count", 0) + 1
        return None if count % __sample__ else pattern.filled(fmt.value, views)

    inputs = {"fmt": TS[str], **pattern.inputs}
    every = __sample__ <= 1
    valid = tuple(inputs) if every and __strict__ else ("fmt",)
    made = made_node("format_", formatted if every else sampled, inputs, TS[str], valid=valid)
    return made(fmt, *pattern.ports)


@sink_node(overloads=stop_engine)
def stop_engine_any(
    ts: SIGNAL, msg: str = "stopping", _api: EvaluationEngineApi = None, _logger: LOGGER = None
) -> None:
    """Ask the engine to stop at the end of this cycle."""
    _logger.info("stop_engine: %s", msg)
    _api.request_engine_stop()

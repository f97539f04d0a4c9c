"""Overloads that wire the kernel's own nodes: running statistics, and streams of scalars."""

from typing import Any, get_origin

from mainspring.graph._types import Array
from mainspring.graph.operators._base import (
    SCALAR,
    SIGNAL,
    SIZE,
    TS,
    TSL,
    DivideByZero,
    WiringError,
    annotated,
    compute_node,
    graph,
    native_node,
)
from mainspring.graph.operators._names import (
    clip,
    count,
    dedup,
    div_,
    eq_,
    ewma,
    filter_,
    floordiv_,
    if_true,
    lag,
    merge,
    mod_,
    pow_,
    round_,
    sample,
    slice_,
    sum_,
    until_true,
)


@graph(overloads=count)
def count_ticks(ts: SIGNAL, reset: SIGNAL = None) -> TS[int]:
    """The number of ticks, from 0 again when the reset ticks."""
    inputs = [("ts", ts, True)] + ([] if reset is None else [("reset", reset, True)])
    return native_node("count", "count", inputs, TS[int])


def _tp(ts: Any) -> Any:
    return ts.output_type.dereference()


def _kind(ts: Any) -> str:
    return str(_tp(ts).scalar.__name__)


@graph(overloads=ewma)
def ewma_float(ts: TS[float], alpha: float) -> TS[float]:
    """The exponentially weighted mean; `alpha` is the weight of a new value."""
    return native_node("ewma", "ewma:float", [("ts", ts, True)], TS[float], params=(float(alpha),))


# --- division with a rule for zero ---------------------------------------------------------------------


def _ruled(name: str, left: Any, right: Any, out: Any) -> Any:
    code = f"{name}:{left.__name__},{right.__name__}"

    def ruled(lhs, rhs, divide_by_zero):
        inputs = [("lhs", lhs, True), ("rhs", rhs, True)]
        return native_node(name, code, inputs, TS[out], params=(divide_by_zero.value,))

    return annotated(
        ruled,
        f"{name}by_rule",
        {"lhs": TS[left], "rhs": TS[right], "divide_by_zero": DivideByZero, "return": TS[out]},
    )


def _nearly(left: Any, right: Any) -> Any:
    code = f"eq_:{left.__name__},{right.__name__}"

    def nearly(lhs, rhs, epsilon):
        inputs = [("lhs", lhs, True), ("rhs", rhs, True)]
        return native_node("eq_", code, inputs, TS[bool], params=(float(epsilon),))

    return annotated(
        nearly,
        "eq_nearly",
        {"lhs": TS[left], "rhs": TS[right], "epsilon": float, "return": TS[bool]},
    )


def _sum_reset(number: Any) -> Any:
    def sum_reset(ts, reset):
        inputs = [("ts", ts, True), ("reset", reset, True)]
        return native_node("sum_", f"running_sum:{number.__name__}", inputs, TS[number])

    return annotated(
        sum_reset, "sum_reset", {"ts": TS[number], "reset": TS[bool], "return": TS[number]}
    )


def _clip(number: Any) -> Any:
    def clipped(ts, min, max):
        inputs = [("ts", ts, True), ("min", min, True), ("max", max, True)]
        return native_node("clip", f"clip:{number.__name__}", inputs, TS[number])

    return annotated(
        clipped, "clip_number", dict.fromkeys(("ts", "min", "max", "return"), TS[number])
    )


for first, second in ((int, int), (int, float), (float, int), (float, float)):
    wide = int if first is second is int else float
    graph(_ruled("div_", first, second, float), overloads=div_)
    for overloaded in (floordiv_, mod_, pow_):
        graph(_ruled(overloaded.__name__, first, second, wide), overloads=overloaded)
    if wide is float:
        graph(_nearly(first, second), overloads=eq_)
for kind in (int, float):
    graph(_sum_reset(kind), overloads=sum_)
    graph(_clip(kind), overloads=clip)


@compute_node(overloads=round_)
def round_float(ts: TS[float], n_digits: TS[int]) -> TS[float]:
    """The value rounded to so many digits, a tie going to the even one."""
    return float(round(ts.value, n_digits.value))


# --- streams of scalars ----------------------------------------------------------------------------------


@graph(overloads=if_true)
def if_true_native(condition: TS[bool], tick_once_only: bool = False) -> TS[bool]:
    """A tick whenever the condition ticks true, or only the first time."""
    return native_node(
        "if_true", "if_true", [("condition", condition, True)], TS[bool], params=(tick_once_only,)
    )


@graph(overloads=filter_)
def filter_scalar(condition: TS[bool], ts: TS[SCALAR]) -> TS[SCALAR]:
    """Let values through while the condition holds."""
    inputs = [("condition", condition, True), ("ts", ts, True)]
    return native_node("filter_", "filter_", inputs, _tp(ts))


@graph(overloads=sample)
def sample_scalar(signal: SIGNAL, ts: TS[SCALAR]) -> TS[SCALAR]:
    """The value whenever the signal ticks."""
    inputs = [("signal", signal, True), ("ts", ts, False)]
    return native_node("sample", "sample", inputs, _tp(ts))


@graph(overloads=slice_)
def slice_scalar(ts: TS[SCALAR], start: int, stop: int, step_size: int) -> TS[SCALAR]:
    """The values at the places of a slice, counted from 0; a negative stop is none, a negative start lets none through."""
    if step_size < 1:
        raise WiringError(f"slice_: the step must be positive, not {step_size}")
    if start < 0:  # there is no place before the first
        start, stop = 0, 0
    return native_node(
        "slice_", "slice_", [("ts", ts, True)], _tp(ts), params=(start, stop, step_size)
    )


@graph(overloads=dedup, requires=lambda bound, _: get_origin(bound[SCALAR]) is not Array)
def dedup_scalar(ts: TS[SCALAR]) -> TS[SCALAR]:
    """Values that differ from the one before."""
    return native_node("dedup", "dedup", [("ts", ts, True)], _tp(ts))


@graph(overloads=dedup)
def dedup_float(ts: TS[float], abs_tol: TS[float] = None) -> TS[float]:
    """Values further than a tolerance (1e-15) from the one let through before."""
    inputs = [("ts", ts, True)] + ([] if abs_tol is None else [("abs_tol", abs_tol, True)])
    return native_node("dedup", "dedup:float", inputs, TS[float])


@graph(overloads=lag)
def lag_scalar(ts: TS[SCALAR], period: int) -> TS[SCALAR]:
    """The value of so many ticks ago."""
    if period < 1:
        raise WiringError(f"lag: the number of ticks must be positive, not {period}")
    return native_node("lag", "lag", [("ts", ts, True)], _tp(ts), params=(period,))


@graph(overloads=until_true)
def until_true_native(ts: TS[bool]) -> TS[bool]:
    """Ticks up to the first that is true."""
    return native_node("until_true", "until_true", [("ts", ts, True)], TS[bool])


@graph(overloads=merge, requires=lambda bound, _: bound[SIZE].SIZE > 0)
def merge_scalars(*tsl: TSL[TS[SCALAR], SIZE]) -> TS[SCALAR]:
    """The first that ticks in a cycle."""
    ports = list(tsl)
    inputs = [(f"in_{i}", port, True) for i, port in enumerate(ports)]
    return native_node("merge", "merge", inputs, _tp(ports[0]))

"""A running graph's state: saved, put back and hashed, it goes on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mainspring._kernel.graph import to_ns
from mainspring.errors import StateError
from mainspring.graph import (
    DEFAULT,
    MIN_ST,
    MIN_TD,
    OUT,
    RECORDABLE_STATE,
    REF,
    REMOVE,
    REMOVE_IF_EXISTS,
    SCHEDULER,
    STATE,
    TS,
    TSD,
    TSL,
    TSS,
    TSW,
    Removed,
    RunningGraph,
    Size,
    TimeSeriesSchema,
    WindowSize,
    compute_node,
    count,
    diff,
    drop,
    feedback,
    filter_,
    generator,
    graph,
    if_,
    if_then_else,
    lag,
    map_,
    mean,
    race,
    reduce,
    set_delta,
    slice_,
    std,
    step,
    sum_,
    switch_,
    take,
    var,
)
from mainspring.graph._run import _recorded
from mainspring.state import decode, encode


@generator
def numbers(count: int) -> TS[int]:
    for i in range(count):
        yield MIN_ST + i * MIN_TD, i


@generator
def table(count: int) -> TSD[str, TS[int]]:
    for i in range(count):
        change: dict[str, Any] = {"abcdef"[i % 6]: i}
        if i % 5 == 4:
            change["abcdef"[(i + 3) % 6]] = REMOVE
            change.pop("abcdef"[i % 6], None)
        if i >= 6 or REMOVE not in change.values():
            yield MIN_ST + i * MIN_TD, change


@compute_node
def total(v: TS[int], state: STATE = None) -> TS[int]:
    state.sum = state.get("sum", 0) + v.value
    return state.sum


@compute_node
def plus(a: TS[int], b: TS[int]) -> TS[int]:
    return a.value + b.value


@compute_node(active=("a",))
def plus_last(a: TS[int], b: TS[int]) -> TS[int]:
    return (a.value + b.value) % 1000


@compute_node
def negative(v: TS[int]) -> TS[int]:
    return -v.value


@compute_node
def later(v: TS[int], scheduler: SCHEDULER = None) -> TS[int]:
    if scheduler.is_scheduled_now:
        return -1
    scheduler.schedule(MIN_TD * 3, tag="later")
    return v.value if v.value % 4 == 0 else None


@compute_node
def parity(v: TS[int]) -> TS[str]:
    return "even" if v.value // 3 % 2 == 0 else "odd"


@compute_node
def pick(c: TS[str], a: REF[TS[int]], b: REF[TS[int]]) -> REF[TS[int]]:
    return a.value if c.value == "even" else b.value


@compute_node
def keys(v: TS[int]) -> TSS[int]:
    return {v.value % 3, v.value % 5}


@compute_node
def window_sum(w: TSW[int, WindowSize[4]]) -> TS[int]:
    return int(sum(w.value))


@compute_node
def to_window(v: TS[int]) -> TSW[int, WindowSize[4]]:
    return v.value


COUNT = 23


@graph
def program() -> TSL[TS[int], Size[8]]:
    v = numbers(COUNT)
    d = table(COUNT)
    back = feedback(TS[int], 0)
    looped = plus_last(v, back())
    back(looped)
    mapped = map_(lambda x: total(x), d)
    switched = switch_(parity(v), {"even": total, DEFAULT: lambda x: negative(total(x))}, v)
    return TSL.from_ts(
        total(v),
        looped,
        reduce(plus, mapped, 0),
        reduce(lambda a, b: plus(a, negative(b)), map_(negative, d), 0),
        switched,
        later(v),
        pick(parity(v), total(v), negative(v)),
        window_sum(to_window(v)),
    )


def fresh(of: Any = program) -> tuple[RunningGraph, list[Any]]:
    description, ticks = _recorded(of, (), {})
    assert ticks is not None
    running = RunningGraph(description)
    running.start()
    return running, ticks


def cycles(running: RunningGraph) -> Iterator[int]:
    while (time := running.next_wakeup_ns()) is not None:
        yield time


def check_goes_on(of: Any, after: int) -> None:
    """Saved after some cycles and put into another graph, the rest is tick for tick the same."""
    whole, expected = fresh(of)
    for time in cycles(whole):
        whole.evaluate(time)

    first, _ = fresh(of)
    last = -1
    for n, time in enumerate(cycles(first)):
        if n == after:
            break
        first.evaluate(time)
        last = time
    saved = decode(encode(first.save(), "graph"))
    second, rest = fresh(of)
    second.restore(saved)
    assert second.hash() == first.hash()
    for time in cycles(second):
        second.evaluate(time)
    assert rest == [tick for tick in expected if to_ns(tick[0]) > last]
    assert second.hash() == whole.hash()


@pytest.mark.parametrize("after", [0, 1, 2, 5, 8, 13, 19, 22])
def test_goes_on_where_it_was(after: int) -> None:
    check_goes_on(program, after)


def even(v: Any) -> Any:
    return v % 2 == 0


# What each of these gives depends on what it took in long before.
GATHERING: dict[str, Callable[[Any], Any]] = {
    "sum_": sum_,
    "sum_reset": lambda v: sum_(v, reset=filter_(v % 5 == 0, even(v))),
    "count": count,
    "mean": mean,
    "var": var,
    "std": std,
    "diff": diff,
    "lag": lambda v: lag(v, 3),
    "lag_object": lambda v: lag(parity(v), 3),
    "take": lambda v: take(v, 9),
    "drop": lambda v: drop(v, 4),
    "slice_": lambda v: slice_(v, 2, 15, 3),
    "step": lambda v: step(v, 3),
    "filter_": lambda v: filter_(even(v // 3), v),
    "if_": lambda v: if_(even(v // 4), v).true,
    "if_then_else": lambda v: if_then_else(filter_(v % 4 == 0, even(v // 4)), v, -v),
    "race": lambda v: race(drop(v, 3), take(v, 12)),
    "nested": lambda v: switch_(even(v // 5), {True: count, False: lambda v: lag(sum_(v), 1)}, v),
    "passive": lambda v: listens(v, v // 2),
    "tuple": lambda v: looped(v),
    "sets": lambda v: looped_set(v),
    "table": lambda v: looped_table(v),
}


@compute_node(active=("a", "b"))
def listens(a: TS[int], b: TS[int]) -> TS[int]:
    """Closes one ear and opens it again."""
    if b.value == 3:
        a.make_passive()
    if b.value == 7:
        a.make_active()
    return a.value * 100 + b.value


@compute_node
def pair(v: TS[int]) -> TS[tuple[tuple[str, ...], ...]]:
    """What looks like the state of a node, were it taken for one."""
    return (("state", "STATE", str(v.value)), ("a",))


@graph
def looped(v: TS[int]) -> TS[tuple[tuple[str, ...], ...]]:
    back = feedback(TS[tuple[tuple[str, ...], ...]])
    back(pair(v))
    return back()


@compute_node
def some(v: TS[int]) -> TSS[int]:
    return set_delta({v.value % 5}, {(v.value + 2) % 5})


@graph
def looped_set(v: TS[int]) -> TSS[int]:
    back = feedback(TSS[int])
    back(some(v))
    return back()


@compute_node
def rows(v: TS[int]) -> TSD[int, TS[int]]:
    return {v.value % 4: v.value, (v.value + 2) % 4: REMOVE_IF_EXISTS}


@graph
def looped_table(v: TS[int]) -> TSD[int, TS[int]]:
    back = feedback(TSD[int, TS[int]])
    back(rows(v))
    return back()


@pytest.mark.parametrize("after", [0, 1, 2, 6, 11, 18])
@pytest.mark.parametrize("name", GATHERING)
def test_what_an_operator_gathered_goes_on(name: str, after: int) -> None:
    @graph
    def gathered() -> OUT:
        return GATHERING[name](numbers(COUNT))

    check_goes_on(gathered, after)


@pytest.mark.parametrize("what", ["evaluate", "stop", "save", "restore", "dispose"])
def test_a_node_cannot_lay_hands_on_its_own_graph(what: str) -> None:
    """Refused in words, and the graph goes on."""
    refused: list[str] = []

    @compute_node
    def meddles(v: TS[int]) -> TS[int]:
        arguments = {"evaluate": (to_ns(MIN_ST) + 9000,), "restore": (kept,)}.get(what, ())
        try:
            getattr(running, what)(*arguments)
        except RuntimeError as error:
            refused.append(str(error))
        return v.value

    @graph
    def main() -> TS[int]:
        return meddles(numbers(3))

    running, ticks = fresh(main)
    kept = running.save()
    for time in cycles(running):
        running.evaluate(time)
    assert len(refused) == 3
    assert "at work" in refused[0]
    assert [tick[1] for tick in ticks] == [0, 1, 2]
    running.stop()
    running.dispose()


def test_changes_of_collections_are_saved_as_what_they_are() -> None:
    change = {1: REMOVE, 2: REMOVE_IF_EXISTS, 3: set_delta([1, 5, 2], [4])}
    back = decode(encode(change))
    assert back[1] is REMOVE
    assert back[2] is REMOVE_IF_EXISTS
    assert list(back[3]) == [1, 5, 2, Removed(4)]
    assert type(list(back[3])[3]) is Removed


def test_what_cannot_be_saved_is_named() -> None:
    """The node and the place are in the error."""

    @compute_node
    def keeps(v: TS[int], state: STATE = None) -> TS[int]:
        state.thing = print
        return v.value

    @graph
    def main() -> TS[int]:
        return keeps(numbers(3))

    description, _ = _recorded(main, (), {})
    running = RunningGraph(description)
    running.start()
    running.evaluate(running.next_wakeup_ns() or 0)
    with pytest.raises(StateError, match=r"keeps.*thing"):
        running.hash()


class Bounds(TimeSeriesSchema):
    low: TS[int]


class History:
    def __init__(self) -> None:
        self.values: list[int] = []


@compute_node
def several(
    v: TS[int],
    own: STATE = None,
    kept: RECORDABLE_STATE[Bounds] = None,
    history: STATE[History] = None,
) -> TS[int]:
    history.values.append(v.value)
    own.count = own.get("count", 0) + 1
    kept.low.value = min(v.value, kept.low.value if kept.low.valid else 0) - 1
    return own.count * 100 + kept.low.value + len(history.values)


def test_a_node_keeps_several_states_and_each_goes_on() -> None:
    """A plain, a recordable and a typed state of one node are saved and restored together."""

    @graph
    def counted() -> TS[int]:
        return several(numbers(6))

    def begun() -> tuple[RunningGraph, list[Any]]:
        description, ticks = _recorded(counted, (), {})
        assert ticks is not None
        running = RunningGraph(description)
        running.start()
        return running, ticks

    first, ticks = begun()
    for _ in range(3):
        first.evaluate(first.next_wakeup_ns() or 0)
    saved = first.save()
    second, later_ticks = begun()
    second.restore(saved)
    first.run()
    second.run()
    assert later_ticks == ticks[3:]
    assert [value for _, value in ticks] == [100 + 0, 200 + 0, 300 + 0, 400 + 0, 500 + 0, 600 + 0]
    assert first.save()[2] is not saved[2]
    for running in (first, second):
        running.stop()
        running.dispose()

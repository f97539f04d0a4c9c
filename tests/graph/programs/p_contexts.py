"""Contexts: what `with port:` publishes, and nodes that run inside the values of it."""

from dataclasses import dataclass

from lib import (
    CONTEXT,
    REQUIRED,
    TIME_SERIES_TYPE,
    TS,
    TSB,
    TSD,
    CompoundScalar,
    combine,
    compute_node,
    eval_node,
    format_,
    get_context,
    graph,
    map_,
    pass_through,
    sink_node,
    switch_,
    try_except,
)


class Locale:
    """A context manager that nodes look for while they run."""

    now = None

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        Locale.now = self

    def __exit__(self, *exc):
        Locale.now = None


@dataclass(frozen=True)
class Region(CompoundScalar, Locale):
    number: int
    name: str = "region"


@compute_node
def locale(name: TS[str]) -> TS[Locale]:
    return Locale(name.value)


def current():
    return Locale.now.name if Locale.now else None


@compute_node
def here(ts: TS[int], where: CONTEXT[TS[Locale]] = None) -> TS[str]:
    return f"{ts.value} {current()}"


@compute_node(valid=("ts",))
def here_early(ts: TS[int], where: CONTEXT[TS[Locale]] = None) -> TS[str]:
    return f"{ts.value} {current()}"


@compute_node
def here_scalar(ts: TS[int], where: CONTEXT[Locale] = None) -> TS[str]:
    return f"{ts.value} {current()}"


@compute_node
def number(ts: TS[int], c: CONTEXT[TS[int]] = "c") -> TS[int]:
    return ts.value + c.value


@compute_node
def any_kind(ts: TS[int], c: CONTEXT[TIME_SERIES_TYPE] = REQUIRED["c"]) -> TS[str]:
    return f"{ts.value} {dict(c.value)}"


@graph
def added(ts: TS[int], c: CONTEXT[TS[int]] = None) -> TS[int]:
    return ts + c


NUMBERS, NAMES = [1, None, 3, None, 5], [None, "a", None, "b", None]


def table_entered():
    for node in (here, here_early, here_scalar):

        def inside(node=node):
            @graph
            def g(ts: TS[int], name: TS[str]) -> TS[str]:
                with locale(name):
                    return node(ts)

            return eval_node(g, NUMBERS, NAMES)

        def without(node=node):
            @graph
            def g(ts: TS[int]) -> TS[str]:
                return node(ts)

            return eval_node(g, NUMBERS)

        yield node.signature.name, inside
        yield f"{node.signature.name}-without", without


def case_entered_bundle():
    @graph
    def g(ts: TS[int]) -> TS[str]:
        with combine[TSB[Region]](number=1, name="somewhere"):
            return here_scalar(ts)

    return eval_node(g, NUMBERS)


def case_entered_by_sink():
    seen = []

    @sink_node
    def look(ts: TS[int], where: CONTEXT[TS[Locale]] = REQUIRED):
        seen.append((ts.value, current()))

    @graph
    def g(ts: TS[int], name: TS[str]):
        with locale(name):
            look(ts)

    eval_node(g, NUMBERS, NAMES)
    return seen


def case_left_when_the_node_fails():
    @compute_node
    def fails(ts: TS[int], where: CONTEXT[TS[Locale]] = None) -> TS[str]:
        raise ValueError(current())

    @graph
    def g(ts: TS[int], name: TS[str]) -> TS[str]:
        with locale(name):
            return try_except(lambda t: fails(t), ts).out

    eval_node(g, [1], ["a"])
    return current()


def case_through_switch_and_map():
    @graph
    def inner(ts: TS[int], name: TS[str]) -> TS[str]:
        with locale(name):
            return switch_(ts, {1: lambda ts: here(ts), 2: lambda ts: format_("two {}", ts)}, ts)

    @graph
    def g(ts: TSD[str, TS[int]], name: TSD[str, TS[str]]) -> TSD[str, TS[str]]:
        return map_(inner, ts, name)

    return eval_node(
        g, [{"x": 1, "y": 2}, {"x": 2}, {"x": 1}], [{"x": "a", "y": "b"}, None, {"x": "c"}]
    )


def case_by_name():
    @graph
    def g(ts: TS[int], s: TS[int]) -> TS[int]:
        with s as c:
            return number(ts)

    return eval_node(g, NUMBERS, [None, 10, None, 20, None])


def case_innermost():
    @graph
    def g(ts: TS[int], s: TS[int]) -> TS[int]:
        with s as a:
            with s + 1 as b:
                return added(ts)

    return eval_node(g, [1], [10])


def case_outer_by_name():
    @graph
    def g(ts: TS[int], s: TS[int]) -> TS[int]:
        with s as a:
            with s + 1 as b:
                return added(ts, c="a")

    return eval_node(g, [1], [10])


def case_any_kind():
    @graph
    def g(ts: TS[int], d: TSD[str, TS[int]]) -> TS[str]:
        with d as c:
            return any_kind(ts)

    return eval_node(g, [1, None, 2], [{"a": 1}, {"b": 2}])


def case_in_map():
    @graph
    def g(ts: TSD[str, TS[int]], s: TS[int]) -> TSD[str, TS[int]]:
        with s as c:
            return map_(added, ts)

    return eval_node(g, [{"a": 1}, {"b": 2}], [10, None, 20])


def case_graph_without():
    @graph
    def g(ts: TS[int]) -> TS[int]:
        return added(ts)

    return eval_node(g, [1, 2])


def case_required():
    @graph
    def g(ts: TS[int]) -> TS[str]:
        return any_kind(ts)

    return eval_node(g, [1])


def case_required_in_the_call():
    @graph
    def g(ts: TS[int]) -> TS[str]:
        return here(ts, where=REQUIRED["nowhere"])

    return eval_node(g, [1])


def case_get_context():
    @graph
    def g(ts: TS[int], s: TS[int]) -> TS[int]:
        with s as c:
            return ts + get_context[TS[int]]("c")

    return eval_node(g, [1, 2], [10, None, 20])


def case_passed_explicitly():
    @graph
    def g(ts: TS[int], d: TSD[str, TS[int]]) -> TS[str]:
        return any_kind(ts, d)

    return eval_node(g, [1], [{"a": 1}])

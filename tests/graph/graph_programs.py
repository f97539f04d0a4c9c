"""The programs of tests/model/graph.py, as graphs; run as a script, a twin's digest of many."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

from tests.model.graph import LIMIT, Program, Ticks

from mainspring.graph import (
    REMOVE,
    REMOVE_IF_EXISTS,
    SCHEDULER,
    STATE,
    TS,
    TSD,
    GlobalState,
    compute_node,
    feedback,
    get_recorded_value,
    graph,
    map_,
    record,
    reduce,
    switch_,
)
from mainspring.graph.test import eval_node


@compute_node
def add(a: TS[int], b: TS[int]) -> TS[int]:
    return (a.value + b.value) % LIMIT


@compute_node
def plus(a: TS[int], b: TS[int]) -> TS[int]:
    return a.value + b.value


@compute_node
def even(a: TS[int]) -> TS[int]:
    return a.value if a.value % 2 == 0 else None


@compute_node(active=("trigger",))
def sample(trigger: TS[int], a: TS[int]) -> TS[int]:
    return a.value


@compute_node(valid=())
def either(a: TS[int], b: TS[int]) -> TS[int]:
    return a.value if a.modified else b.value


@compute_node
def count(a: TS[int], state: STATE = None) -> TS[int]:
    state.n = state.get("n", 0) + 1
    return state.n


@compute_node
def later(a: TS[int], delay: int, s: SCHEDULER = None) -> TS[int]:
    fires = s.is_scheduled_now
    if a.modified:
        s.schedule(dt.timedelta(microseconds=delay), "later")
    return a.value if fires else None


_NODES = {
    "add": add,
    "even": even,
    "sample": sample,
    "either": either,
    "count": count,
    "later": later,
}


def run_program(program: Program, inputs: list[list[int | None]]) -> Ticks:
    """The ticks of every node of a program, by the kernel."""

    @graph
    def main(*ins: TS[int]) -> None:
        ports: list[Any] = []
        backs: dict[int, Any] = {}
        for i, (kind, *args) in enumerate(program):
            if kind == "input":
                port = ins[args[0]]
            elif kind == "last":
                backs[i] = feedback(TS[int])
                port = backs[i]()
            elif kind == "back":
                backs[args[1]](ports[args[0]])
                port = None
            elif kind == "later":
                port = later(ports[args[0]], args[1])
            else:
                port = _NODES[kind](*(ports[a] for a in args))
            ports.append(port)
            if port is not None:
                record(port, f"n{i}")

    with GlobalState():
        eval_node(main, *[s or [None] for s in inputs], resolution_dict={"ins": TS[int]})
        found: Ticks = {}
        for i, (kind, *_) in enumerate(program):
            ticks = [] if kind == "back" else get_recorded_value(f"n{i}")
            found[i] = [
                (int((t - dt.datetime(1970, 1, 1)) / dt.timedelta(microseconds=1)) - 1, v)
                for t, v in ticks
            ]
        return found


@graph
def per_key(ts: TS[int]) -> TS[int]:
    return plus(count(ts), ts)


@graph
def keyed_program(ts: TSD[str, TS[int]]) -> None:
    mapped = map_(per_key, ts)
    record(mapped, "map")
    record(reduce(plus, mapped, 0), "sum")


def run_keyed(changes: list[Any]) -> list[tuple[Any, Any]]:
    """The change of the map and the sum after each cycle, by the kernel."""
    series = [
        None if c is None else {k: REMOVE_IF_EXISTS if v is None else v for k, v in c.items()}
        for c in changes
    ]
    with GlobalState():
        eval_node(keyed_program, series)
        deltas = dict(get_recorded_value("map"))
        sums = dict(get_recorded_value("sum"))
    found, total = [], 0
    for i in range(len(changes)):
        at = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=i + 1)
        total = sums.get(at, total)
        delta = deltas.get(at)
        shown = None
        if delta:
            shown = {k: "removed" if v is REMOVE else v for k, v in delta.items()}
        found.append((shown, total))
    return found


def _case(k: int) -> Any:
    @compute_node
    def weigh(ts: TS[int], n: TS[int]) -> TS[int]:
        return n.value + (k + 1) * ts.value

    @graph
    def case(ts: TS[int]) -> TS[int]:
        return weigh(ts, count(ts))

    return case


CASES = {k: _case(k) for k in range(3)}


@graph
def switch_program(key: TS[int], ts: TS[int]) -> TS[int]:
    return switch_(CASES, key, ts)


def random_program(rng: random.Random) -> tuple[Program, list[list[int | None]]]:
    """A program and its inputs, from a seeded generator."""
    program: Program = [("input", 0), ("input", 1)]
    for _ in range(rng.randrange(1, 14)):
        ports = [i for i, node in enumerate(program) if node[0] != "back"]
        one, two = rng.choice(ports), rng.choice(ports)
        kind = rng.choice(["add", "even", "sample", "either", "count", "later", "last"])
        if kind == "last":
            # A feedback that is only read when something else ticks ends by itself.
            program += [
                ("last",),
                ("sample", one, len(program)),
            ]
            program.append(("either", one, len(program) - 1))
            program.append(("back", one, len(program) - 3))
        elif kind == "later":
            program.append((kind, one, rng.randrange(1, 4)))
        else:
            program.append((kind, one) if kind in ("even", "count") else (kind, one, two))
    inputs = [
        [rng.randrange(50) if rng.random() < 0.6 else None for _ in range(8)] for _ in range(2)
    ]
    for series in inputs:
        series[rng.randrange(8)] = 4
    return program, inputs


if __name__ == "__main__":
    import hashlib

    seen = hashlib.sha256()
    for seed in range(25):
        rng = random.Random(seed)
        seen.update(repr(run_program(*random_program(rng))).encode())
        words = [f"key{n}" for n in range(9)]
        churn = [
            {rng.choice(words): rng.choice([None, 1, 2, 3]) for _ in range(4)} for _ in range(12)
        ]
        seen.update(repr(run_keyed([{"a": 1}, *churn])).encode())
    print(seen.hexdigest())

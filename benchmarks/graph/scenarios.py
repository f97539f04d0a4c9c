"""The graph benchmarks, written once: ``lib`` is hgraph in one process and mainspring.graph in another.

Each scenario builds a graph around one ``Stopwatch`` source, a Python generator that reads the clock when it
is first asked for a tick and when it is exhausted, so that wiring, starting and stopping are not in the time.
``units`` is what a scenario's time is divided by: node evaluations, ticks, keys or cycles.
"""

import gc
import importlib
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any


class Stopwatch:
    """Nanoseconds between the first tick asked for, or the one after ``skipped`` ticks, and the last one taken."""

    def __init__(self, skipped: int = 0) -> None:
        self.skipped = skipped
        self.began = self.ended = 0

    def ticks(self, start: Any, step: timedelta, values: list[Any]) -> Any:
        """Yield ``values`` a step apart, reading the clock at both ends."""
        at = start
        for value in values[: self.skipped]:
            yield at, value
            at += step
        self.began = time.perf_counter_ns()
        for value in values[self.skipped :]:
            yield at, value
            at += step
        self.ended = time.perf_counter_ns()


@dataclass
class Scenario:
    """A graph to run, and how many of what it does."""

    graph: Callable[[], None]
    units: int
    stopwatch: Stopwatch
    cycles: int


def scenarios(lib: Any) -> dict[str, Callable[[int], Scenario]]:
    """Return every scenario for a library, by name; each takes a number of cycles."""
    TS, TSD, TSL, REMOVE, Size = lib.TS, lib.TSD, lib.TSL, lib.REMOVE, lib.Size
    MIN_ST, MIN_TD = lib.MIN_ST, lib.MIN_TD

    @lib.compute_node
    def step_up(a: TS[int]) -> TS[int]:
        return a.value + 1

    @lib.sink_node
    def drop(a: TS[int]) -> None:
        pass

    @lib.sink_node
    def drop_dict(a: TSD[int, TS[int]]) -> None:
        pass

    def source(watch: Stopwatch, tp: Any, values: list[Any]) -> Any:
        @lib.generator
        def ticks() -> tp:
            yield from watch.ticks(MIN_ST, MIN_TD, values)

        return ticks()

    def build(
        cycles: int,
        units: int,
        tp: Any,
        values: list[Any],
        body: Callable[[Any], None],
        skipped: int = 0,
    ) -> Scenario:
        watch = Stopwatch(skipped)

        @lib.graph
        def program() -> None:
            body(source(watch, tp, values))

        return Scenario(program, units, watch, cycles)

    def chain(length: int) -> Callable[[int], Scenario]:
        def scenario(cycles: int) -> Scenario:
            def body(a: Any) -> None:
                for _ in range(length):
                    a = step_up(a)
                drop(a)

            return build(cycles, cycles * length, TS[int], list(range(cycles)), body)

        return scenario

    def native_chain(cycles: int) -> Scenario:
        def body(a: Any) -> None:
            one = lib.const(1)
            for _ in range(100):
                a = a + one
            drop(a)

        return build(cycles, cycles * 100, TS[int], list(range(cycles)), body)

    def generator_and_sink(cycles: int) -> Scenario:
        return build(cycles, cycles, TS[int], list(range(cycles)), drop)

    def feedback_loop(cycles: int) -> Scenario:
        @lib.compute_node(active=("a",), valid=("a",))
        def total(a: TS[int], before: TS[int]) -> TS[int]:
            return a.value + before.value

        def body(a: Any) -> None:
            loop = lib.feedback(TS[int], 0)
            out = total(a, loop())
            loop(out)
            drop(out)

        watch = Stopwatch()

        @lib.graph
        def program() -> None:
            @lib.generator
            def ticks() -> TS[int]:
                yield from watch.ticks(MIN_ST, 2 * MIN_TD, list(range(cycles)))

            body(ticks())

        return Scenario(program, cycles, watch, cycles)

    def fan_out(cycles: int) -> Scenario:
        def body(a: Any) -> None:
            for i in range(1000):
                lib.null_sink(a + i)

        return build(cycles, cycles * 1000, TS[int], list(range(cycles)), body)

    def fan_in(cycles: int) -> Scenario:
        @lib.compute_node
        def total(parts: TSL[TS[int], Size[1000]]) -> TS[int]:
            return sum(part.value for part in parts.modified_values())

        def body(a: Any) -> None:
            drop(total(TSL.from_ts(*(a + i for i in range(1000)))))

        return build(cycles, cycles * 1000, TS[int], list(range(cycles)), body)

    def keyed(cycles: int, values: list[Any], units: int, body: Callable[[Any], None]) -> Scenario:
        return build(cycles, units, TSD[int, TS[int]], values, body)

    def map_dense(cycles: int) -> Scenario:
        values = [dict.fromkeys(range(1000), i) for i in range(cycles)]
        return keyed(
            cycles, values, cycles * 1000, lambda d: drop_dict(lib.map_(lambda x: x + 1, d))
        )

    def map_sparse(cycles: int) -> Scenario:
        values = [dict.fromkeys(range(1000), 0)] + [{i % 1000: i} for i in range(cycles)]
        return keyed(cycles, values, cycles, lambda d: drop_dict(lib.map_(lambda x: x + 1, d)))

    def reduce_dense(cycles: int) -> Scenario:
        values = [dict.fromkeys(range(1000), i) for i in range(cycles)]
        return keyed(cycles, values, cycles * 1000, lambda d: drop(lib.reduce(lib.add_, d, 0)))

    def reduce_sparse(cycles: int) -> Scenario:
        values = [dict.fromkeys(range(1000), 0)] + [{i % 1000: i} for i in range(cycles)]
        return keyed(cycles, values, cycles, lambda d: drop(lib.reduce(lib.add_, d, 0)))

    def key_churn(cycles: int) -> Scenario:
        values: list[Any] = [{k: k for k in range(100)}]
        values += [{i: REMOVE, i + 100: i} for i in range(cycles)]
        return keyed(cycles, values, cycles, lambda d: drop_dict(lib.map_(lambda x: x + 1, d)))

    def switch(size: int) -> Callable[[int], Scenario]:
        def branch(sign: int) -> Callable[[Any], Any]:
            def wired(a: Any) -> Any:
                for _ in range(size):
                    a = a + sign
                return a

            return wired

        def scenario(cycles: int) -> Scenario:
            def body(a: Any) -> None:
                drop(lib.switch_(a % 2, {0: branch(1), 1: branch(-1)}, a))

            return build(cycles, cycles, TS[int], list(range(cycles)), body)

        return scenario

    # What everything costs that ticks once, at the start, is not what a cycle costs after it.
    def ten_ticking(cycles: int, body: Callable[[Any], None]) -> Scenario:
        return build(cycles, cycles, TS[int], list(range(cycles + 2)), body, skipped=2)

    def large_graph(size: int) -> Callable[[int], Scenario]:
        def scenario(cycles: int) -> Scenario:
            def body(a: Any) -> None:
                for _ in range(10):
                    a = a + 1
                drop(a)
                quiet = lib.const(0)
                for _ in range(size):
                    quiet = quiet + 1
                lib.null_sink(quiet)

            return ten_ticking(cycles, body)

        return scenario

    def wide_graph(chains: int) -> Callable[[int], Scenario]:
        def scenario(cycles: int) -> Scenario:
            def body(a: Any) -> None:
                ends = [lib.const(0) for _ in range(chains - 1)]
                ends.insert(chains // 2, a)
                for _ in range(10):
                    ends = [end + 1 for end in ends]
                drop(ends.pop(chains // 2))
                for end in ends:
                    lib.null_sink(end)

            return ten_ticking(cycles, body)

        return scenario

    return {
        "python_chain_100": chain(100),
        "native_chain_100": native_chain,
        "generator_and_sink": generator_and_sink,
        "python_chain_5": chain(5),
        "feedback_loop": feedback_loop,
        "fan_out_1000": fan_out,
        "fan_in_1000": fan_in,
        "map_dense_1000": map_dense,
        "map_sparse_1000": map_sparse,
        "reduce_dense_1000": reduce_dense,
        "reduce_sparse_1000": reduce_sparse,
        "key_churn": key_churn,
        "switch_small": switch(1),
        "switch_large": switch(100),
        "ten_of_10": large_graph(0),
        "ten_of_100000": large_graph(100_000),
        "ten_in_10000_chains": wide_graph(10_000),
    }


# How many cycles each scenario runs: about a fifth of a second on a small machine.
CYCLES = {
    "python_chain_100": 10_000,
    "native_chain_100": 20_000,
    "generator_and_sink": 200_000,
    "python_chain_5": 100_000,
    "feedback_loop": 100_000,
    "fan_out_1000": 2_000,
    "fan_in_1000": 1_000,
    "map_dense_1000": 200,
    "map_sparse_1000": 50_000,
    "reduce_dense_1000": 200,
    "reduce_sparse_1000": 50_000,
    "key_churn": 20_000,
    "switch_small": 20_000,
    "switch_large": 2_000,
    "ten_of_10": 100_000,
    "ten_of_100000": 100_000,
    "ten_in_10000_chains": 20_000,
}


def run(lib: Any, program: Callable[[], None], cycles: int) -> None:
    """Run a program for up to ``cycles`` of the longest step any scenario takes."""
    end = lib.MIN_ST + (3 * cycles + 10) * lib.MIN_TD
    lib.run_graph(program, start_time=lib.MIN_ST, end_time=end)


def measure(lib: Any, name: str) -> float:
    """Return nanoseconds a unit of one scenario, measured once."""
    if name == "wire_and_start_10000":
        return wire_and_start(lib, 10_000)
    if name.startswith("memory_"):
        return memory(lib, name)
    scenario = scenarios(lib)[name](CYCLES[name])
    gc.collect()
    run(lib, scenario.graph, scenario.cycles)
    return (scenario.stopwatch.ended - scenario.stopwatch.began) / scenario.units


def wire_and_start(lib: Any, size: int) -> float:
    """Return nanoseconds a node for wiring and starting a graph of ``size`` Python nodes."""
    TS = lib.TS

    @lib.compute_node
    def step_up(a: TS[int]) -> TS[int]:
        return a.value + 1

    @lib.graph
    def program() -> None:
        a = lib.const(0)
        for _ in range(size // 2):
            a = step_up(a) + 1
        lib.null_sink(a)

    gc.collect()
    began = time.perf_counter_ns()
    run(lib, program, 1)
    return (time.perf_counter_ns() - began) / size


def memory(lib: Any, name: str) -> float:
    """Return bytes a node (native or Python), or bytes a cycle over a million cycles."""
    TS = lib.TS
    peak: list[int] = []

    @lib.compute_node
    def step_up(a: TS[int]) -> TS[int]:
        return a.value + 1

    if name == "memory_growth":
        seen: list[int] = []

        @lib.generator
        def ticks() -> TS[int]:
            at = lib.MIN_ST
            for i in range(1_000_000):
                if i in (100_000, 999_999):
                    seen.append(resident())
                yield at, i
                at += lib.MIN_TD

        @lib.graph
        def long_run() -> None:
            lib.null_sink(step_up(ticks() + 1))

        run(lib, long_run, 1_000_000)
        return (seen[1] - seen[0]) / 900_000

    # Graphs of a hundred nodes are made for a thousand keys: what a node costs while it runs, apart from
    # what describing it costs while it is wired.
    keys, length = 1000, 100
    TSD = lib.TSD

    @lib.graph
    def chain(x: TS[int]) -> TS[int]:
        for _ in range(length):
            x = step_up(x) if name == "memory_python_node" else -x
        return x

    @lib.sink_node
    def look_at(a: TSD[int, TS[int]]) -> None:
        peak.append(resident())

    @lib.generator
    def keyed() -> TSD[int, TS[int]]:
        yield lib.MIN_ST, dict.fromkeys(range(10), 0)
        yield lib.MIN_ST + lib.MIN_TD, dict.fromkeys(range(10, keys + 10), 0)

    @lib.graph
    def grown() -> None:
        look_at(lib.map_(chain, keyed()))

    run(lib, grown, 2)
    return (peak[1] - peak[0]) / (keys * length)


def resident() -> int:
    """Return the bytes this process holds now."""
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def main() -> None:
    """Measure one scenario for one library and print the number."""
    library, name = sys.argv[1:3]
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    print(measure(importlib.import_module(library), name))


if __name__ == "__main__":
    main()

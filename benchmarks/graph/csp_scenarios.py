"""The three scenarios that are compared with csp, in its own syntax.

They measure what ``scenarios.py`` measures: a Python source reads the clock at its first and after its last
tick, so wiring and starting are not in the time.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta

import csp
from csp.impl.pulladapter import PullInputAdapter
from csp.impl.wiring import py_pull_adapter_def

START = datetime(2020, 1, 1)
STEP = timedelta(microseconds=1)
CLOCK = {"began": 0, "ended": 0}


class _Ticks(PullInputAdapter):
    """A Python generator as a csp source, the counterpart of a graph's generator node."""

    def __init__(self, cycles: int) -> None:
        self._cycles = cycles
        super().__init__()

    def start(self, start_time: datetime, end_time: datetime) -> None:
        self._ticks = self._generate()
        super().start(start_time, end_time)

    def _generate(self):
        at = START
        CLOCK["began"] = time.perf_counter_ns()
        for i in range(self._cycles):
            yield at, i
            at += STEP
        CLOCK["ended"] = time.perf_counter_ns()

    def next(self):
        return next(self._ticks, None)


ticks = py_pull_adapter_def("ticks", _Ticks, csp.ts[int], cycles=int)


@csp.node  # noqa: RET503  (csp reads the body; falling off the end is no tick)
def step_up(a: csp.ts[int]) -> csp.ts[int]:
    if csp.ticked(a):
        return a + 1


@csp.node
def drop(a: csp.ts[int]):
    if csp.ticked(a):
        pass


@csp.graph
def python_chain(length: int, cycles: int):
    a = ticks(cycles)
    for _ in range(length):
        a = step_up(a)
    drop(a)


@csp.graph
def native_chain(length: int, cycles: int):
    a = ticks(cycles)
    one = csp.const(1)
    for _ in range(length):
        a = a + one
    drop(a)


@csp.graph
def generator_and_sink(cycles: int):
    drop(ticks(cycles))


def main() -> None:
    """Measure one scenario and print nanoseconds a unit."""
    name = sys.argv[1]
    program, arguments, cycles, units = {
        "python_chain_100": (python_chain, (100,), 10_000, 100),
        "native_chain_100": (native_chain, (100,), 20_000, 100),
        "generator_and_sink": (generator_and_sink, (), 200_000, 1),
    }[name]
    csp.run(
        program,
        *arguments,
        cycles,
        starttime=START,
        endtime=START + STEP * (cycles + 10),
        realtime=False,
    )
    print((CLOCK["ended"] - CLOCK["began"]) / (cycles * units))


if __name__ == "__main__":
    main()

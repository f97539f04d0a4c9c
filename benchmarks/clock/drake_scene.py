"""The default scene in pydrake's simulator, run in an environment of its own: prints seconds, first
with a system for each callback, then with one system that has them all."""

import sys
import time

from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder, LeafSystem

RATES = [50] * 7 + [30] * 2


class Part(LeafSystem):
    """One callback at one rate."""

    def __init__(self, rates: list[int]) -> None:
        super().__init__()
        for rate in rates:
            self.DeclarePeriodicPublishEvent(1 / rate, 0.0, lambda context: None)


def diagram():  # type: ignore[no-untyped-def]
    """A system for each, as drake's own examples are built."""
    builder = DiagramBuilder()
    for rate in RATES:
        builder.AddSystem(Part([rate]))
    return builder.Build()


def seconds(system, span: float) -> float:  # type: ignore[no-untyped-def]
    """How long the simulator takes for `span` seconds."""
    simulator = Simulator(system)
    simulator.Initialize()
    start = time.perf_counter()
    simulator.AdvanceTo(span)
    return time.perf_counter() - start


span = float(sys.argv[1])
print(seconds(diagram(), span), seconds(Part(RATES), span))

"""Two ways to do the same, piece by piece in turn."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

__all__ = ["compare", "engines", "line"]


def compare(
    one: Callable[[], object],
    other: Callable[[], object],
    *,
    rounds: int = 15,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float, float]:
    """Seconds a piece of each (medians), and the quartile spread of the ratio.

    `clock=time.thread_time` counts what this thread computed: not what it waited for others on a
    busy machine, nor what other threads of the process did beside it.
    """
    one(), other()
    first, second = [], []
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            # Who goes first takes turns too.
            for which in (0, 1) if turn % 2 else (1, 0):
                began = clock()
                (one, other)[which]()
                (first, second)[which].append(clock() - began)
    finally:
        gc.enable()
    ratios = [b / a for a, b in zip(first, second, strict=True)]
    quarters = statistics.quantiles(ratios, n=4)
    return statistics.median(first), statistics.median(second), quarters[2] - quarters[0]


def line(name: str, text: str, good: bool) -> bool:
    """One result."""
    print(f"{'ok  ' if good else 'SLOW'}  {name:<34}{text}", flush=True)
    return good


def engines() -> list[str]:
    """Those that are installed."""
    import importlib.util

    modules = {"mujoco": "mujoco", "rapier": "rapier3d", "jolt": "culverin", "box2d": "Box2D"}
    return [name for name, module in modules.items() if importlib.util.find_spec(module)]

"""How the command line shows things: tables, progress, durations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from mainspring.clock import RunReport, TimeManager

__all__ = ["duration", "parse_seconds", "run_progress", "seconds"]


def duration(ns: float) -> str:
    """A duration in the unit people would use: `340 ns`, `1.25 ms`, `2.5 s`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def seconds(ns: int) -> str:
    """Sim time in seconds, without needless zeros."""
    return f"{ns / 1e9:.9f}".rstrip("0").rstrip(".") + " s"


def parse_seconds(text: str) -> int:
    """`12.5s`, `250ms`, `3m`, `40` (seconds) as nanoseconds."""
    from fractions import Fraction

    units = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
    units |= {"h": 3600 * 10**9, "": 10**9}
    stripped = text.strip()
    number = stripped.rstrip("nsuµmh")
    unit = stripped[len(number) :]
    try:
        return int(Fraction(number.strip()) * units[unit])
    except (KeyError, ValueError, ZeroDivisionError):
        raise ValueError(f"{text!r} is no duration; write 12.5s, 250ms or 3m") from None


@contextmanager
def run_progress(
    console: Console, time: TimeManager, total_ns: int | None, shown: bool
) -> Iterator[Callable[[RunReport], None] | None]:
    """A bar with sim time, real-time factor and the slowest callback; None when not wanted."""
    if not shown:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[sim]}"),
        TextColumn("{task.fields[factor]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[slowest]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("running", total=total_ns, sim="", factor="", slowest="")

        def update(report: RunReport) -> None:
            callbacks = time.statistics().callbacks.values()
            slowest = max(callbacks, key=lambda c: c.cost.p99_ns, default=None)
            bar.update(
                task,
                completed=report.end_ns - report.start_ns,
                sim=f"{report.sim_seconds:.2f} s",
                factor=f"×{report.real_time_factor:.3g}",
                slowest=""
                if slowest is None
                else f"{slowest.name} {duration(slowest.cost.p99_ns)}",
            )

        yield update

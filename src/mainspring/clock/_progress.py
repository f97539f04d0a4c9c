"""A progress bar for runs: sim time, real-time factor and the slowest callback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mainspring.clock._reports import RunReport
from mainspring.clock._times import duration

if TYPE_CHECKING:
    from rich.console import Console

    from mainspring.clock._manager import TimeManager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(
    time: TimeManager, total_ns: int | None, console: Console | None = None
) -> Iterator[Callable[[RunReport], None]]:
    """Shows a bar while the block runs; what it gives is told of the run as it goes."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    # Names may hold what would be taken for markup.
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[sim]}"),
        TextColumn("{task.fields[factor]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[slowest]}", markup=False),
    )
    with Progress(*columns, console=console or Console(stderr=True), transient=True) as bar:
        task = bar.add_task(time.name, total=total_ns, sim="", factor="", slowest="")

        def update(report: RunReport) -> None:
            callbacks = time.statistics().callbacks.values()
            slowest = max(callbacks, key=lambda c: c.cost.p99_ns, default=None)
            bar.update(
                task,
                completed=report.end_ns - report.start_ns,
                sim=f"{report.sim_seconds:.2f} s",
                factor=f"×{report.real_time_factor:.3g}",
                slowest=(
                    "" if slowest is None else f"{slowest.name} {duration(slowest.cost.p99_ns)}"
                ),
            )

        yield update

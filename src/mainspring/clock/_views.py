"""Looking at the clock: the instants to come, the order of everything, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mainspring.clock._reports import (
    CallbackStatistics,
    Costs,
    Instant,
    OrderEntry,
    RunnerStatistics,
    Statistics,
)
from mainspring.clock.errors import ClockError

if TYPE_CHECKING:
    from mainspring.clock._manager import TimeManager

__all__ = ["order", "preview", "statistics"]

MOST_PREVIEWED = 1_000_000


def preview(time: TimeManager, until_ns: int) -> Iterator[Instant]:
    """The instants still to come before `until_ns`, in order; nothing runs."""
    names = {runner.id: runner.name for runner in time.runners}
    rows = time._kernel.preview(until_ns, MOST_PREVIEWED)
    for time_ns, due in rows:
        yield Instant(time_ns, tuple(name for i, name in names.items() if due >> i & 1))
    if len(rows) == MOST_PREVIEWED:
        raise ClockError(
            f"more than {MOST_PREVIEWED} instants lie before {until_ns} ns",
            hint="ask for less at once; Rate.boundaries_before counts any span exactly",
        )


def order(time: TimeManager) -> list[OrderEntry]:
    """Every registration in the order of a step that all runners share."""
    by_entry = {r._entry: r for r in time.registrations}
    found = [by_entry[entry] for entry in time._kernel.order() if entry in by_entry]
    return [
        OrderEntry(r.phase, r.priority, r.name, r.runner.name, r.runner.rate, r.enabled)
        for r in found
    ]


def statistics(time: TimeManager) -> Statistics:
    """A snapshot of the counters, by runner and by callback."""
    kernel = time._kernel
    runners: dict[str, RunnerStatistics] = {}
    for runner in time.runners:
        steps, shared, skipped, late = kernel.counts(runner.id)
        runners[runner.name] = RunnerStatistics(
            name=runner.name,
            rate=runner.rate,
            steps=steps,
            shared=shared,
            skipped=skipped,
            late=late,
            cost=Costs(*kernel.runner_costs(runner.id)),
            lateness=Costs(*kernel.lateness(runner.id)),
        )
    callbacks: dict[str, CallbackStatistics] = {}
    for r in time.registrations:
        if r._entry < 0:
            continue
        _, _, skipped, late = kernel.counts(r.runner.id)
        name, again = r.name, 2
        while name in callbacks:
            name, again = f"{r.name} ({again})", again + 1
        callbacks[name] = CallbackStatistics(
            name=name,
            runner=r.runner.name,
            phase=r.phase,
            steps=kernel.entry(r._entry)[4],
            late=late,
            skipped=skipped,
            cost=Costs(*kernel.entry_costs(r._entry)),
        )
    return Statistics(
        now_ns=time.now,
        instants=time.instants,
        frames=time._frames,
        forgiven_ns=time._forgiven_ns,
        skipped_ns=time._skipped_ns,
        runners=runners,
        callbacks=callbacks,
    )

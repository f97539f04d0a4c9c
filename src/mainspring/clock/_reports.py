"""What the clock tells: reports of frames and runs, previews, the order, and statistics."""

from __future__ import annotations

import msgspec

from mainspring.clock._rate import Rate
from mainspring.clock._words import Phase, RunEnd

__all__ = [
    "CallbackStatistics", "Costs", "FrameReport", "Instant", "OrderEntry", "RunReport",
    "RunnerStatistics", "Statistics",
]  # fmt: skip


class FrameReport(msgspec.Struct, frozen=True):
    """What one frame did."""

    frame: int
    """Which frame this was, from 0."""
    elapsed_ns: int
    """The wall time the frame was given."""
    now_ns: int
    """Sim time at its end."""
    advanced_ns: int
    """How far sim time came, skipped time included."""
    instants: int
    steps: dict[str, int]
    """Steps by runner."""
    used_ns: int
    """Wall time spent inside instants."""
    forgiven_ns: int
    """Wall time a deterministic real-time mode let go: the run got slower by this much."""
    skipped_ns: int
    """Sim time game mode jumped over."""
    skipped: dict[str, int]
    """Boundaries jumped over, by runner."""
    alphas: dict[str, float]
    """How far each runner is to its next boundary."""


class RunReport(msgspec.Struct, frozen=True):
    """What a run did, and why it ended."""

    reason: RunEnd
    start_ns: int
    end_ns: int
    instants: int
    shared: int
    """Of the instants, those with two or more runners."""
    steps: dict[str, int]
    frames: int
    wall_ns: int
    forgiven_ns: int = 0
    skipped_ns: int = 0

    @property
    def sim_seconds(self) -> float:
        """How far sim time came."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def wall_seconds(self) -> float:
        """How long it took."""
        return self.wall_ns / 1e9

    @property
    def real_time_factor(self) -> float:
        """Sim seconds for each wall second."""
        return (self.end_ns - self.start_ns) / self.wall_ns if self.wall_ns > 0 else 0.0


class Instant(msgspec.Struct, frozen=True):
    """A moment at which something is due."""

    time_ns: int
    runners: tuple[str, ...]
    """The runners due, in the order of their ids; empty for a wake-up alone."""

    @property
    def shared(self) -> bool:
        """Whether two or more runners are due."""
        return len(self.runners) > 1


class OrderEntry(msgspec.Struct, frozen=True):
    """One row of the execution order."""

    phase: Phase
    priority: int
    name: str
    runner: str
    rate: Rate
    enabled: bool


class Costs(msgspec.Struct, frozen=True):
    """Wall time over many samples; percentiles are exact to one part in eight."""

    samples: int
    mean_ns: float
    p50_ns: int
    p99_ns: int
    max_ns: int


class RunnerStatistics(msgspec.Struct, frozen=True):
    """What a runner did so far."""

    name: str
    rate: Rate
    steps: int
    shared: int
    """Of the steps, those another runner shared."""
    skipped: int
    """Boundaries game mode jumped over."""
    late: int
    """Paced steps that began after their next boundary was due."""
    cost: Costs
    """Of the instants it was due in."""
    lateness: Costs
    """How long after their wall time its paced steps began."""


class CallbackStatistics(msgspec.Struct, frozen=True):
    """What a callback did so far."""

    name: str
    runner: str
    phase: Phase
    steps: int
    late: int
    """Its runner's paced steps that began after their next boundary was due."""
    skipped: int
    """Its runner's boundaries that game mode jumped over."""
    cost: Costs


class Statistics(msgspec.Struct, frozen=True):
    """A snapshot of the clock's counters."""

    now_ns: int
    instants: int
    frames: int
    forgiven_ns: int
    skipped_ns: int
    runners: dict[str, RunnerStatistics]
    callbacks: dict[str, CallbackStatistics]

"""Rates, boundaries and the timeline."""

from collections.abc import Sequence

import mainspring._kernel.inbox
import mainspring.clock


class StepContext:
    """What a callback is told of its step. Live: read it during the call."""

    @property
    def dt(self) -> int:
        """The exact length of this step, in nanoseconds."""

    @property
    def ts(self) -> float:
        """The runner's step in seconds; the same at every step."""

    @property
    def time(self) -> int:
        """The time of this instant, in nanoseconds since the start."""

    @property
    def step(self) -> int:
        """Which of its runner's steps this is, counted from 0."""

    @property
    def id(self) -> int:
        """The id of the runner that fires the callback."""

    @property
    def runner(self) -> mainspring.clock.Runner:
        """The runner that fires the callback."""

    @property
    def swarm(self) -> mainspring.clock.Runners:
        """Every runner's live state, by id or name."""

    def get_alpha(self, runner: mainspring.clock.Runner | int | str) -> float:
        """How far a runner is from its last boundary to its next, in [0, 1)."""

    def get_step(self, runner: mainspring.clock.Runner | int | str) -> int:
        """The index of a runner's current step; -1 before its first."""

MAX_RUNNERS: int = 8

class Timeline:
    """Runners, wake-ups and the order of an instant."""

    def __init__(self) -> None: ...

    def set_runner(self, id: int, num: int, den: int, origin: int, k: int, handle: object, ts: float) -> None:
        """Sets a runner's rate; its next boundary is its `k`-th from `origin`."""

    def clear_runner(self, id: int) -> None: ...

    def runner(self, id: int) -> tuple[int, int, int, int, int]:
        """
        Index, time of the last boundary, of the next one, length of the step, origin.
        """

    def alpha(self, id: int) -> float: ...

    def counts(self, id: int) -> tuple[int, int, int, int]:
        """Steps, shared steps, skipped boundaries, missed deadlines."""

    @property
    def current_context(self) -> StepContext | None: ...

    def add(self, function: object, registration: object, runner: int, phase: int, priority: int, enabled: bool, wants_ts: bool, disable_on_error: bool) -> int: ...

    def place(self, entry: int, runner: int, phase: int, priority: int) -> None: ...

    def enable(self, entry: int, on: bool) -> None: ...

    def set_function(self, entry: int, function: object) -> None: ...

    def remove(self, entry: int) -> None: ...

    def entry(self, entry: int) -> tuple[int, int, int, bool, int]:
        """Runner, phase, priority, enabled, calls."""

    def order(self) -> list[int]:
        """Every entry in the order of a step that all runners share."""

    def wake(self, time_ns: int, entry: int = -1) -> None: ...

    @property
    def wakeups(self) -> list[tuple[int, int]]:
        """Pending wake-ups as (time, entry or -1), earliest first."""

    @wakeups.setter
    def wakeups(self, arg: Sequence[tuple[int, int]], /) -> None: ...

    @property
    def now(self) -> int: ...

    @now.setter
    def now(self, arg: int, /) -> None: ...

    @property
    def last_instant(self) -> int: ...

    @last_instant.setter
    def last_instant(self, arg: int, /) -> None: ...

    @property
    def instants(self) -> int: ...

    @instants.setter
    def instants(self, arg: int, /) -> None: ...

    @property
    def shared_instants(self) -> int: ...

    @property
    def inside(self) -> bool: ...

    @property
    def next_instant(self) -> int: ...

    def skip_to(self, time_ns: int) -> None: ...

    def preview(self, until: int, most: int) -> list[tuple[int, int]]:
        """
        The instants before `until` as (time, due runners as bits); runs nothing.
        """

    def run(self, until: int = ..., leave: int = -1, instants: int = ..., runner: int = -1, steps: int = 0, budget_ns: int = ..., paced: bool = False, wall_anchor: int = 0, sim_anchor: int = 0, measure_every: int = 1, catch_interrupt: bool = False) -> tuple[str, int, int, int | None, BaseException | None]:
        """
        Runs instants up to the limits: how it ended, how many, wall time used, who failed and why.
        """

    def stop(self) -> None:
        """Ends the run after this instant."""

    def request_changes(self) -> None:
        """Calls the hook `changes` at the end of this instant."""

    def wall(self) -> int: ...

    def hook(self, name: str, function: object | None) -> None:
        """
        Sets a hook: changes, inputs, begin, end, call, feed, mark, error, wall, sleep.
        """

    @property
    def feed_at(self) -> int:
        """
        The hook `feed` is called once, at the beginning of the first instant at or after this time, before the inbox is drained.
        """

    @feed_at.setter
    def feed_at(self, arg: int, /) -> None: ...

    @property
    def mark_at(self) -> int:
        """
        The hook `mark` is called once, at the end of the first instant at or after this time.
        """

    @mark_at.setter
    def mark_at(self, arg: int, /) -> None: ...

    def set_swarm(self, swarm: object) -> None: ...

    def set_inbox(self, inbox: mainspring._kernel.inbox.Inbox) -> None: ...

    def runner_costs(self, id: int) -> tuple[int, float, int, int, int]:
        """
        Samples, mean, p50, p99 and maximum cost of the instants a runner was due in.
        """

    def lateness(self, id: int) -> tuple[int, float, int, int, int]: ...

    def entry_costs(self, entry: int) -> tuple[int, float, int, int, int]: ...

    def clear_costs(self) -> None: ...

"""The clock, slow and obvious: what `TimeManager` and the kernel are checked against.

Every boundary is computed from the formula when it is needed, every instant sorts everything
anew, and nothing is cached. The labels are those of docs/concepts/instant.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

SECOND = 1_000_000_000
NEVER = 2**63 - 1


@dataclass
class ModelRunner:
    id: int
    name: str
    rate: Fraction
    origin: int
    next_k: int
    steps: int = 0
    skipped: int = 0

    def boundary(self, k: int) -> int:
        return self.origin + k * SECOND * self.rate.denominator // self.rate.numerator

    @property
    def next(self) -> int:
        return self.boundary(self.next_k)

    @property
    def dt(self) -> int:
        k = max(self.next_k - 1, 0)
        return self.boundary(k + 1) - self.boundary(k)


@dataclass(eq=False)
class ModelRegistration:
    name: str
    runner: int
    phase: int
    priority: int
    enabled: bool
    order: int = -1
    removed: bool = False
    act: Callable[[], None] | None = None
    cost: int = 0


@dataclass
class Model:
    """One timeline."""

    now: int = 0
    last: int = -1
    wall: int = 0
    mode: str = "sim_realtime"
    budget: int = 12_000_000
    max_delta: int = 250_000_000
    inside: bool = False
    runners: dict[int, ModelRunner] = field(default_factory=dict)
    registrations: list[ModelRegistration] = field(default_factory=list)
    wakeups: list[tuple[int, ModelRegistration | None]] = field(default_factory=list)
    changes: list[Callable[[], None]] = field(default_factory=list)
    predicted: dict[tuple[int, ...], float] = field(default_factory=dict)
    ran: list[tuple[int, str, int, int]] = field(default_factory=list)
    instants: int = 0
    orders: int = 0

    # -- building

    def change(self, what: Callable[[], None]) -> None:
        if self.inside:
            self.changes.append(what)
        else:
            what()

    def begin_beat(self, runner: ModelRunner) -> None:
        runner.origin = self.now
        runner.next_k = 1 if self.last == self.now else 0

    def add_runner(self, name: str, rate: Fraction) -> int:
        free = min(i for i in range(8) if i not in self.runners)
        runner = ModelRunner(free, name, rate, self.now, 0)
        self.begin_beat(runner)
        self.runners[free] = runner
        return free

    def remove_runner(self, runner: int) -> None:
        self.change(lambda: self.runners.pop(runner))

    def set_rate(self, runner: int, rate: Fraction) -> None:
        def change() -> None:
            found = self.runners[runner]
            if found.rate != rate:
                found.rate = rate
                self.begin_beat(found)

        self.change(change)

    def register(self, registration: ModelRegistration) -> None:
        self.registrations.append(registration)

        def change() -> None:
            registration.order = self.orders
            self.orders += 1

        self.change(change)

    def move(
        self, registration: ModelRegistration, runner: int | None, phase: int, priority: int
    ) -> None:
        def change() -> None:
            registration.runner = registration.runner if runner is None else runner
            registration.phase, registration.priority = phase, priority

        self.change(change)

    def enable(self, registration: ModelRegistration, on: bool) -> None:
        def change() -> None:
            registration.enabled = on

        self.change(change)

    def remove(self, registration: ModelRegistration) -> None:
        def change() -> None:
            registration.removed = True

        self.change(change)

    def wake(self, time: int, registration: ModelRegistration | None) -> None:
        self.wakeups.append((time, registration))

    # -- running

    def next_instant(self) -> int:
        times = [r.next for r in self.runners.values()] + [time for time, _ in self.wakeups]
        return min(times, default=NEVER)

    def due_at(self, time: int) -> list[int]:
        return sorted(r.id for r in self.runners.values() if r.next == time)

    def instant(self, time: int) -> None:
        begun = self.wall
        self.now = time
        self.inside = True
        due = self.due_at(time)  # I4
        for runner in due:
            self.runners[runner].next_k += 1
            self.runners[runner].steps += 1
        woken = [r for at, r in self.wakeups if at <= time and r is not None]
        self.wakeups = [w for w in self.wakeups if w[0] > time]
        plan = [
            r
            for r in self.registrations
            if r.enabled and not r.removed and r.order >= 0 and (r.runner in due or r in woken)
        ]
        plan.sort(key=lambda r: (r.phase, r.priority, r.order))  # I5
        for registration in plan:
            runner = self.runners[registration.runner]
            self.ran.append((time, registration.name, runner.next_k - 1, runner.dt))
            self.wall += registration.cost
            if registration.act is not None:
                registration.act()
        self.last = time
        while self.changes:  # I6
            self.changes.pop(0)()
        cost = float(self.wall - begun)
        key = tuple(due)
        before = self.predicted.get(key)
        self.predicted[key] = cost if before is None else before + (cost - before) * 0.125
        self.instants += 1
        self.inside = False

    def run(
        self,
        until: int = NEVER,
        leave: int | None = None,
        instants: int = NEVER,
        steps: tuple[int, int] | None = None,
        budget: int | None = None,
    ) -> str:
        done, used = 0, 0
        first = self.runners[steps[0]].steps if steps else 0
        while True:
            if done >= instants:
                return "counted"
            time = self.next_instant()  # I1
            if time >= until or time == NEVER:
                break
            predicted = self.predicted.get(tuple(self.due_at(time)), 0.0)
            if budget is not None and done and float(used) + predicted > budget:
                self.now = max(self.now, time)
                return "budget"
            begun = self.wall
            self.instant(time)
            used += self.wall - begun
            done += 1
            if steps and steps[0] not in self.runners:
                return "stopped"
            if steps and self.runners[steps[0]].steps - first >= steps[1]:
                return "counted"
        if leave is not None:
            self.now = max(self.now, leave)
        return "reached"

    def skip_to(self, time: int) -> int:
        start = self.now
        if time <= start:
            return 0
        for runner in self.runners.values():
            while runner.next < time:
                runner.next_k += 1
                runner.skipped += 1
        self.now = time
        self.wakeups = [(max(at, time), r) for at, r in self.wakeups]
        return time - start

    def frame(self, elapsed: int, most: int) -> tuple[int, int]:
        """F2 to F4; how much was forgiven and how much skipped."""
        start = self.now
        if self.mode == "sim_high_performance":
            self.run(instants=most, budget=self.budget)
            return 0, 0
        until = start + min(elapsed, self.max_delta)
        self.run(until=until, leave=until, budget=self.budget)
        behind = start + elapsed - self.now
        if self.mode == "game_realtime":
            return 0, self.skip_to(self.now + behind)
        return max(0, behind), 0

    def alpha(self, runner: int) -> float:
        r = self.runners[runner]
        if r.next_k == 0:
            return 0.0
        last = r.boundary(r.next_k - 1)
        if self.now <= last:
            return 0.0
        if self.now >= r.next:
            return 1.0 - 2.0**-53
        return (self.now - last) / (r.next - last)

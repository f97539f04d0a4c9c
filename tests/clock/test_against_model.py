"""The clock against its slow model: random programs, and no difference in anything they can see."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.model.clock import NEVER, Model, ModelRegistration

from mainspring.clock import Registration, RunnerError, TimeManager, TimeMode, _frame

MOST_A_FRAME = 40  # of unbounded frames, so that the slow model keeps up

rates = st.one_of(
    st.sampled_from([Fraction(n) for n in (1000, 500, 200, 60, 50, 30, 25, 7)]),
    st.sampled_from([Fraction(2997, 100), Fraction(30000, 1001), Fraction(1, 3)]),
    st.fractions(min_value=Fraction(1, 10), max_value=2000, max_denominator=997),
)
phases = st.integers(0, 4)
priorities = st.integers(-3, 3)
modes = st.sampled_from([m.value for m in TimeMode])


class ClockMachine(RuleBasedStateMachine):
    """Does the same to both, and compares."""

    registrations = Bundle("registrations")

    @initialize()
    def begin(self) -> None:
        self.real = TimeManager()
        self.real.measure_every = 1  # the model knows what every instant costs
        self.model = Model()
        self.wall = 0
        self.ran: list[tuple[int, str, int, int]] = []
        self.real.use_wall(lambda: self.wall, lambda until: None)
        self.model.add_runner("Robot", Fraction(50))
        self.model.add_runner("Capture", Fraction(30))
        self.named = 0
        self.pairs: list[tuple[Registration, ModelRegistration]] = []

    # -- what is registered

    @rule(
        target=registrations,
        pick=st.integers(0, 7),
        phase=phases,
        priority=priorities,
        enabled=st.booleans(),
        cost=st.sampled_from([0, 1_000, 400_000, 5_000_000]),
        acts=st.lists(
            st.tuples(st.integers(0, 7), st.integers(0, 7), phases, priorities, rates), max_size=4
        ),
    )
    def register(
        self, pick: int, phase: int, priority: int, enabled: bool, cost: int, acts: list[Any]
    ) -> int:
        runner = self.some_runner(pick)
        name = f"r{self.named}"
        self.named += 1
        todo_real, todo_model = list(acts), list(acts)

        def callback(context: Any) -> None:
            self.ran.append((context.time, name, context.step, context.dt))
            self.wall += cost
            if todo_real:
                self.act_real(todo_real.pop(0), real)

        def act() -> None:
            if todo_model:
                self.act_model(todo_model.pop(0), model)

        model = ModelRegistration(name, runner, phase, priority, enabled, act=act, cost=cost)
        real = self.real.register(
            callback, runner=runner, phase=phase, priority=priority, name=name, enabled=enabled
        )
        self.model.register(model)
        self.pairs.append((real, model))
        return len(self.pairs) - 1

    def act_real(self, what: tuple[int, int, int, int, Fraction], own: Registration) -> None:
        kind, number, phase, priority, rate = what
        if kind == 0:
            own.disable()
        elif kind == 1:
            own.move(phase=phase, priority=priority)
        elif kind == 2:
            self.real.runners.set_rate(own.runner, rate)
        elif kind == 3:
            self.real.request_wakeup(self.real.now + 1 + number * 1_234_567)
        elif kind == 4:
            self.real.request_wakeup(self.real.now + 1 + number * 777_777, own)
        elif kind == 5:
            own.remove()
        elif kind == 7:
            runner = own.runner
            own.remove()
            with contextlib.suppress(RunnerError):  # others run on it, or it is the last
                self.real.runners.remove(runner)
        else:
            for other, _ in self.pairs[number:]:
                if other.callback is not None:
                    other.enabled = not other.enabled
                    break

    def act_model(self, what: tuple[int, int, int, int, Fraction], own: ModelRegistration) -> None:
        kind, number, phase, priority, rate = what
        if kind == 0:
            self.model.enable(own, False)
        elif kind == 1:
            self.model.move(own, None, phase, priority)
        elif kind == 2:
            self.model.set_rate(own.runner, rate)
        elif kind == 3:
            self.model.wake(self.model.now + 1 + number * 1_234_567, None)
        elif kind == 4:
            self.model.wake(self.model.now + 1 + number * 777_777, own)
        elif kind == 5:
            self.gone.add(own.name)
            self.model.remove(own)
        elif kind == 7:
            self.gone.add(own.name)
            self.model.remove(own)
            if self.may_go(own.runner):
                self.going.add(own.runner)
                self.model.remove_runner(own.runner)
        else:
            for _, other in self.pairs[number:]:
                if other.name not in self.gone:
                    self.model.enable(other, not other.enabled)
                    break

    @initialize()
    def nothing_gone(self) -> None:
        self.gone: set[str] = set()
        self.going: set[int] = set()  # runners, until their instant is over

    def may_go(self, runner: int) -> bool:
        used = any(m.runner == runner and m.name not in self.gone for _, m in self.pairs)
        return len(self.model.runners) - len(self.going) > 1 and not used

    def some_runner(self, pick: int) -> int:
        ids = sorted(self.model.runners)
        return ids[pick % len(ids)]

    def alive(self, index: int) -> bool:
        return self.pairs[index][1].name not in self.gone

    @rule(index=registrations, pick=st.integers(0, 7), phase=phases, priority=priorities)
    def move(self, index: int, pick: int, phase: int, priority: int) -> None:
        if self.alive(index):
            real, model = self.pairs[index]
            runner = self.some_runner(pick)
            real.move(runner=runner, phase=phase, priority=priority)
            self.model.move(model, runner, phase, priority)

    @rule(index=registrations, on=st.booleans())
    def enable(self, index: int, on: bool) -> None:
        if self.alive(index):
            real, model = self.pairs[index]
            real.enabled = on
            self.model.enable(model, on)

    @rule(index=registrations)
    def remove(self, index: int) -> None:
        if self.alive(index):
            real, model = self.pairs[index]
            self.gone.add(model.name)
            real.remove()
            self.model.remove(model)

    # -- runners

    @precondition(lambda self: len(self.model.runners) < 8)
    @rule(rate=rates)
    def add_runner(self, rate: Fraction) -> None:
        name = f"n{self.named}"
        self.named += 1
        assert self.real.runners.add(name, rate).id == self.model.add_runner(name, rate)

    @rule(pick=st.integers(0, 7))
    def remove_runner(self, pick: int) -> None:
        runner = self.some_runner(pick)
        if self.may_go(runner):
            self.real.runners.remove(runner)
            self.model.remove_runner(runner)

    @rule(pick=st.integers(0, 7), rate=rates)
    def set_rate(self, pick: int, rate: Fraction) -> None:
        runner = self.some_runner(pick)
        self.real.runners[runner].rate = rate
        self.model.set_rate(runner, rate)

    # -- time

    @rule(delay=st.integers(1, 60_000_000))
    def wake(self, delay: int) -> None:
        self.real.request_wakeup(self.real.now + delay)
        self.model.wake(self.model.now + delay, None)

    @rule(index=registrations, delay=st.integers(1, 60_000_000))
    def wake_registration(self, index: int, delay: int) -> None:
        if self.alive(index):
            real, model = self.pairs[index]
            self.real.request_wakeup(self.real.now + delay, real)
            self.model.wake(self.model.now + delay, model)

    @rule(ns=st.integers(0, 90_000_000))
    def advance(self, ns: int) -> None:
        self.real.advance(ns=ns)
        end = self.model.now + ns
        self.model.run(until=end, leave=end)
        self.settle()

    @rule(instants=st.integers(0, 12))
    def advance_instants(self, instants: int) -> None:
        self.real.advance(instants=instants)
        self.model.run(instants=instants)
        self.settle()

    @rule(pick=st.integers(0, 7), steps=st.integers(1, 3))
    def advance_steps(self, pick: int, steps: int) -> None:
        runner = self.some_runner(pick)
        if self.model.runners[runner].rate < 5:
            return
        self.real.advance(steps=steps, runner=runner)
        self.model.run(steps=(runner, steps))
        self.settle()

    @rule(elapsed=st.integers(0, 400_000_000), mode=modes, budget=st.integers(1, 15_000_000))
    def frame(self, elapsed: int, mode: str, budget: int) -> None:
        if mode == "game_realtime":
            elapsed %= 60_000_000
        self.real.mode = TimeMode.parse(mode)
        self.model.mode = mode
        self.real.frame_budget_ns = self.model.budget = budget
        most, _frame.MOST_INSTANTS = _frame.MOST_INSTANTS, MOST_A_FRAME
        try:
            report = self.real.frame(elapsed)
        finally:
            _frame.MOST_INSTANTS = most
        assert (report.forgiven_ns, report.skipped_ns) == self.model.frame(elapsed, MOST_A_FRAME)
        self.settle()

    def settle(self) -> None:
        assert self.ran == self.model.ran
        assert self.wall == self.model.wall
        self.ran.clear()
        self.going.clear()
        self.model.ran.clear()

    # -- what both must agree on, always

    @invariant()
    def same_place(self) -> None:
        if not hasattr(self, "real"):
            return
        assert self.real.now == self.model.now
        assert self.real.instants == self.model.instants
        upcoming = self.real.next_instant
        assert (NEVER if upcoming is None else upcoming) == self.model.next_instant()
        for runner in self.real.runners:
            assert runner.alpha == self.model.alpha(runner.id)
            assert runner.next_ns == self.model.runners[runner.id].next

    @invariant()
    def saved_state_is_whole(self) -> None:
        if not hasattr(self, "real"):
            return
        state = self.real.save()
        self.real.restore(state)
        assert self.real.save() == state


TestClockAgainstModel = ClockMachine.TestCase
TestClockAgainstModel.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)

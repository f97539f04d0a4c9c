"""The time manager: one timeline, its runners, and everything that runs on it.

The promise is docs/concepts/instant.md: its labelled lines (I1 to I7, F1 to F5) stand beside
the code that keeps them, here and in kernel/clock/timeline.hpp. What was registered runs at
its runner's boundaries in the order of phase, priority and registration; changes asked for
inside an instant wait for the next one; nothing runs twice, and nothing is summed.

    >>> time = TimeManager()
    >>> seen = []
    >>> _ = time.register(lambda context: seen.append(context.time), runner="Capture")
    >>> _ = time.advance(ns=70_000_000)
    >>> seen
    [0, 33333333, 66666666]
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from mainspring._kernel.clock import StepContext, Timeline
from mainspring._kernel.threads import current_contexts
from mainspring.clock._frame import run_frame
from mainspring.clock._free import FrameContext
from mainspring.clock._inbox import Inbox, Input
from mainspring.clock._observers import Observers, raised_in
from mainspring.clock._progress import progress_bar
from mainspring.clock._rate import Rate, RateLike
from mainspring.clock._registration import (
    FreeRegistration,
    OnError,
    Registration,
    check_callback,
    check_on_error,
    check_priority,
)  # fmt: skip
from mainspring.clock._reports import FrameReport, Instant, OrderEntry, RunReport, Statistics
from mainspring.clock._runner import Runner, Runners
from mainspring.clock._saved import put_back, restore, save
from mainspring.clock._times import LAST_NS, Time, time_ns, whole
from mainspring.clock._views import order, preview, statistics
from mainspring.clock._words import FreePhase, Phase, RunEnd, TimeMode
from mainspring.clock.errors import (
    CallbackError,
    ClockError,
    IncompleteError,
    NestedAdvanceError,
    OwnerThreadError,
    RegistrationError,
    RunnerError,
    TimeError,
)  # fmt: skip
from mainspring.errors import thread_row

__all__ = ["DEFAULT_RUNNERS", "TimeManager"]

DEFAULT_RUNNERS: tuple[tuple[str, RateLike], ...] = (("Robot", 50), ("Capture", 30))

# Unpaced, one instant in this many is measured: two clock reads cost more than a callback.
_SAMPLE_EVERY = 64
_NEVER = 2**63 - 1


class TimeManager:
    """One timeline. A scene has exactly one, as `scene.time`."""

    def __init__(
        self,
        *,
        runners: Iterable[tuple[str, RateLike]] = DEFAULT_RUNNERS,
        mode: TimeMode | str = TimeMode.SIM_REALTIME,
        name: str = "scene",
        inbox: Inbox | None = None,
    ) -> None:
        self.name = name
        self._mode = TimeMode.parse(mode)
        self._frame_budget_ns = 12_000_000
        self._max_frame_delta_ns = 250_000_000
        self._frame_rate = Rate(60)
        self.measure_every = _SAMPLE_EVERY
        """Outside frames, one instant in this many is measured for `statistics()`."""
        self.free_check: Callable[[], object] | None = None
        """Called before and after each free update; a difference is an error."""
        self._kernel = Timeline()
        self._owner = threading.get_ident()
        self._changes: list[Callable[[], None]] = []
        self._registrations: list[Registration] = []
        self._free: list[FreeRegistration] = []
        self._failure: CallbackError | None = None
        self._applying: Input | None = None
        self._running = False
        self._in_free = False
        self._stop = False
        self._ending = "reached"
        self._used_ns = 0
        self._frames = 0
        self._forgiven_ns = 0
        self._skipped_ns = 0
        self.inbox = Inbox() if inbox is None else inbox
        self.observers = Observers(self._kernel)
        self.runners = Runners(self)
        self._kernel.set_swarm(self.runners)
        self._kernel.set_inbox(self.inbox.queue)
        self._kernel.hook("changes", self._apply_changes)
        self._kernel.hook("inputs", self._apply_inputs)
        self._kernel.hook("error", self._note_error)
        for runner_name, rate in runners:
            self.runners.add(runner_name, rate)
        if not self.runners:
            raise RunnerError(f"scene {name!r} has no runner", hint="it has one to eight")

    # -- what runs -----------------------------------------------------------------------

    def register(
        self,
        callback: Callable[[StepContext], object],
        *,
        runner: Runner | int | str = "Robot",
        phase: Phase | int | str = Phase.CONTROL,
        priority: int = 0,
        name: str | None = None,
        enabled: bool = True,
        on_error: OnError = "stop",
        watching: bool = False,
    ) -> Registration:
        """Runs `callback(context)` at every boundary of `runner`.

        With `watching` the callback promises to look and never touch; its registration is then
        no part of the state, so a recorder may be added to the replay of a run without one."""
        return self._register(
            callback, runner=runner, phase=phase, priority=priority, name=name, enabled=enabled,
            on_error=on_error, watching=watching,
        )  # fmt: skip

    def _register(
        self,
        callback: Callable[..., object],
        *,
        runner: Runner | int | str = 0,
        phase: Phase | int | str = Phase.CONTROL,
        priority: int = 0,
        name: str | None = None,
        enabled: bool = True,
        on_error: OnError = "stop",
        wants_ts: bool = False,
        watching: bool = False,
    ) -> Registration:
        self._check_owner("register")
        registration = Registration(
            self, callback, self.runners[runner], Phase.parse(phase), check_priority(priority),
            check_callback(callback, name), bool(enabled), check_on_error(on_error), watching,
        )  # fmt: skip

        def change() -> None:
            if registration._manager is None:
                return  # removed before it ever took effect
            registration._entry = self._kernel.add(
                callback, registration, registration._runner.id, registration._phase,
                registration._priority, registration._enabled, wants_ts, on_error == "disable",
            )  # fmt: skip

        self._registrations.append(registration)
        self._change(change)
        return registration

    def register_free(
        self,
        callback: Callable[[FrameContext], object],
        phase: FreePhase | int | str = FreePhase.PRE_ACQUISITION,
        priority: int = 0,
        *,
        name: str | None = None,
        enabled: bool = True,
        on_error: OnError = "stop",
    ) -> FreeRegistration:
        """Runs `callback(frame)` once a frame, before or after its instants."""
        self._check_owner("register_free")
        free = FreeRegistration(
            self, callback, FreePhase.parse(phase), check_priority(priority),
            check_callback(callback, name), bool(enabled), check_on_error(on_error),
        )  # fmt: skip
        self._free.append(free)
        return free

    @property
    def registrations(self) -> tuple[Registration, ...]:
        """Every registration, in the order they were made."""
        return tuple(self._registrations)

    def _remove(self, registration: Registration) -> None:
        self._check_owner("removing a registration")
        registration._manager = None
        registration._callback = None

        def change() -> None:
            self._registrations.remove(registration)
            if registration._entry >= 0:
                self._kernel.remove(registration._entry)

        self._change(change)

    def request_wakeup(self, time_ns: int, registration: Registration | None = None) -> None:
        """Makes `time_ns` an instant, in which `registration`, when given, runs at its place in
        phase and priority even though its runner is not due."""
        self._check_owner("request_wakeup")
        earliest = self.now if self._kernel.last_instant < self.now else self.now + 1
        if whole(time_ns, "the time of a wake-up, in nanoseconds,", least=-LAST_NS) < earliest:
            raise TimeError(
                f"a wake-up at {time_ns} ns lies in the past",
                hint=f"the earliest instant still to come is {earliest} ns",
            )
        if registration is not None and registration._alive() is not self:
            raise RegistrationError(f"{registration!r} belongs to another clock")
        if registration is None:
            self._kernel.wake(time_ns)
        elif registration._entry >= 0:
            self._kernel.wake(time_ns, registration._entry)
        else:  # registered inside this very instant: it takes its place at I6
            self._change(lambda: self._kernel.wake(time_ns, registration._entry))

    # -- where it is ---------------------------------------------------------------------

    @property
    def mode(self) -> TimeMode:
        """How time advances against the wall clock; a mode or its name may be assigned."""
        return self._mode

    @mode.setter
    def mode(self, mode: TimeMode | str) -> None:
        self._check_owner("changing the time mode")
        self._mode = TimeMode.parse(mode)

    @property
    def frame_budget_ns(self) -> int:
        """How much wall time the instants of one frame may take."""
        return self._frame_budget_ns

    @frame_budget_ns.setter
    def frame_budget_ns(self, ns: int) -> None:
        self._check_owner("changing the frame budget")
        self._frame_budget_ns = whole(ns, "frame_budget_ns", least=1)

    @property
    def max_frame_delta_ns(self) -> int:
        """How much wall time one frame may bring in."""
        return self._max_frame_delta_ns

    @max_frame_delta_ns.setter
    def max_frame_delta_ns(self, ns: int) -> None:
        self._check_owner("changing the longest frame")
        self._max_frame_delta_ns = whole(ns, "max_frame_delta_ns", least=1)

    @property
    def frame_rate(self) -> Rate:
        """How often `run` begins a frame."""
        return self._frame_rate

    @frame_rate.setter
    def frame_rate(self, rate: RateLike) -> None:
        self._check_owner("changing the frame rate")
        self._frame_rate = Rate(rate)

    @property
    def now(self) -> int:
        """Sim time, in nanoseconds since the start of the run."""
        return self._kernel.now

    @property
    def next_instant(self) -> int | None:
        """When something is due next; None when nothing ever is."""
        found = self._kernel.next_instant
        return None if found == _NEVER else found

    @property
    def inside(self) -> bool:
        """Whether an instant is under way."""
        return self._kernel.inside

    @property
    def context(self) -> StepContext | None:
        """The context of the callback that is running; None outside callbacks."""
        return self._kernel.current_context

    @property
    def instants(self) -> int:
        """How many instants have run."""
        return self._kernel.instants

    @property
    def failure(self) -> CallbackError | None:
        """Why the last instant is incomplete; None when it is whole."""
        return self._failure

    # -- looking ahead -------------------------------------------------------------------

    def boundaries(self, until_ns: int) -> Iterator[Instant]:
        """The instants still to come before `until_ns`, in order, without running anything."""
        self._check_owner("boundaries")
        return preview(
            self, whole(until_ns, "the end of a preview, in nanoseconds,", least=-LAST_NS)
        )

    def execution_order(self) -> list[OrderEntry]:
        """Every registration in the order of a step that all runners share."""
        return order(self)

    def statistics(self) -> Statistics:
        """A snapshot of the counters, by runner and by callback."""
        return statistics(self)

    # -- advancing -----------------------------------------------------------------------

    def advance(
        self,
        seconds: Time | None = None,
        *,
        ns: int | None = None,
        instants: int | None = None,
        steps: int | None = None,
        runner: Runner | int | str | None = None,
    ) -> RunReport:
        """Runs deterministically, as fast as it goes: every instant in `[now, now + d)`, or a
        number of instants, or of one runner's steps."""
        given = [g for g in (seconds, ns, instants, steps) if g is not None]
        if len(given) != 1:
            raise ClockError(
                f"advance takes one of seconds, ns, instants or steps, not {len(given)} of them"
            )
        if runner is not None and steps is None:
            raise ClockError("advance takes a runner together with steps")
        limits: dict[str, int] = {}
        if seconds is not None:
            ns = time_ns(seconds)
        if ns is not None:
            end = self._after(ns)
            limits = {"until": end, "leave": end}
        elif instants is not None:
            limits = {"instants": whole(instants, "instants")}
        elif steps is not None:
            chosen = next(iter(self.runners)) if runner is None else self.runners[runner]
            limits = {"runner": chosen.id, "steps": whole(steps, "steps")}
            limits = limits if steps else {"instants": 0}
        before = self._mark()
        ending = self._run(**limits, measure_every=self.measure_every)
        if ending == "interrupted":
            raise KeyboardInterrupt
        return self._report(before, RunEnd.STOPPED if ending == "stopped" else RunEnd.FINISHED)

    def frame(self, elapsed_ns: int) -> FrameReport:
        """One frame after `elapsed_ns` of wall time, in the current mode.

        Ctrl-C inside it raises KeyboardInterrupt when the instant under way and the free updates
        after it are done."""
        self._begin("frame")
        end = self._after(elapsed_ns)
        until = min(end, self.now + self.max_frame_delta_ns)
        unpaced = self.mode is TimeMode.SIM_HIGH_PERFORMANCE
        report = run_frame(self, elapsed_ns, None if unpaced else until, lambda: end - self.now)
        if self._ending == "interrupted":
            raise KeyboardInterrupt
        return report

    def run(
        self,
        seconds: Time | None = None,
        *,
        mode: TimeMode | str | None = None,
        progress: Callable[[RunReport], object] | bool = False,
    ) -> RunReport:
        """Runs the outer loop for real, frame after frame, until the end, Ctrl-C or `stop`.

        `progress` is told how far it is ten times a second; True shows a bar."""
        from mainspring.clock._pacing import run_loop

        if mode is not None:
            self.mode = TimeMode.parse(mode)
        end = _NEVER if seconds is None else self._after(time_ns(seconds))
        if progress is True:
            with progress_bar(self, None if seconds is None else end - self.now) as tell:
                return run_loop(self, end, tell)
        return run_loop(self, end, progress or None)

    def stop(self) -> None:
        """Ends the run that is under way, after this instant. May be called from any thread."""
        self._stop = True
        self._kernel.stop()

    def skip_to(self, time_ns: int) -> int:
        """Jumps to `time_ns` without running what lies between; returns how far it jumped.

        Game mode does this when it cannot keep up, and a replay does it again."""
        self._begin("skip_to")
        start = self.now
        if whole(time_ns, "the time to skip to, in nanoseconds,", least=-LAST_NS) <= start:
            return 0
        # Told first: a log that another thread writes must know of the skip before it sees `now`
        # beyond it.
        self.observers.tell_skipped(start, time_ns)
        self._kernel.skip_to(time_ns)
        self._skipped_ns += time_ns - start
        return time_ns - start

    def reset(self, to: dict[str, Any] | None = None) -> None:
        """Back to time 0, with every runner at its first boundary and nothing pending.

        `to`, a state saved before the first instant, gives rates and places back as well; what
        was registered since stays as it is."""
        self._check_outside("reset")
        self.observers.tell_reset()
        self._failure = None
        self._kernel.now = 0
        self._kernel.last_instant = -1
        self._kernel.instants = 0
        self._kernel.wakeups = []
        self._kernel.clear_costs()
        self._frames = self._forgiven_ns = self._skipped_ns = 0
        if to is not None:
            put_back(self, to)
        for runner in self.runners:
            self._set_beat(runner, 0, 0)

    def adopt(self) -> None:
        """Makes the calling thread the one that may touch this clock."""
        if self._running:
            raise OwnerThreadError("the clock is running in another thread", hint="stop it first")
        self._owner = threading.get_ident()

    def use_wall(
        self, wall: Callable[[], int] | None, sleep: Callable[[int], object] | None = None
    ) -> None:
        """Takes wall time from `wall()` (ns) and waits with `sleep(until_ns)`; None for the real
        ones. With these a paced run is tested in no time at all."""
        self._kernel.hook("wall", wall)
        self._kernel.hook("sleep", sleep)

    def wall(self) -> int:
        """Wall time in nanoseconds: monotonic, or what `use_wall` set."""
        return self._kernel.wall()

    # -- state ---------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Everything the rest of the run depends on."""
        return save(self)

    def restore(self, state: dict[str, Any]) -> None:
        """Leaves the clock as it was when `state` was saved; the same registrations must be there."""
        self._check_outside("restore")
        restore(self, state)

    # -- inside --------------------------------------------------------------------------

    def _set_beat(self, runner: Runner, origin: int, k: int) -> None:
        hertz = runner._rate.hertz
        self._kernel.set_runner(
            runner.id, hertz.numerator, hertz.denominator, origin, k, runner, runner._rate.seconds
        )

    def _begin_beat(self, runner: Runner) -> None:
        # A boundary at an instant that has run already, or is ending, would make it run twice.
        now = self.now
        self._set_beat(runner, now, 1 if self._kernel.last_instant == now else 0)

    def _skip_first_boundary(self) -> None:
        for runner in self.runners:
            self._set_beat(runner, 0, 1)

    def _change(self, change: Callable[[], None]) -> None:
        """Does `change` at once, or at the end of the instant that is under way (I6)."""
        if self._kernel.inside:
            self._changes.append(change)
            self._kernel.request_changes()
        else:
            change()

    def _apply_changes(self) -> None:  # I6
        while self._changes:
            self._changes.pop(0)()

    def _apply_inputs(self, time_ns: int) -> None:  # I3
        given: list[Input] = self.inbox.drain()
        self.observers.tell_inputs(time_ns, given)
        for self._applying in given:
            self.inbox.apply(self._applying)
        self._applying = None

    def _note_error(self, registration: Registration, error: BaseException) -> None:
        registration.error = error
        registration._enabled = False
        self.observers.tell_error(registration, error)

    def _run(self, **limits: Any) -> str:
        """The one door into the kernel's loop; returns how it ended."""
        self._begin("advance")
        self._running = True
        try:
            ending, _, self._used_ns, entry, error = self._kernel.run(
                **limits, catch_interrupt=_holds_ctrl_c()
            )
        finally:
            self._running = False
        if error is not None and ending == "interrupted":
            raise error  # a signal handler's, between two instants
        if error is not None:
            self._fail(entry, error)
        return ending

    def _after(self, ns: int) -> int:
        return self.now + whole(ns, "the time to run, in nanoseconds,", most=LAST_NS - self.now)

    def _check_outside(self, what: str) -> None:
        self._check_owner(what)
        if self._in_free:
            raise NestedAdvanceError(
                f"{what} was called from inside a free update",
                hint="free updates look, never touch: call it from where the frame is run",
            )
        if self._kernel.inside or self._running:
            raise NestedAdvanceError(
                f"{what} was called from inside a callback",
                hint="let the callback return; to run more afterwards, call it from where the "
                "scene is advanced, or ask for request_wakeup(time_ns)",
            )

    def check_whole(self, what: str) -> None:
        """Refuses `what` while the last instant is incomplete."""
        if self._failure is not None:
            raise IncompleteError(
                f"{what}: scene {self.name!r} stopped inside the instant at "
                f"{self._kernel.last_instant / 1e9:.9f} s, because {self._failure.message}",
                hint="call scene.reset() to begin again",
            ) from self._failure

    def _begin(self, what: str) -> None:
        self._check_outside(what)
        self.check_whole(what)

    def _fail(self, entry: int | None, error: BaseException) -> NoReturn:
        registration = next((r for r in self._registrations if r._entry == entry), None)
        self._failure = failure = self._name_failure(registration, error)
        self._applying = None
        # What the broken instant asked for is done, so that this side and the kernel agree.
        self._apply_changes()
        self.observers.tell_error(registration, error)
        if not isinstance(error, Exception):
            raise error  # KeyboardInterrupt, SystemExit: ends more than the run
        raise failure from error

    def _name_failure(
        self, registration: Registration | None, error: BaseException
    ) -> CallbackError:
        broken = "the instant is incomplete: mend"
        again = "and call scene.reset()"
        time_ns = self._kernel.last_instant
        if registration is not None:
            return CallbackError(
                scene=self.name, what=f"callback {registration.name!r}",
                callback=registration.name, runner=registration.runner.name,
                phase=str(registration.phase), step=registration.runner.step, time_ns=time_ns,
                cause=error, hint=f"{broken} the callback {again}, "
                'or register it with on_error="disable"',
            )  # fmt: skip
        if self._applying is not None:
            given = self._applying
            sender = f" from {given.source!r}" if given.source else ""
            return CallbackError(
                scene=self.name, what=f"input {given.seq} of kind {given.kind!r}{sender}",
                callback=given.kind, time_ns=time_ns, cause=error,
                hint=f"{broken} the handler of {given.kind!r} {again}",
            )  # fmt: skip
        name = raised_in(error)
        return CallbackError(
            scene=self.name, what=f"observer {name}", callback=name, time_ns=time_ns,
            cause=error, hint=f"{broken} the observer {again}",
        )  # fmt: skip

    def _check_owner(self, what: str) -> None:
        if threading.get_ident() != self._owner:
            raise OwnerThreadError(
                f"{what} was called on thread {threading.current_thread().name!r}, "
                f"which does not own the clock of {self.name!r}\n"
                f"the row: {thread_row(current_contexts())}",
                hint="put an input into the inbox instead (scene.inbox.put, from any thread), or "
                "call time.adopt() on this thread while nothing runs",
            )

    def _mark(self) -> tuple[int, int, dict[Runner, int], int, int]:
        counts = {r: self._kernel.counts(r.id)[0] for r in self.runners}
        return self.now, self.instants, counts, self._kernel.shared_instants, self.wall()

    def _report(
        self,
        before: tuple[int, int, dict[Runner, int], int, int],
        reason: RunEnd,
        *,
        frames: int = 0,
        forgiven_ns: int = 0,
        skipped_ns: int = 0,
    ) -> RunReport:
        start, instants, counts, shared, wall = before
        return RunReport(
            reason=reason,
            start_ns=start,
            end_ns=self.now,
            instants=self.instants - instants,
            shared=self._kernel.shared_instants - shared,
            steps={r.name: self._kernel.counts(r.id)[0] - counts.get(r, 0) for r in self.runners},
            frames=frames,
            wall_ns=self.wall() - wall,
            forgiven_ns=forgiven_ns,
            skipped_ns=skipped_ns,
        )


def _holds_ctrl_c() -> bool:
    """Whether Ctrl-C is Python's own to handle here: then it waits for the end of the instant."""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )

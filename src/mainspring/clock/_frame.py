"""A frame: free updates around as many instants as are due and fit the budget.

The labels F1 to F5 are those of docs/concepts/instant.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mainspring.clock._free import FrameContext
from mainspring.clock._reports import FrameReport
from mainspring.clock._words import FreePhase, TimeMode
from mainspring.clock.errors import CallbackError, ClockError

if TYPE_CHECKING:
    from mainspring.clock._manager import TimeManager
    from mainspring.clock._registration import FreeRegistration

__all__ = ["run_frame"]

# Of a frame that is bounded by its budget alone: a wall clock that stands still must not hang it.
MOST_INSTANTS = 1_000_000


def run_frame(
    time: TimeManager,
    elapsed_ns: int,
    until: int | None,
    behind: Callable[[], int],
    **pacing: Any,
) -> FrameReport:
    """Runs the instants before `until` as far as the budget goes; then `behind()` says how far sim
    time is behind the wall clock, which is forgiven or skipped."""
    start, instants, mode = time.now, time.instants, time.mode
    before = {r: time._kernel.counts(r.id) for r in time.runners}
    time.observers.tell_begin_frame(elapsed_ns)
    _run_free(time, FreePhase.PRE_ACQUISITION, elapsed_ns)  # F1
    limits = (
        {"instants": MOST_INSTANTS} if until is None else {"until": until, "leave": until}
    )  # F2
    time._ending = time._run(**limits, budget_ns=time.frame_budget_ns, **pacing)  # F3
    used_ns = time._used_ns
    skipped_ns = forgiven_ns = 0
    if time._ending in ("reached", "budget"):  # F4
        if mode is TimeMode.GAME_REALTIME:
            skipped_ns = time.skip_to(time.now + behind())
        elif mode is TimeMode.SIM_REALTIME:
            forgiven_ns = max(0, behind())
            time._forgiven_ns += forgiven_ns
    _run_free(time, FreePhase.POST_EXPORT, elapsed_ns)  # F5
    none = (0, 0, 0, 0)  # of a runner that was added meanwhile
    counted = [(r.name, time._kernel.counts(r.id), before.get(r, none)) for r in time.runners]
    report = FrameReport(
        frame=time._frames,
        elapsed_ns=elapsed_ns,
        now_ns=time.now,
        advanced_ns=time.now - start,
        instants=time.instants - instants,
        steps={name: now[0] - then[0] for name, now, then in counted},
        used_ns=used_ns,
        forgiven_ns=forgiven_ns,
        skipped_ns=skipped_ns,
        skipped={name: now[2] - then[2] for name, now, then in counted},
        alphas={r.name: r.alpha for r in time.runners},
    )
    time._frames += 1
    time.observers.tell_frame(report)
    return report


def _run_free(time: TimeManager, phase: FreePhase, elapsed_ns: int) -> None:
    # order: priority, registration (the sort is stable)
    chosen = sorted(
        (f for f in time._free if f.phase is phase and f.enabled), key=lambda f: f.priority
    )
    if not chosen:
        return
    frame = FrameContext(time, time._frames, elapsed_ns)
    time._in_free = True
    try:
        for free in chosen:
            before = time.free_check() if time.free_check is not None else None
            _call(time, free, frame)
            if time.free_check is not None and time.free_check() != before:
                raise ClockError(
                    f"free update {free.name!r} changed the state of {time.name!r}",
                    hint="free updates may look, never touch: register it with a runner, or put "
                    "an input into the inbox",
                )
    finally:
        time._in_free = False


def _call(time: TimeManager, free: FreeRegistration, frame: FrameContext) -> None:
    try:
        free.callback(frame)
    except Exception as error:
        if free.on_error == "disable":
            free.error, free.enabled = error, False
            return
        raise CallbackError(
            scene=time.name, what=f"free update {free.name!r}", callback=free.name,
            phase=str(free.phase), step=frame.frame, time_ns=time.now, cause=error,
            hint="the simulation is whole and may go on: mend the free update, or register it "
            'with on_error="disable"',
        ) from error  # fmt: skip
    time.observers.tell_free(free)

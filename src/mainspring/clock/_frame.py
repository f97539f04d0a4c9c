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
    start, instants = time.now, time.instants
    counts = {r.id: time._kernel.counts(r.id) for r in time.runners}
    time.observers.tell_begin_frame(elapsed_ns)
    _run_free(time, FreePhase.PRE_ACQUISITION, elapsed_ns)  # F1
    limits = (
        {"instants": MOST_INSTANTS} if until is None else {"until": until, "leave": until}
    )  # F2
    time._ending = time._run(**limits, budget_ns=time.frame_budget_ns, **pacing)  # F3
    used_ns = time._used_ns
    skipped_ns = forgiven_ns = 0
    if time._ending in ("reached", "budget"):  # F4
        if time.mode is TimeMode.GAME_REALTIME:
            skipped_ns = time.skip_to(time.now + behind())
        elif time.mode is TimeMode.SIM_REALTIME:
            forgiven_ns = max(0, behind())
            time._forgiven_ns += forgiven_ns
    _run_free(time, FreePhase.POST_EXPORT, elapsed_ns)  # F5
    after = {r.id: time._kernel.counts(r.id) for r in time.runners}
    none = (0, 0, 0, 0)
    report = FrameReport(
        frame=time._frames,
        elapsed_ns=elapsed_ns,
        now_ns=time.now,
        advanced_ns=time.now - start,
        instants=time.instants - instants,
        steps={r.name: after[r.id][0] - counts.get(r.id, none)[0] for r in time.runners},
        used_ns=used_ns,
        forgiven_ns=forgiven_ns,
        skipped_ns=skipped_ns,
        skipped={r.name: after[r.id][2] - counts.get(r.id, none)[2] for r in time.runners},
        alphas={r.name: r.alpha for r in time.runners},
    )
    time._frames += 1
    time.observers.tell_frame(report)
    return report


def _run_free(time: TimeManager, phase: FreePhase, elapsed_ns: int) -> None:
    # order: priority, registration
    chosen = [f for f in time._free if f.phase is phase and f.enabled]
    if not chosen:
        return
    frame = FrameContext(time, time._frames, elapsed_ns)
    for free in chosen:
        before = time.free_check() if time.free_check is not None else None
        try:
            free.callback(frame)
        except Exception as error:
            raise CallbackError(
                scene=time.name,
                callback=free.name,
                runner="none",
                phase=str(phase),
                step=time._frames,
                time_ns=time.now,
                cause=error,
            ) from error
        time.observers.tell_free(free)
        if time.free_check is not None and time.free_check() != before:
            raise ClockError(
                f"free update {free.name!r} changed the state of {time.name!r}",
                hint="free updates may look, never touch: register it with a runner, or put "
                "an input into the inbox",
            )

"""The outer loop of a run: frame after frame, each instant at its own wall time.

A paced run ties one wall time to one sim time, the anchor, and waits for every instant, and for
the end of every frame, with an absolute sleep, so errors of single sleeps never add up. Frames are
as long as the boundaries of the frame rate are apart: sixty of them are a second to the nanosecond.
When the run is more than a frame behind, a deterministic mode moves the anchor (the time beyond
that frame is forgiven) and game mode skips as much sim time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mainspring.clock._frame import run_frame
from mainspring.clock._reports import RunReport
from mainspring.clock._words import RunEnd, TimeMode

if TYPE_CHECKING:
    from mainspring.clock._manager import TimeManager

__all__ = ["run_loop"]

_PROGRESS_EVERY_NS = 100_000_000


def run_loop(
    manager: TimeManager, end: int, progress: Callable[[RunReport], object] | None
) -> RunReport:
    """Runs frames until sim time reaches `end`; the report says why it stopped."""
    manager._begin("run")
    manager._stop = False
    before = manager._mark()
    last_wall = told_wall = manager.wall()
    mode: TimeMode | None = None
    anchor_wall = anchor_sim = frame_ns = 0
    frames = forgiven = skipped = 0
    reason = RunEnd.FINISHED

    def behind() -> int:
        # One frame may be caught up; it is what keeps steps back to back under load.
        late = manager.wall() - (anchor_wall + manager.now - anchor_sim) - frame_ns
        # What lies beyond the end is not skipped: the run is over there.
        return max(0, min(late, end - manager.now) if mode is TimeMode.GAME_REALTIME else late)

    def report(why: RunEnd) -> RunReport:
        return manager._report(before, why, frames=frames, forgiven_ns=forgiven, skipped_ns=skipped)

    try:
        while manager.now < end:
            wall = manager.wall()
            elapsed, last_wall = wall - last_wall, wall
            if manager.mode is not mode:  # the first frame's, or one set meanwhile
                mode, anchor_wall, anchor_sim = manager.mode, wall, manager.now
            paced = mode is not TimeMode.SIM_HIGH_PERFORMANCE
            rate = manager.frame_rate
            frame_ns = rate.boundary(frames + 1) - rate.boundary(frames)
            if paced:
                until = min(end, manager.now + frame_ns)
                frame = run_frame(
                    manager, elapsed, until, behind, paced=True, wall_anchor=anchor_wall,
                    sim_anchor=anchor_sim,
                )  # fmt: skip
            else:
                frame = run_frame(manager, elapsed, end, lambda: 0)
            frames += 1
            forgiven += frame.forgiven_ns
            skipped += frame.skipped_ns
            anchor_wall += frame.forgiven_ns
            if progress is not None and (now := manager.wall()) - told_wall >= _PROGRESS_EVERY_NS:
                told_wall = now
                progress(report(RunEnd.FINISHED))
            if manager._ending == "interrupted":
                reason = RunEnd.INTERRUPTED
                break
            if manager._ending == "stopped" or manager._stop:
                reason = RunEnd.STOPPED
                break
    except KeyboardInterrupt:
        # Between two instants; one that broke an instant off has left its failure behind.
        if manager.failure is not None:
            raise
        reason = RunEnd.INTERRUPTED
    done = report(reason)
    if progress is not None:
        progress(done)
    return done

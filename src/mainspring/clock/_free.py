"""What a free update is told: the frame, and a look at every runner."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainspring.clock._manager import TimeManager
    from mainspring.clock._runner import Runner, Runners

__all__ = ["FrameContext"]


class FrameContext:
    """The context of a free update. It may look at the simulation, never touch it."""

    __slots__ = ("_manager", "elapsed_ns", "frame")

    def __init__(self, manager: TimeManager, frame: int, elapsed_ns: int) -> None:
        self._manager = manager
        self.frame = frame
        """Which frame this is, from 0."""
        self.elapsed_ns = elapsed_ns
        """The wall time since the frame before."""

    @property
    def ts(self) -> float:
        """The wall time since the frame before, in seconds."""
        return self.elapsed_ns / 1e9

    @property
    def time(self) -> int:
        """Sim time in nanoseconds."""
        return self._manager.now

    @property
    def swarm(self) -> Runners:
        """Every runner's live state, by id or name."""
        return self._manager.runners

    def get_alpha(self, runner: Runner | int | str) -> float:
        """How far a runner is from its last boundary to its next, in [0, 1)."""
        return self.swarm[runner].alpha

    def get_step(self, runner: Runner | int | str) -> int:
        """The index of a runner's current step; -1 before its first."""
        return self.swarm[runner].step

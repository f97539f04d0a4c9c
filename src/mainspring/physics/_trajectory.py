"""Trajectories: from where the joints are to where they should be, within limits.

The time-optimal motion within limits of velocity, acceleration and jerk is Ruckig's; what is
ours is that it is state: a motion is kept as where it began, where it goes and how long it has
run, so a restored run computes the same motion again and follows it to the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mainspring.clock import StepContext
from mainspring.physics._controller import PdController
from mainspring.physics._errors import PhysicsError
from mainspring.physics._kinds import Array, require

__all__ = ["JerkLimited", "TrajectoryController"]


class JerkLimited:
    """A motion of several joints that arrive together, with bounded jerk.

    >>> motion = JerkLimited(1, velocity=1.0, acceleration=2.0, jerk=20.0)
    >>> motion.begin([0.0]); motion.go_to([0.5])
    >>> motion.duration_ns > 0
    True
    """

    def __init__(
        self,
        count: int,
        *,
        velocity: float | npt.ArrayLike = 1.5,
        acceleration: float | npt.ArrayLike = 5.0,
        jerk: float | npt.ArrayLike = 50.0,
    ) -> None:
        self._ruckig = ruckig = require("ruckig", "jerk-limited motion", "control")
        self._input = ruckig.InputParameter(count)
        limits = [
            ("max_velocity", velocity),
            ("max_acceleration", acceleration),
            ("max_jerk", jerk),
        ]
        for attribute, limit in limits:
            values = np.broadcast_to(np.asarray(limit, dtype=np.float64), count)
            if not (np.isfinite(values).all() and (values > 0).all()):
                raise PhysicsError(f"{attribute} is not positive and finite: {values.tolist()}")
            setattr(self._input, attribute, values.tolist())
        self._generator = ruckig.Ruckig(count)
        self._trajectory = ruckig.Trajectory(count)
        self._count = count
        self._elapsed_ns = 0
        self.begin(np.zeros(count))

    def begin(self, position: npt.ArrayLike) -> None:
        """Stand still at `position`."""
        at = np.array(position, dtype=np.float64).tolist()
        zero = [0.0] * self._count
        self._plan(at, zero, zero, at)

    def go_to(self, target: npt.ArrayLike) -> None:
        """A new target; the motion bends towards it from where it is now, without a jump."""
        wanted = np.array(target, dtype=np.float64).tolist()
        if wanted == self._input.target_position:
            return
        self._plan(*self._now(), wanted)

    def advance(self, ns: int) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations `ns` nanoseconds further on."""
        self._elapsed_ns += ns
        position, velocity, acceleration = self._now()
        return np.array(position), np.array(velocity), np.array(acceleration)

    @property
    def duration_ns(self) -> int:
        """How long the motion takes as a whole."""
        return round(float(self._trajectory.duration) * 1e9)

    @property
    def arrived(self) -> bool:
        """Whether it has come to rest at its target."""
        return self._elapsed_ns >= self.duration_ns

    def _now(self) -> tuple[list[float], list[float], list[float]]:
        position, velocity, acceleration = self._trajectory.at_time(self._elapsed_ns / 1e9)
        return list(position), list(velocity), list(acceleration)

    def _plan(
        self, at: list[float], moving: list[float], changing: list[float], target: list[float]
    ) -> None:
        given = self._input
        given.current_position, given.current_velocity = at, moving
        given.current_acceleration = changing
        given.target_position = target
        try:
            self._generator.calculate(given, self._trajectory)
        except self._ruckig.RuckigError as error:
            raise PhysicsError(
                f"there is no motion from {at} to {target}: {error}",
                hint="finite targets, and limits larger than the speed it has now",
            ) from error
        self._elapsed_ns = 0

    def save(self) -> Any:
        """Where the motion began, where it goes, and how long it has run."""
        given = self._input
        return [
            list(given.current_position),
            list(given.current_velocity),
            list(given.current_acceleration),
            list(given.target_position),
            self._elapsed_ns,
        ]

    def restore(self, saved: Any) -> None:
        """Leaves it as it was."""
        *motion, elapsed_ns = saved
        self._plan(*motion)
        self._elapsed_ns = elapsed_ns


class TrajectoryController(PdController):
    """A `PdController` whose target moves to `goal` within limits of speed, acceleration, jerk."""

    def __init__(
        self,
        *args: Any,
        max_velocity: float | npt.ArrayLike = 1.5,
        max_acceleration: float | npt.ArrayLike = 5.0,
        max_jerk: float | npt.ArrayLike = 50.0,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self._limits = {
            "velocity": max_velocity,
            "acceleration": max_acceleration,
            "jerk": max_jerk,
        }

    def prepare(self) -> None:
        """Begins at rest where the joints are."""
        super().prepare()
        self.motion = JerkLimited(len(self.joints), **self._limits)
        self.motion.begin(self.target)
        self.goal = self.target.copy()

    def start(self) -> None:
        """Claims its joints, and begins at rest where they are now."""
        super().start()
        self.target[:] = self.group.state()[: len(self.joints)]
        self.motion.begin(self.target)
        self.goal = self.target.copy()

    def move_to(self, goal: npt.ArrayLike) -> None:
        """Go there from now on."""
        self.goal = self._checked("position", goal).copy()
        self.motion.go_to(self.goal)

    @property
    def arrived(self) -> bool:
        """Whether the motion has ended."""
        return self.motion.arrived

    def step(self, context: StepContext) -> None:
        """One step along the motion."""
        self.set_target(*self.motion.advance(context.dt))
        super().step(context)

    def save(self) -> Any:
        """With the motion."""
        return [super().save(), self.goal.copy(), self.motion.save()]

    def restore(self, saved: Any) -> None:
        """Leaves it as it was."""
        super().restore(saved[0])
        self.goal = np.array(saved[1])
        self.motion.restore(saved[2])

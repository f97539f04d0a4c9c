"""Controllers: what moves joints, in the Control phase of its runner.

A controller claims its joints when the scene starts and gives them back when it stops; two that
want the same joint are an error that names the joint and both of them. One whose registration is
disabled wants nothing: two may take turns. What a controller commands holds until its next step,
as on a real drive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mainspring.clock import Phase, Registration, StepContext
from mainspring.physics._errors import PhysicsError
from mainspring.physics._joints import JointGroup
from mainspring.physics._kinds import Array, finite
from mainspring.physics._mujoco import MuJoCo
from mainspring.physics._sensor import find_solver
from mainspring.physics._sensors import JointState, articulated
from mainspring.physics._solver import Solver
from mainspring.scene import Scene, Subsystem

__all__ = ["Controller", "PdController"]


class Controller(Subsystem):
    """The base of every controller: it knows its solver and its joints, and claims them.

    `step` begins with `hold()`, which makes sure that the joints are still its own.
    """

    default_phase = Phase.CONTROL

    def __init__(
        self,
        solver: Solver | str | None = None,
        *,
        joints: Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        self.name = name or type(self).__name__
        self._wanted = solver
        self._wanted_joints = None if joints is None else tuple(joints)
        self._scene: Scene | None = None
        self._place: Registration | None = None
        self._held_at = -1

    def attach(self, scene: Scene) -> None:
        """Finds its solver and its joints."""
        self._scene = scene
        self.solver: MuJoCo = articulated(find_solver(scene, self._wanted, self.name), self.name)
        self.joints: tuple[str, ...] = (
            self.solver.joints if self._wanted_joints is None else self._wanted_joints
        )
        self.group = JointGroup(self.solver, self.joints)
        places = scene.time.registrations
        self._place = next((place for place in places if place.callback == self.step), None)
        self.prepare()

    def prepare(self) -> None:
        """Once the joints are known."""

    def start(self) -> None:
        """Claims its joints, unless it is disabled."""
        self._held_at = -1
        if self._enabled():
            self.hold()

    def stop(self) -> None:
        """Gives them back."""
        self.solver.release(self.name)

    def hold(self) -> None:
        """Claims its joints anew if anybody claimed any since; two that drive one are an error."""
        if self.solver.claim_changes != self._held_at:
            if any(self.solver.claims.get(joint) != self.name for joint in self.joints):
                self.solver.claim(self.name, self.joints, self._enabled)
            self._held_at = self.solver.claim_changes

    def _enabled(self) -> bool:
        return self._place is None or self._place.enabled


class PdController(Controller):
    """Holds joints at `target`, with what carries their weight added.

    `compensate="gravity"` adds gravity and Coriolis forces: kp and kd are then torques per
    radian and per radian a second. `compensate="dynamics"` also multiplies by the arm's inertia
    (computed torque): kp and kd are then the square of the natural frequency and twice it, the
    same for every joint, and `target_acceleration` is fed forward. The latter stays stable at
    slow control rates, because how stiff the arm feels no longer depends on its pose.

    It reads the solver's own joints, or, given a `sensor`, what that measured.
    """

    def __init__(
        self,
        solver: Solver | str | None = None,
        *,
        joints: Sequence[str] | None = None,
        kp: float | Sequence[float] = 100.0,
        kd: float | Sequence[float] = 20.0,
        compensate: Literal["none", "gravity", "dynamics"] = "gravity",
        max_force: float | Sequence[float] = np.inf,
        sensor: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(solver, joints=joints, name=name)
        if compensate not in ("none", "gravity", "dynamics"):
            raise PhysicsError(
                f"controller {self.name!r}: compensate={compensate!r}",
                hint="'none', 'gravity' or 'dynamics'",
            )
        self._settings = {"kp": kp, "kd": kd, "max_force": max_force}
        self._compensate = compensate
        self._sensor_name = sensor

    def prepare(self) -> None:
        """Sizes the gains to the joints."""
        count = len(self.joints)
        kp, kd, self.max_force = (self._each(*setting) for setting in self._settings.items())
        self.min_force = -self.max_force
        # Positions, then rates, in one array each: that is how they are measured.
        self._gains, self._aim = np.concatenate([kp, kd]), np.zeros(2 * count)
        self.kp, self.kd = self._gains[:count], self._gains[count:]
        self.target, self.target_velocity = self._aim[:count], self._aim[count:]
        self.target[:] = self.group.state()[:count]
        self.target_acceleration = np.zeros(count)
        self.forces = np.zeros(count)
        self._sensor: JointState | None = None
        if self._sensor_name is not None:
            assert self._scene is not None
            found: object = self._scene.subsystems.get(self._sensor_name)
            if not isinstance(found, JointState) or found.joints != self.joints:
                raise PhysicsError(
                    f"controller {self.name!r} reads sensor {self._sensor_name!r}, which is no "
                    "JointState sensor of the same joints",
                    hint="add the sensor before the controller, with the same joints",
                )
            self._sensor = found

    def _each(self, setting: str, value: npt.ArrayLike) -> Array:
        """A setting as a number for each joint."""
        given, count = np.asarray(value, dtype=np.float64), len(self.joints)
        if given.shape not in ((), (count,)) or np.isnan(given).any() or (given < 0).any():
            raise PhysicsError(
                f"controller {self.name!r}: {setting}={given.tolist()} for {count} joints",
                hint="one number that is not negative, or one for each joint",
            )
        return np.broadcast_to(given, count).copy()

    def set_target(
        self,
        position: npt.ArrayLike,
        velocity: npt.ArrayLike | None = None,
        acceleration: npt.ArrayLike | None = None,
    ) -> None:
        """Where the joints should be from now on."""
        where = self._checked("position", position)
        moving = None if velocity is None else self._checked("velocity", velocity)
        changing = None if acceleration is None else self._checked("acceleration", acceleration)
        for aim, wanted in (
            (self.target, where), (self.target_velocity, moving), (self.target_acceleration, changing),
        ):  # fmt: skip
            if wanted is None:
                aim.fill(0.0)
            else:
                aim[:] = wanted

    def _checked(self, what: str, value: npt.ArrayLike) -> Array:
        given = np.asarray(value, dtype=np.float64)
        if given.shape != self.target.shape or not (given.dot(given) < math.inf or finite(given)):
            raise PhysicsError(
                f"controller {self.name!r}: a target {what} of {given} for "
                f"{len(self.joints)} joints",
                hint="one finite number a joint",
            )
        return given

    def step(self, context: StepContext) -> None:
        """Measure, compare, push."""
        self.hold()
        group = self.group
        if self._sensor is None:
            measured = group.state()
        else:
            reading = self._sensor.reading
            if reading is None:
                return  # nothing measured yet: nothing commanded yet
            measured = reading.value
        pull = self._gains * (self._aim - measured)
        count = len(self.joints)
        wanted = pull[:count] + pull[count:]
        if self._compensate == "dynamics":
            wanted = group.inverse_dynamics(wanted + self.target_acceleration)
        elif self._compensate == "gravity":
            wanted += group.holding_forces()
        np.maximum(wanted, self.min_force, out=self.forces)
        np.minimum(self.forces, self.max_force, out=self.forces)
        group.drive(self.forces)

    def save(self) -> Any:
        """Its targets and what it commanded last."""
        targets = [self.target, self.target_velocity, self.target_acceleration]
        return [array.copy() for array in (*targets, self.forces)]

    def restore(self, saved: Any) -> None:
        """Leaves it as it was."""
        here = (self.target, self.target_velocity, self.target_acceleration, self.forces)
        for array, was in zip(here, saved, strict=True):
            array[:] = was

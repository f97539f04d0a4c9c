"""The sensors there are: joints, inertia, contact, range, and whatever a model's own say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mainspring.clock import StepContext
from mainspring.physics._errors import SensorError
from mainspring.physics._joints import JointGroup
from mainspring.physics._kinds import LARGEST, Array
from mainspring.physics._mujoco import MuJoCo
from mainspring.physics._rotation import matrix
from mainspring.physics._sensor import Noise, Sensor
from mainspring.physics._solver import Solver

__all__ = ["ContactSensor", "Imu", "JointState", "ModelSensors", "RangeScan"]


class JointState(Sensor):
    """Encoders: positions of joints, then their rates."""

    def __init__(
        self,
        solver: Solver | str | None = None,
        *,
        joints: Sequence[str] | None = None,
        name: str | None = None,
        latency_s: float = 0.0,
        noise: Noise | dict[str, float] | None = None,
    ) -> None:
        super().__init__(solver, name=name, latency_s=latency_s, noise=noise)
        self._joints = None if joints is None else tuple(joints)

    def prepare(self) -> None:
        """Looks the joints up."""
        self._arm = articulated(self.solver, self.name)
        self.joints: tuple[str, ...] = self._arm.joints if self._joints is None else self._joints
        self._group = JointGroup(self._arm, self.joints)

    def measure(self, context: StepContext) -> Array:
        """Positions and rates of now."""
        return self._group.state()

    def blank(self) -> Array:
        """As many NaNs."""
        return np.full(2 * len(self.joints), np.nan)

    @property
    def positions(self) -> Array:
        """The measured positions."""
        value: Array = self.value[: len(self.joints)]
        return value

    @property
    def velocities(self) -> Array:
        """The measured rates."""
        value: Array = self.value[len(self.joints) :]
        return value


class ModelSensors(Sensor):
    """The sensors that a MuJoCo model declares itself, by name, one after the other.

    Acceleration sensors (accelerometer, force, torque, touch) tell of the engine step before.
    """

    def __init__(
        self,
        solver: Solver | str | None = None,
        *,
        sensors: Sequence[str],
        name: str | None = None,
        latency_s: float = 0.0,
        noise: Noise | dict[str, float] | None = None,
    ) -> None:
        super().__init__(solver, name=name, latency_s=latency_s, noise=noise)
        self.sensors = tuple(sensors)

    def prepare(self) -> None:
        """Looks the sensors up."""
        self._arm = articulated(self.solver, self.name)
        self._places = self._arm.sensor_places(self.sensors)

    def measure(self, context: StepContext) -> Array:
        """Their values of now."""
        return self._arm.read_sensors(self._places)

    def blank(self) -> Array:
        """As many NaNs."""
        return np.full(len(self._places), np.nan)


class Imu(Sensor):
    """An inertial unit on a body: specific force (m/s²), then angular rate (rad/s), body axes.

    Works with every engine: the specific force is what the velocity of the mounting point
    changed by since the last sample, less gravity, along the axes that the body had half way
    between, which is what an integrating unit reports. So there is no sample at its first
    boundary.
    """

    def __init__(
        self,
        solver: Solver | str | None = None,
        *,
        body: str,
        offset: Sequence[float] = (0.0, 0.0, 0.0),
        name: str | None = None,
        latency_s: float = 0.0,
        noise: Noise | dict[str, float] | None = None,
    ) -> None:
        super().__init__(solver, name=name, latency_s=latency_s, noise=noise)
        self.body = body
        self._offset = np.array(offset, dtype=np.float64)
        self._before: tuple[Array, Array] | None = None
        """The velocity of the mounting point and the body's rotation at the last sample."""
        self._before_ns = 0

    def prepare(self) -> None:
        """Looks the body up."""
        self._row = self.solver.row(self.body)
        self._gravity = np.array(self.solver.gravity)

    def forget(self) -> None:
        """The velocity before is of somewhere else."""
        super().forget()
        self._before = None

    def measure(self, context: StepContext) -> Array | None:
        """What the unit has integrated since its last sample."""
        _, rotation = self.solver.pose(self._row)
        linear, spin = self.solver.velocity(self._row)
        turn = matrix(rotation)
        velocity = linear + np.cross(spin, turn @ self._offset)
        before, before_ns = self._before, self._before_ns
        self._before, self._before_ns = (velocity, rotation), context.time
        if before is None or context.time <= before_ns:
            return None
        was, turned = before
        acceleration = (velocity - was) * (1e9 / (context.time - before_ns))
        half_way = matrix(_middle(turned, rotation))
        return np.concatenate([half_way.T @ (acceleration - self._gravity), turn.T @ spin])

    def blank(self) -> Array:
        """Six NaNs."""
        return np.full(6, np.nan)

    @property
    def specific_force(self) -> Array:
        """Metres a second squared along the body's axes: at rest, gravity upwards."""
        value: Array = self.value[:3]
        return value

    @property
    def angular_rate(self) -> Array:
        """Radians a second about the body's axes."""
        value: Array = self.value[3:]
        return value

    def save(self) -> Any:
        """With the velocity before."""
        return [super().save(), self._before, self._before_ns]

    def restore(self, saved: Any) -> None:
        """Leaves it as it was."""
        super().restore(saved[0])
        self._before = None if saved[1] is None else (saved[1][0], saved[1][1])
        self._before_ns = saved[2]


class ContactSensor(Sensor):
    """Skin: for each body, how many contact points it has and the sum of their normal forces.

    Forces are NaN where the engine does not tell them (Box2D).
    """

    def __init__(
        self,
        solver: Solver | str | None = None,
        *,
        bodies: Sequence[str],
        name: str | None = None,
        latency_s: float = 0.0,
        noise: Noise | dict[str, float] | None = None,
    ) -> None:
        super().__init__(solver, name=name, latency_s=latency_s, noise=noise)
        self.bodies = tuple(bodies)

    def prepare(self) -> None:
        """Looks the bodies up."""
        self._rows = self.solver.rows(self.bodies)

    def measure(self, context: StepContext) -> Array:
        """Counts and forces (n, 2) of now."""
        found = self.solver.contacts()
        touches = (found["a"] == self._rows[:, None]) | (found["b"] == self._rows[:, None])
        forces = np.where(touches, found["force"], 0.0).sum(axis=1)
        return np.column_stack([touches.sum(axis=1), forces])

    def blank(self) -> Array:
        """As many NaNs."""
        return np.full((len(self.bodies), 2), np.nan)

    @property
    def touching(self) -> tuple[str, ...]:
        """The bodies that touch something."""
        counts = self.value[:, 0]
        return tuple(body for body, n in zip(self.bodies, counts, strict=True) if n > 0)


class RangeScan(Sensor):
    """A scanner on a body: a fan of rays in the body's x-y plane, one distance each.

    `count` rays spread evenly over `field_deg`, the middle one along x; they begin at `offset`
    in the body's frame and pass through the body itself. Nothing within `max_distance` is inf.
    """

    def __init__(
        self,
        solver: Solver | str | None = None,
        *,
        body: str,
        count: int = 181,
        field_deg: float = 180.0,
        max_distance: float = 10.0,
        offset: Sequence[float] = (0.0, 0.0, 0.0),
        name: str | None = None,
        latency_s: float = 0.0,
        noise: Noise | dict[str, float] | None = None,
    ) -> None:
        super().__init__(solver, name=name, latency_s=latency_s, noise=noise)
        if count < 1:
            raise SensorError(f"sensor {self.name!r} has {count} rays")
        if not (0 < max_distance < LARGEST and 0 <= field_deg <= 360):
            raise SensorError(
                f"sensor {self.name!r} looks {max_distance!r} m far over {field_deg!r} degrees",
                hint="a distance above zero, and a field of 0 to 360 degrees",
            )
        self.body = body
        self.max_distance = float(max_distance)
        whole = field_deg == 360.0
        half = np.radians(field_deg) / 2
        self.angles = np.linspace(-half, half, count, endpoint=not whole)
        """Where each ray points, in radians about the body's z."""
        flat = np.zeros(count)
        self._fan = np.column_stack([np.cos(self.angles), np.sin(self.angles), flat])
        self._offset = np.array(offset, dtype=np.float64)

    def prepare(self) -> None:
        """Looks the body up."""
        self._row = self.solver.row(self.body)

    def measure(self, context: StepContext) -> Array:
        """One scan."""
        position, turn = self.solver.frame(self._row)
        # The fan's directions are of length one already.
        return self.solver.ranges(
            position + turn @ self._offset, self._fan @ turn.T, self.max_distance, self._row
        )

    def blank(self) -> Array:
        """As many NaNs."""
        return np.full(len(self.angles), np.nan)


def _middle(one: Array, other: Array) -> Array:
    """The rotation half way between two."""
    both = one + other if one @ other >= 0 else one - other
    half: Array = both / np.sqrt(both @ both)
    return half


def articulated(solver: Solver, asker: str) -> MuJoCo:
    """The solver, if it has joints that can be read and driven one by one."""
    if not isinstance(solver, MuJoCo):
        raise SensorError(
            f"{asker!r} needs joints, which solver {solver.name!r} ({solver.engine}) does not show",
            hint="use a MuJoCo solver",
        )
    return solver

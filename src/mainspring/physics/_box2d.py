"""Box2D: rigid bodies in the x-y plane, from the common `Model`.

Poses come out as (x, y, 0) and a turn about z. The engine keeps its contact caches to itself,
so snapshots are replayed from the start. Its Python binding has no bulk read and holds the GIL.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mainspring.physics._errors import PhysicsError
from mainspring.physics._kinds import CONTACT, Array, Guarantee, RayHits, Restore, Rows, require
from mainspring.physics._model import Body, Joint, Model
from mainspring.physics._replayed import ReplayedSolver

__all__ = ["Box2D"]

_SERVO_PER_S = 10.0  # how much of what is left of a motor's way it goes each second


class Box2D(ReplayedSolver):
    """A Box2D world built from a `Model` or the path of its TOML file."""

    engine: ClassVar[str] = "box2d"
    guarantee: ClassVar[Guarantee] = Guarantee(
        bit_identical=True,
        restore=Restore.REPLAY,
        releases_gil=False,
        note="single precision, two dimensions",
    )

    def __init__(
        self,
        model: Any,
        *,
        velocity_iterations: int = 8,
        position_iterations: int = 3,
        **settings: Any,
    ) -> None:
        self._iterations = (velocity_iterations, position_iterations)
        super().__init__(model, **settings)

    def _load(self, model: Any) -> None:
        self._b2 = require("Box2D", "the Box2D solver", "box2d")
        raw = require("Box2D._Box2D", "the Box2D solver", "box2d")
        self.source = Model.of(model)
        self._digest = self.source.digest
        self.bodies = self.source.names
        self._motors = self.source.motors
        self.controls = tuple(joint.name for joint in self._motors)
        # The binding's own functions under its properties: `map` runs them without Python.
        self._position_of, self._angle_of = raw.b2Body___GetPosition, raw.b2Body___GetAngle
        self._linear_of = raw.b2Body___GetLinearVelocity
        self._angular_of = raw.b2Body___GetAngularVelocity
        self._x_of, self._y_of = raw.b2Vec2_x_get, raw.b2Vec2_y_get
        self._build()

    def _build(self) -> None:
        b2, source = self._b2, self.source
        gravity = source.gravity
        if gravity[2] and not gravity[1]:
            raise source.refused(
                None,
                f"gravity {list(gravity)} points out of the x-y plane",
                "gravity = [0, -9.81, 0]",
            )
        self.world = b2.b2World(gravity=gravity[:2], doSleep=True)
        self._objects = [
            _create(b2, self.world, body, row, source) for row, body in enumerate(source.bodies)
        ]
        by_name = dict(zip(self.bodies, self._objects, strict=True))
        joints = {joint.name: _join(self.world, joint, by_name) for joint in source.joints}
        self._motor_objects = [joints[motor.name] for motor in self._motors]
        self._values = np.zeros(len(self.controls))
        self._held: tuple[list[int], list[tuple[float, ...]]] = ([], [])
        self._step_world = self.world.Step

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Metres a second squared, world axes."""
        return self.source.gravity

    def _model_digest(self) -> bytes:
        return self._digest

    def _advance(self, count: int) -> bool:
        for _ in range(count):
            if self._held[0]:
                self._push()
            if self._motor_objects:
                self._drive()
            try:
                self._step_world(self._dt, *self._iterations)
            except AssertionError:
                return False
        # Its bodies cannot be looked at cheaply; but the engine limits how far one moves in a
        # step, and what is written to it was checked. The poses are looked at once a second.
        return True

    def _push(self) -> None:
        # The engine forgets forces at the end of every step of its own.
        for row, wrench in zip(*self._held, strict=True):
            body = self._objects[row]
            body.ApplyForceToCenter(wrench[:2], True)
            body.ApplyTorque(wrench[5], True)

    def _drive(self) -> None:
        for motor, joint, target in zip(
            self._motors, self._motor_objects, self._values.tolist(), strict=True
        ):
            at = joint.angle if motor.kind == "hinge" else joint.translation
            joint.motorSpeed = _SERVO_PER_S * (target - at)

    # Bodies. The loops over bodies run in C: `map` over the binding's functions.

    def _read_poses(self, position: Array, rotation: Array) -> None:
        count = len(self._objects)
        points = list(map(self._position_of, self._objects))
        position[:, 0] = np.fromiter(map(self._x_of, points), np.float64, count)
        position[:, 1] = np.fromiter(map(self._y_of, points), np.float64, count)
        position[:, 2] = 0.0
        half = np.fromiter(map(self._angle_of, self._objects), np.float64, count) / 2
        rotation[:, 0] = np.cos(half)
        rotation[:, 1:3] = 0.0
        rotation[:, 3] = np.sin(half)

    def _read_velocities(self, linear: Array, angular: Array) -> None:
        count = len(self._objects)
        moved = list(map(self._linear_of, self._objects))
        linear[:, 0] = np.fromiter(map(self._x_of, moved), np.float64, count)
        linear[:, 1] = np.fromiter(map(self._y_of, moved), np.float64, count)
        linear[:, 2] = 0.0
        angular[:, :2] = 0.0
        angular[:, 2] = np.fromiter(map(self._angular_of, self._objects), np.float64, count)

    def angles(self) -> Array:
        """The turn of every body about z in radians, whole turns counted."""
        return np.fromiter(map(self._angle_of, self._objects), np.float64, len(self._objects))

    def _write_poses(self, rows: Rows, position: Array, rotation: Array | None) -> None:
        for place, (row, where) in enumerate(zip(rows.tolist(), position.tolist(), strict=True)):
            body = self._objects[row]
            angle = body.angle
            if rotation is not None:
                w, _, _, z = rotation[place].tolist()
                angle = 2 * math.atan2(z, w)
            body.transform = ((where[0], where[1]), angle)
            body.awake = True

    def _write_velocities(self, rows: Rows, linear: Array, angular: Array) -> None:
        for row, moved, spun in zip(rows.tolist(), linear.tolist(), angular.tolist(), strict=True):
            body = self._objects[row]
            body.linearVelocity, body.angularVelocity = (moved[0], moved[1]), spun[2]
            body.awake = True

    def _apply_wrenches(self, rows: list[int], wrenches: list[tuple[float, ...]]) -> None:
        self._held = (rows, wrenches)

    def _clear_wrenches(self, rows: list[int]) -> None:
        self._held = ([], [])

    def _write_controls(self, columns: Rows, values: Array) -> None:
        self._values[columns] = values
        for column in columns.tolist():
            for body in (self._motor_objects[column].bodyA, self._motor_objects[column].bodyB):
                body.awake = True

    def _read_controls(self) -> Array:
        return self._values.copy()

    # Contacts and rays.

    def _touching(self) -> frozenset[tuple[int, int]]:
        pairs = []
        for contact in self.world.contacts:
            if contact.touching:
                one = int(contact.fixtureA.body.userData)
                other = int(contact.fixtureB.body.userData)
                pairs.append((min(one, other), max(one, other)))
        return frozenset(pairs)

    def contacts(self) -> npt.NDArray[Any]:
        """Every contact point of now. The binding does not tell forces."""
        found: list[tuple[Any, ...]] = []
        for contact in self.world.contacts:
            if not contact.touching or contact.fixtureA.sensor or contact.fixtureB.sensor:
                continue
            one = int(contact.fixtureA.body.userData)
            other = int(contact.fixtureB.body.userData)
            manifold = contact.worldManifold
            nx, ny = manifold.normal
            if one > other:
                one, other, nx, ny = other, one, -nx, -ny
            for x, y in manifold.points[: contact.manifold.pointCount]:
                found.append((one, other, (x, y, 0.0), (nx, ny, 0.0), np.nan, np.nan))
        array = np.array(found, dtype=CONTACT)
        return array[np.lexsort((array["b"], array["a"]))]

    def _cast_rays(
        self, origins: Array, directions: Array, max_distance: float, ignored: int | None
    ) -> RayHits:
        if np.abs(directions[:, 2]).max(initial=0.0) > 1e-9:
            raise PhysicsError(f"solver {self.name!r}: a ray leaves the x-y plane")
        starts = np.broadcast_to(origins, directions.shape)
        distances = np.full(len(directions), np.inf)
        rows = np.full(len(directions), -1, dtype=np.int32)
        listener = _nearest(self._b2, ignored)
        for index, (start, way) in enumerate(
            zip(starts.tolist(), directions.tolist(), strict=True)
        ):
            listener.row, listener.fraction = -1, math.inf
            end = (start[0] + max_distance * way[0], start[1] + max_distance * way[1])
            self.world.RayCast(listener, (start[0], start[1]), end)
            if listener.row >= 0:
                rows[index] = listener.row
                distances[index] = listener.fraction * max_distance
        return RayHits(distances, rows)


def _nearest(b2: Any, ignored: int | None) -> Any:
    """A ray's listener that keeps the nearest hit."""

    class Nearest(b2.b2RayCastCallback):  # type: ignore[misc]
        row = -1
        fraction = math.inf

        def ReportFixture(self, fixture: Any, point: Any, normal: Any, fraction: float) -> float:
            row = int(fixture.body.userData)
            if row == ignored or fixture.sensor:
                return -1.0
            self.row, self.fraction = row, fraction
            return fraction

    return Nearest()


def _create(b2: Any, world: Any, body: Body, row: int, model: Model) -> Any:
    makers = {
        "fixed": world.CreateStaticBody,
        "kinematic": world.CreateKinematicBody,
        "dynamic": world.CreateDynamicBody,
    }
    w, _, _, z = body.quaternion
    made = makers[body.kind](position=body.position[:2], angle=2 * math.atan2(z, w), userData=row)
    try:
        made.CreateFixture(
            shape=_shape(b2, body, model),
            density=body.density,
            friction=body.friction,
            restitution=body.restitution,
            isSensor=body.sensor,
        )
    except (AssertionError, ValueError) as error:
        raise model.refused(
            body,
            f"body {body.name!r} is no {body.shape} to Box2D: {error}",
            "a polygon's vertices go round it, apart from each other; sizes are above a centimetre",
        ) from error
    if body.kind != "fixed":
        made.linearVelocity = body.velocity[:2]
        made.angularVelocity = body.angular_velocity[2]
    if body.kind == "dynamic" and body.mass is not None:
        data = made.massData
        data.I *= body.mass / data.mass
        data.mass = body.mass
        made.massData = data
    return made


def _shape(b2: Any, body: Body, model: Model) -> Any:
    if body.shape == "box":
        return b2.b2PolygonShape(box=body.size[:2])
    if body.shape == "sphere":
        return b2.b2CircleShape(radius=body.size[0])
    if body.shape == "polygon":
        return b2.b2PolygonShape(vertices=[tuple(vertex) for vertex in body.vertices])
    raise model.refused(
        body,
        f"body {body.name!r} is a {body.shape}, which Box2D does not have",
        "box, sphere (a circle) or polygon",
    )


def _join(world: Any, joint: Joint, bodies: dict[str, Any]) -> Any:
    ends = {"bodyA": bodies[joint.a], "bodyB": bodies[joint.b], "anchor": joint.anchor[:2]}
    if joint.kind == "fixed":
        return world.CreateWeldJoint(**ends)
    options: dict[str, Any] = {}
    if joint.kind == "slider":
        if joint.limits is not None:
            options.update(
                enableLimit=True,
                lowerTranslation=joint.limits[0],
                upperTranslation=joint.limits[1],
            )
        if joint.motor_force is not None:
            options.update(enableMotor=True, maxMotorForce=joint.motor_force)
        return world.CreatePrismaticJoint(axis=joint.axis[:2], **ends, **options)
    if joint.limits is not None and joint.kind == "hinge":
        options.update(enableLimit=True, lowerAngle=joint.limits[0], upperAngle=joint.limits[1])
    if joint.motor_force is not None:
        options.update(enableMotor=True, maxMotorTorque=joint.motor_force)
    return world.CreateRevoluteJoint(**ends, **options)

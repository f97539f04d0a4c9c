"""Jolt: fast rigid bodies in three dimensions for games and robots, from the common `Model`.

Positions are double precision. The engine's own `save_state` leaves out its contact cache, so
a run continued from it would differ in the last bits: snapshots are replayed from the start.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mainspring.physics._kinds import CONTACT, Array, Guarantee, RayHits, Restore, Rows, require
from mainspring.physics._model import Body, Joint, Model
from mainspring.physics._replayed import ReplayedSolver

__all__ = ["Jolt"]

_EVENT = np.dtype(
    {
        "names": ["body1", "body2", "position", "normal", "impulse", "flags", "penetration"],
        "formats": ["u8", "u8", "3f8", "3f4", "f4", "u4", "f4"],
        "offsets": [0, 8, 16, 40, 52, 60, 96],
        "itemsize": 128,
    }
)
_HIT = np.dtype(
    {
        "names": ["body", "fraction"],
        "formats": ["u8", "f4"],
        "offsets": [0, 8],
        "itemsize": 48,
    }
)
_THROUGH_M = 1e-3  # how far a ray goes at once inside several bodies that it is to pass
_UNREAD = 64  # steps whose contact events wait to be sorted, at most


class Jolt(ReplayedSolver):
    """A Jolt world built from a `Model` or the path of its TOML file. Python 3.12 and later.

    To Jolt a touch ends when both bodies fall asleep, and begins again when one wakes up.
    """

    engine: ClassVar[str] = "jolt"
    guarantee: ClassVar[Guarantee] = Guarantee(
        bit_identical=True,
        restore=Restore.REPLAY,
        releases_gil=True,
        note="the same bits for any number of threads in the same build",
    )

    def __init__(self, model: Any, *, threads: int = 1, **settings: Any) -> None:
        self._threads = threads
        super().__init__(model, **settings)

    def _load(self, model: Any) -> None:
        self._cv = require("culverin", "the Jolt solver (Python 3.12 and later)", "jolt")
        self.source = Model.of(model)
        self._digest = self.source.digest
        self.bodies = self.source.names
        self._sensors = frozenset(row for row, body in enumerate(self.source.bodies) if body.sensor)
        self._motors = self.source.motors
        self.controls = tuple(joint.name for joint in self._motors)
        self._build()

    def _build(self) -> None:
        cv, source = self._cv, self.source
        count = len(source.bodies)
        self.world = world = cv.PhysicsWorld(
            settings={
                "gravity": source.gravity,
                "num_threads": self._threads,
                "max_bodies": max(64, count + 8),
                "max_pairs": max(4096, 32 * count),
                "max_contact_constraints": max(4096, 16 * count),
            }
        )
        self._handles = [_create(cv, world, body, source) for body in source.bodies]
        self._row_of_handle = {handle: row for row, handle in enumerate(self._handles)}
        world.step(0.0)  # bodies and joints are created when the engine takes its commands
        for body, handle in zip(source.bodies, self._handles, strict=True):
            if body.kind == "dynamic" and any(body.velocity):
                world.set_linear_velocity(handle, *body.velocity)
            if body.kind == "dynamic" and any(body.angular_velocity):
                world.set_angular_velocity(handle, *body.angular_velocity)
        by_name = dict(zip(self.bodies, self._handles, strict=True))
        joints = {joint.name: _join(cv, world, joint, by_name) for joint in source.joints}
        self._motor_handles = [joints[motor.name] for motor in self._motors]
        world.step(0.0)
        self._values = np.zeros(len(self.controls))
        self._held: tuple[list[int], list[tuple[float, ...]]] = ([], [])
        self._events: list[bytes] = []
        self._last_events = b""
        self._pairs: dict[tuple[int, int], None] = {}
        self._step_world, self._take_events = world.step, world.get_contact_events_raw
        # Views of the engine's own arrays. They stay where they are: nobody adds bodies later.
        self._positions = np.frombuffer(world.positions).reshape(-1, 4)[:, :3]
        self._rotations = np.frombuffer(world.rotations, np.float32).reshape(-1, 4)
        self._linear = np.frombuffer(world.velocities, np.float32).reshape(-1, 4)[:, :3]
        self._angular = np.frombuffer(world.angular_velocities, np.float32).reshape(-1, 4)[:, :3]
        self._speeds = np.frombuffer(world.velocities, np.float32)
        self._square = self._speeds.dot

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Metres a second squared, world axes."""
        return self.source.gravity

    def _model_digest(self) -> bytes:
        return self._digest

    def _advance(self, count: int) -> bool:
        events, dt, pushed = self._events, self._dt, self._held[0]
        while count:
            count -= 1
            if pushed:
                self._push()
            self._step_world(dt)
            events.append(self._take_events())
        if len(events) > _UNREAD:
            self._sort_events()
        return bool(self._square(self._speeds) < 3e38)  # false for NaN and infinity

    def _push(self) -> None:
        # The engine forgets forces at the end of every step of its own.
        world = self.world
        for row, wrench in zip(*self._held, strict=True):
            handle = self._handles[row]
            world.activate(handle)
            world.apply_force(handle, *wrench[:3])
            world.apply_torque(handle, *wrench[3:])

    # Bodies.

    def _read_poses(self, position: Array, rotation: Array) -> None:
        position[...] = self._positions
        rotation[:, 0] = self._rotations[:, 3]
        rotation[:, 1:] = self._rotations[:, :3]

    def _read_velocities(self, linear: Array, angular: Array) -> None:
        linear[...] = self._linear
        angular[...] = self._angular

    def _write_poses(self, rows: Rows, position: Array, rotation: Array | None) -> None:
        for place, (row, where) in enumerate(zip(rows.tolist(), position.tolist(), strict=True)):
            if rotation is None:
                self.world.set_position(self._handles[row], *where)
            else:
                w, x, y, z = rotation[place].tolist()
                self.world.set_transform(self._handles[row], tuple(where), (x, y, z, w))
            self.world.activate(self._handles[row])
        self.world.step(0.0)

    def _write_velocities(self, rows: Rows, linear: Array, angular: Array) -> None:
        for row, moved, spun in zip(rows.tolist(), linear.tolist(), angular.tolist(), strict=True):
            handle = self._handles[row]
            self.world.activate(handle)
            self.world.set_linear_velocity(handle, *moved)
            self.world.set_angular_velocity(handle, *spun)
        self.world.step(0.0)

    def _apply_wrenches(self, rows: list[int], wrenches: list[tuple[float, ...]]) -> None:
        self._held = (rows, wrenches)

    def _clear_wrenches(self, rows: list[int]) -> None:
        self._held = ([], [])

    def _write_controls(self, columns: Rows, values: Array) -> None:
        self._values[columns] = values
        for column, value in zip(columns.tolist(), values.tolist(), strict=True):
            self.world.set_constraint_target(self._motor_handles[column], value)

    def _read_controls(self) -> Array:
        return self._values.copy()

    # Contacts and rays.

    def _sort_events(self) -> None:
        """Bring the pairs that touch up to date with the events of the steps since."""
        for raw in self._events:
            if len(raw):
                self._last_events = raw
                events = np.frombuffer(raw, _EVENT)
                changes = events[events["flags"] != self._cv.EVENT_PERSISTED]
                for one, other, flag in changes[["body1", "body2", "flags"]].tolist():
                    pair = self._pair(one, other)
                    if flag == self._cv.EVENT_REMOVED:
                        self._pairs.pop(pair, None)
                    else:
                        self._pairs[pair] = None
        self._events.clear()

    def _pair(self, one: int, other: int) -> tuple[int, int]:
        a, b = self._row_of_handle.get(one, -1), self._row_of_handle.get(other, -1)
        return (a, b) if a <= b else (b, a)

    def _touching(self) -> frozenset[tuple[int, int]]:
        self._sort_events()
        return frozenset(self._pairs)

    def contacts(self) -> npt.NDArray[Any]:
        """The contacts of the last engine step. A pair that rests asleep reports none."""
        last = self._events[-1] if self._events else self._last_events
        events = np.frombuffer(last, _EVENT) if len(last) else np.zeros(0, _EVENT)
        felt = [
            (self._row_of_handle.get(int(event["body1"]), -1),
             self._row_of_handle.get(int(event["body2"]), -1), event)
            for event in events[events["flags"] != self._cv.EVENT_REMOVED]
        ]  # fmt: skip
        felt = [one for one in felt if self._sensors.isdisjoint(one[:2])]
        found = np.zeros(len(felt), CONTACT)
        for place, (one, other, event) in enumerate(felt):
            normal = event["normal"].astype(np.float64)
            if one > other:
                one, other, normal = other, one, -normal
            force = float(event["impulse"]) / self._dt if self._dt else np.nan
            found[place] = (
                one, other, event["position"], normal, float(event["penetration"]), force,
            )  # fmt: skip
        return found[np.lexsort((found["b"], found["a"]))]

    def _cast_rays(
        self, origins: Array, directions: Array, max_distance: float, ignored: int | None
    ) -> RayHits:
        starts = np.broadcast_to(origins, directions.shape)
        if ignored is not None or self._sensors:
            return self._cast_one_by_one(starts, directions, max_distance, ignored)
        raw = self.world.raycast_batch(
            np.ascontiguousarray(starts, np.float32),
            np.ascontiguousarray(directions, np.float32),
            max_distance,
        )
        hits = np.frombuffer(raw, _HIT)
        found = hits["body"] != 0
        distances = np.where(found, hits["fraction"].astype(np.float64) * max_distance, np.inf)
        rows = [self._row_of_handle.get(body, -1) for body in hits["body"].tolist()]
        return RayHits(distances, np.array(rows, dtype=np.int32))

    def _cast_one_by_one(
        self, starts: Array, directions: Array, max_distance: float, ignored: int | None
    ) -> RayHits:
        distances = np.full(len(directions), np.inf)
        rows = np.full(len(directions), -1, dtype=np.int32)
        passed = self._sensors if ignored is None else self._sensors | {ignored}
        for index, (start, way) in enumerate(zip(starts, directions, strict=True)):
            # The engine passes one body at a time: from each it is to pass the ray goes on.
            went, skipped = 0.0, ignored
            while went < max_distance:
                hit = self.world.raycast(
                    tuple((start + went * way).tolist()),
                    tuple(way.tolist()),
                    max_distance - went,
                    0 if skipped is None else self._handles[skipped],
                )
                if hit is None:
                    break
                further = hit[1] * (max_distance - went)
                row = self._row_of_handle.get(hit[0], -1)
                if row not in passed:
                    rows[index], distances[index] = row, went + further
                    break
                went, skipped = went + max(further, _THROUGH_M), row
        return RayHits(distances, rows)


def _create(cv: Any, world: Any, body: Body, model: Model) -> int:
    shapes = {
        "box": cv.SHAPE_BOX,
        "sphere": cv.SHAPE_SPHERE,
        "cylinder": cv.SHAPE_CYLINDER,
        "capsule": cv.SHAPE_CAPSULE,
        "plane": cv.SHAPE_PLANE,
    }
    if body.shape not in shapes:
        raise model.refused(
            body,
            f"body {body.name!r} is a {body.shape}, which Jolt does not have",
            "box, sphere, capsule, cylinder or plane",
        )
    if body.shape in ("cylinder", "capsule"):
        # Jolt's stand along y, ours along z: a child turned by a right angle.
        radius, half = body.size
        turned = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
        parts = [((0.0, 0.0, 0.0), turned, shapes[body.shape], (half, radius))]
        return int(
            world.create_compound_body(
                body.position,
                _xyzw(body),
                parts,
                motion=_motion(cv, body),
                mass=body.computed_mass if body.kind == "dynamic" else -1.0,
                is_sensor=body.sensor,
                friction=body.friction,
                restitution=body.restitution,
            )
        )
    size = (0.0, 0.0, 1.0, 0.0) if body.shape == "plane" else body.size
    return int(
        world.create_body(
            pos=body.position,
            rot=_xyzw(body),
            size=size,
            shape=shapes[body.shape],
            motion=_motion(cv, body),
            mass=body.computed_mass if body.kind == "dynamic" else -1.0,
            is_sensor=body.sensor,
            friction=body.friction,
            restitution=body.restitution,
        )
    )


def _xyzw(body: Body) -> tuple[float, float, float, float]:
    w, x, y, z = body.quaternion
    return (x, y, z, w)


def _motion(cv: Any, body: Body) -> int:
    motions = {
        "fixed": cv.MOTION_STATIC,
        "kinematic": cv.MOTION_KINEMATIC,
        "dynamic": cv.MOTION_DYNAMIC,
    }
    return int(motions[body.kind])


def _join(cv: Any, world: Any, joint: Joint, handles: dict[str, int]) -> int:
    motor = None
    if joint.motor_force is not None:
        # What the binding calls stiffness and damping are Jolt's frequency (Hz) and damping
        # ratio. It takes the largest force and does not keep to it.
        motor = {
            "max_force": joint.motor_force,
            "max_torque": joint.motor_force,
            "stiffness": 3.0,
            "damping": 1.0,
        }
    kinds = {
        "fixed": cv.CONSTRAINT_FIXED,
        "ball": cv.CONSTRAINT_POINT,
        "hinge": cv.CONSTRAINT_HINGE,
        "slider": cv.CONSTRAINT_SLIDER,
    }
    parameters: Any = None
    if joint.kind == "ball":
        parameters = (joint.anchor,)
    elif joint.kind in ("hinge", "slider"):
        parameters = (joint.anchor, joint.axis, *(joint.limits or ()))
    made = world.create_constraint(
        kinds[joint.kind], handles[joint.a], handles[joint.b], parameters, motor
    )
    return int(made)

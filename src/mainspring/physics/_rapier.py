"""Rapier: fast rigid bodies in three dimensions, from the common `Model`.

A snapshot is exact: it holds the bodies, the broad and narrow phase, the islands and the warm
starts. A body that leaves the finite numbers is put into quarantine by the engine itself,
which is how a divergence is noticed at no cost.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from mainspring.physics._kinds import CONTACT, Array, Guarantee, RayHits, Restore, Rows, require
from mainspring.physics._model import Body, Joint, Model
from mainspring.physics._rotation import axis_frame, conjugate, multiply, relative, rotate
from mainspring.physics._solver import Solver

__all__ = ["Rapier"]

# A motor pulls its joint like a critically damped spring of about 3 Hz, whatever it carries.
_STIFFNESS, _DAMPING = 400.0, 40.0


class Rapier(Solver):
    """A Rapier world built from a `Model` or the path of its TOML file."""

    engine: ClassVar[str] = "rapier"
    guarantee: ClassVar[Guarantee] = Guarantee(
        bit_identical=True,
        restore=Restore.EXACT,
        releases_gil=True,
        note="single precision; the same bits for any number of threads in the same build",
    )

    def __init__(self, model: Any, *, threads: int | None = None, **settings: Any) -> None:
        self._threads = threads
        super().__init__(model, **settings)

    def _load(self, model: Any) -> None:
        self._r3 = r3 = require("rapier3d", "the Rapier solver", "rapier")
        self.source = source = Model.of(model)
        self._digest = source.digest
        self.bodies = source.names
        self._joint_names = tuple(joint.name for joint in source.joints)
        self._motors = source.motors
        self.controls = tuple(joint.name for joint in self._motors)
        self._values = np.zeros(len(self.controls))
        world = r3.PhysicsWorld(gravity=source.gravity)
        self._handles = [
            world.add_body(_body(r3, body), [_collider(r3, body, source)]) for body in source.bodies
        ]
        self._joint_handles = [
            world.impulse_joints.insert(
                self._handles[self.bodies.index(joint.a)],
                self._handles[self.bodies.index(joint.b)],
                _joint(r3, joint, source),
            )
            for joint in source.joints
        ]
        self._position_of = r3.RigidBody.translation.__get__
        self._rotation_of = r3.RigidBody.rotation.__get__
        self._quaternion_of = r3.Rotation3.quaternion.__get__
        self._linear_of = r3.RigidBody.linvel.__get__
        self._angular_of = r3.RigidBody.angvel.__get__
        self._parts_of = r3.Vec3.to_tuple
        self._start = world.snapshot()
        self._use(world)

    def _use(self, world: Any) -> None:
        """Make `world` the one that is stepped: the handles stay, the views of bodies do not."""
        world.set_num_threads(self._threads)
        self.world = world
        self._step_world = world.step
        bodies = world.rigid_bodies
        self._views = [bodies[handle] for handle in self._handles]

    def _set_engine_step(self, seconds: float) -> None:
        self._dt = seconds
        self.world.integration_parameters.dt = seconds

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Metres a second squared, world axes."""
        return self.source.gravity

    def _model_digest(self) -> bytes:
        return self._digest

    def _advance(self, count: int) -> bool:
        while count:
            count -= 1
            self._step_world()
            if not self.world.quarantine.is_empty():
                return False  # the next step would empty it again
        return True

    def _raise_diverged(self, time_ns: int) -> NoReturn:
        # The engine has already put the body back; its name is all that is left of it.
        bodies = self.world.quarantine.bodies
        row = self._handles.index(bodies[0]) if bodies else -1
        self._diverged(self._named(row), time_ns)

    # Bodies. The loops over bodies run in C: `map` over slots, gathered by `fromiter`.

    def _read_poses(self, position: Array, rotation: Array) -> None:
        count = len(self._views)
        parts = chain.from_iterable(map(self._parts_of, map(self._position_of, self._views)))
        position[...] = np.fromiter(parts, np.float64, 3 * count).reshape(count, 3)
        turns = chain.from_iterable(map(self._quaternion_of, map(self._rotation_of, self._views)))
        xyzw = np.fromiter(turns, np.float64, 4 * count).reshape(count, 4)
        rotation[:, 0] = xyzw[:, 3]
        rotation[:, 1:] = xyzw[:, :3]

    def _read_velocities(self, linear: Array, angular: Array) -> None:
        count = len(self._views)
        for get, out in ((self._linear_of, linear), (self._angular_of, angular)):
            parts = chain.from_iterable(map(self._parts_of, map(get, self._views)))
            out[...] = np.fromiter(parts, np.float64, 3 * count).reshape(count, 3)

    def _write_poses(self, rows: Rows, position: Array, rotation: Array | None) -> None:
        for place, (row, where) in enumerate(zip(rows.tolist(), position.tolist(), strict=True)):
            if rotation is None:
                self._views[row].translation = tuple(where)
            else:
                self._views[row].position = _pose(self._r3, where, rotation[place].tolist())
            self.world.wake_up(self._handles[row])

    def _write_velocities(self, rows: Rows, linear: Array, angular: Array) -> None:
        for row, moved, spun in zip(rows.tolist(), linear.tolist(), angular.tolist(), strict=True):
            view = self._views[row]
            view.linvel, view.angvel = tuple(moved), tuple(spun)
            self.world.wake_up(self._handles[row])

    def _apply_wrenches(self, rows: list[int], wrenches: list[tuple[float, ...]]) -> None:
        for row, wrench in zip(rows, wrenches, strict=True):
            self._views[row].add_force(wrench[:3])
            self._views[row].add_torque(wrench[3:])

    def _clear_wrenches(self, rows: list[int]) -> None:
        for row in rows:
            self._views[row].reset_forces(False)
            self._views[row].reset_torques(False)

    def _write_controls(self, columns: Rows, values: Array) -> None:
        r3 = self._r3
        self._values[columns] = values
        for column, value in zip(columns.tolist(), values.tolist(), strict=True):
            motor = self._motors[column]
            place = self._joint_names.index(motor.name)
            joint = self.world.impulse_joints[self._joint_handles[place]]
            data = joint.data
            axis = r3.JointAxis.ANG_X if motor.kind == "hinge" else r3.JointAxis.LIN_X
            data.set_motor_position(axis, value, _STIFFNESS, _DAMPING)
            joint.data = data
            for body in (motor.a, motor.b):
                self.world.wake_up(self._handles[self._row_of[body]])

    def _read_controls(self) -> Array:
        return self._values.copy()

    # Contacts and rays.

    def _touching(self) -> frozenset[tuple[int, int]]:
        phase, row_of = self.world.narrow_phase, self._row_of_collider
        pairs = [
            (row_of(pair.collider1), row_of(pair.collider2))
            for pair in phase.contact_pairs()
            if pair.has_any_active_contact
        ]
        pairs += [
            (row_of(one), row_of(other))
            for one, other, intersecting in phase.intersection_pairs()
            if intersecting
        ]
        return frozenset((min(pair), max(pair)) for pair in pairs)

    def _row_of_collider(self, handle: Any) -> int:
        return int(handle.index)  # one collider a body, added in the bodies' order

    def contacts(self) -> npt.NDArray[Any]:
        """Every contact point of now; forces are those of the last engine step."""
        found: list[tuple[Any, ...]] = []
        for pair in self.world.narrow_phase.contact_pairs():
            if not pair.has_any_active_contact:
                continue
            first, second = (
                self._row_of_collider(pair.collider1),
                self._row_of_collider(pair.collider2),
            )
            pose = self.world.colliders[pair.collider1].position
            x, y, z, w = pose.rotation.quaternion
            origin = pose.translation.to_tuple()
            for manifold in pair.manifolds:
                normal = np.array(manifold.data.normal.to_tuple())
                for point in manifold.points:
                    local = point.local_p1
                    turned = rotate((w, x, y, z), (local.x, local.y, local.z))
                    where = tuple(o + t for o, t in zip(origin, turned, strict=True))
                    a, b, along = first, second, normal
                    if a > b:
                        a, b, along = b, a, -normal
                    force = point.impulse / self._dt
                    found.append((a, b, where, tuple(along.tolist()), -point.dist, force))
        array = np.array(found, dtype=CONTACT)
        return array[np.lexsort((array["b"], array["a"]))]

    def _cast_rays(
        self, origins: Array, directions: Array, max_distance: float, ignored: int | None
    ) -> RayHits:
        r3, query = self._r3, self.world.query_pipeline
        self.world.update_query_pipeline()
        chosen = r3.QueryFilter().exclude_sensors()
        if ignored is not None:
            chosen = chosen.exclude_rigid_body(self._handles[ignored])
        starts = np.broadcast_to(origins, directions.shape)
        distances = np.full(len(directions), np.inf)
        rows = np.full(len(directions), -1, dtype=np.int32)
        for index, (start, way) in enumerate(
            zip(starts.tolist(), directions.tolist(), strict=True)
        ):
            hit = query.cast_ray(r3.Ray(tuple(start), tuple(way)), max_distance, True, chosen)
            if hit is not None:
                rows[index] = self._row_of_collider(hit[0])
                distances[index] = hit[1]
        return RayHits(distances, rows)

    # State.

    def _save(self) -> Any:
        return [self.world.snapshot(), self._values.copy()]

    def _restore(self, saved: Any) -> None:
        blob, values = saved
        self._use(self._r3.PhysicsWorld.restore(blob))
        self._dt = float(self.world.integration_parameters.dt)
        self._values = np.array(values)
        self._runner_step_s = -1.0  # the step came with the snapshot: fit it again

    def _reset(self) -> None:
        self._restore([self._start, np.zeros(len(self.controls))])


def _pose(r3: Any, position: Any, rotation: Any) -> Any:
    w, x, y, z = rotation
    return r3.Isometry3(tuple(position), r3.Rotation3.from_quaternion(w, x, y, z))


def _body(r3: Any, body: Body) -> Any:
    makers = {
        "fixed": r3.RigidBody.fixed,
        "kinematic": r3.RigidBody.kinematic_velocity_based,
        "dynamic": r3.RigidBody.dynamic,
    }
    made = makers[body.kind]().position(_pose(r3, body.position, body.quaternion))
    return made.linvel(body.velocity).angvel(body.angular_velocity)


def _collider(r3: Any, body: Body, model: Model) -> Any:
    size, shapes = body.size, r3.Collider
    if body.shape == "box":
        made = shapes.cuboid(*size)
    elif body.shape == "sphere":
        made = shapes.ball(*size)
    elif body.shape == "capsule":
        made = shapes.capsule_z(size[1], size[0])
    elif body.shape == "cylinder":
        # Rapier's cylinder stands along y.
        made = shapes.cylinder(size[1], size[0]).rotation((np.pi / 2, 0.0, 0.0))
    elif body.shape == "plane":
        made = shapes.halfspace((0.0, 0.0, 1.0))
    else:
        raise model.refused(
            body,
            f"body {body.name!r} is a {body.shape}, which Rapier does not have",
            "box, sphere, capsule, cylinder or plane",
        )
    if body.shape != "plane":
        made = made.mass(body.computed_mass)
    return made.friction(body.friction).restitution(body.restitution).sensor(body.sensor)


def _joint(r3: Any, joint: Joint, model: Model) -> Any:
    """Both bodies' frames of the joint, x along its axis, so that it starts at zero."""
    mask = r3.JointAxesMask
    locked = {
        "fixed": mask.LOCKED_FIXED_AXES,
        "ball": mask.LOCKED_SPHERICAL_AXES,
        "hinge": mask.LOCKED_REVOLUTE_AXES,
        "slider": mask.LOCKED_PRISMATIC_AXES,
    }
    made = r3.GenericJoint(locked[joint.kind])
    turn = axis_frame(joint.axis)
    ends = {body.name: body for body in model.bodies if body.name in (joint.a, joint.b)}
    for attribute, end in (("local_frame1", joint.a), ("local_frame2", joint.b)):
        body = ends[end]
        at = relative(body.position, body.quaternion, joint.anchor)
        setattr(made, attribute, _pose(r3, at, multiply(conjugate(body.quaternion), turn)))
    axis = r3.JointAxis.ANG_X if joint.kind == "hinge" else r3.JointAxis.LIN_X
    if joint.limits is not None and joint.kind in ("hinge", "slider"):
        made.set_limits(axis, *joint.limits)
    if joint.motor_force is not None:
        made.set_motor_position(axis, 0.0, _STIFFNESS, _DAMPING)
        made.set_motor_max_force(axis, joint.motor_force)
    made.contacts_enabled = False
    return made

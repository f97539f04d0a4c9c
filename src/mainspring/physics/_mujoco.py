"""MuJoCo: articulated bodies, contacts, sensors and actuators from MJCF or URDF.

The promise: poses, contacts and position and velocity sensors are those of now, not of one
step ago, with the bits of `mj_step` and at its cost. The engine's step begins with a first half
that derives them from the positions; it is run when somebody first looks, and then left out of
the next step. Whoever holds `data`, whose arrays anybody may read unseen, has it run after
every step instead. Acceleration sensors (accelerometer, force, touch) tell of the step just
taken. The Runge-Kutta integrator cannot be split: it takes whole steps.

A snapshot is exact: MuJoCo's integration state is everything the next step depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from mainspring.clock import StepContext
from mainspring.physics._errors import PhysicsError, RestoreError, UnknownNameError
from mainspring.physics._joints import motors_of
from mainspring.physics._kinds import (
    CONTACT,
    LARGEST,
    Array,
    Guarantee,
    RayHits,
    Restore,
    Rows,
    require,
)
from mainspring.physics._mujoco_model import (
    listen_to,
    load_model,
    model_digest,
    name_of,
    only_ghosts,
)
from mainspring.physics._rotation import cross
from mainspring.physics._solver import Solver
from mainspring.physics._steps import as_step

__all__ = ["MuJoCo"]

# Why what is derived from positions is behind: mocap bodies were written, which joints do not
# feel before the next step; joints were; or a step was taken and nobody has looked since.
_MOCAP, _JOINTS, _STEPPED = 1, 2, 4


class MuJoCo(Solver):
    """A MuJoCo model: a path to MJCF, URDF or MJB, MJCF text, an `MjSpec` or an `MjModel`."""

    engine: ClassVar[str] = "mujoco"
    guarantee: ClassVar[Guarantee] = Guarantee(
        bit_identical=True,
        restore=Restore.EXACT,
        releases_gil=True,
        note="the integration state is complete; the same build and machine type give the same bits",
    )

    # Loading.

    def _load(self, model: Any) -> None:
        self._mj = mj = require("mujoco", "the MuJoCo solver", "mujoco")
        self.model = m = load_model(mj, model)
        # A bad state must end the run, not be reset behind its back.
        m.opt.disableflags = int(m.opt.disableflags) | int(mj.mjtDisableBit.mjDSBL_AUTORESET)
        self._data = mj.MjData(m)
        self._held = False
        self._digest = model_digest(mj, m)
        self.bodies = tuple(name_of(mj, m, mj.mjtObj.mjOBJ_BODY, i) for i in range(1, m.nbody))
        self.controls = tuple(name_of(mj, m, mj.mjtObj.mjOBJ_ACTUATOR, i) for i in range(m.nu))
        single = [i for i in range(m.njnt) if int(m.jnt_type[i]) >= 2]  # slide and hinge
        self.joints: tuple[str, ...] = tuple(
            name_of(mj, m, mj.mjtObj.mjOBJ_JOINT, i) for i in single
        )
        self._joint_ids = np.array(single, dtype=np.intp)
        self._qpos_at = m.jnt_qposadr[self._joint_ids].astype(np.intp)
        self._dof_at = m.jnt_dofadr[self._joint_ids].astype(np.intp)
        self._motor_of, self._motor_gain = motors_of(mj, m, self._joint_ids)
        split = int(m.opt.integrator) != int(mj.mjtIntegrator.mjINT_RK4)
        self._step1, self._whole = mj.mj_step1, mj.mj_step
        self._finish = mj.mj_step2 if split else mj.mj_step
        self._warnings = listen_to(mj)
        self._sig = int(mj.mjtState.mjSTATE_INTEGRATION)
        self._state_size = mj.mj_stateSize(m, self._sig)
        self._roots = m.body_rootid[1:].astype(np.intp)
        self._mocap: list[int] = m.body_mocapid[1:].tolist()
        mocap = zip(self.bodies, self._mocap, strict=True)
        self._mocap_of = {body: self._data.mocap_pos[i] for body, i in mocap if i >= 0}
        self._ghosts = only_ghosts(mj, m)
        self._rays = _RayBuffers(0)
        self._probe: Any = None
        self._begin()

    def _begin(self) -> None:
        m, d, mj = self.model, self._data, self._mj
        if m.nkey and mj.mj_name2id(m, mj.mjtObj.mjOBJ_KEY, "home") >= 0:
            mj.mj_resetDataKeyframe(m, d, mj.mj_name2id(m, mj.mjtObj.mjOBJ_KEY, "home"))
        # The acceleration sensors and the warm start need one whole forward pass.
        mj.mj_forward(m, d)
        mj.mj_step1(m, d)
        self._behind = 0
        self._listen()

    @property
    def data(self) -> Any:
        """The engine's own data, up to date now and from now on. Read it; write through the solver."""
        self._held = True
        self.refresh()
        return self._data

    def _listen(self) -> None:
        """From now on the engine's warnings are about what happens from now on."""
        for warning in self._data.warning:
            warning.number = 0
        self._warnings_seen = self._warnings.count

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Metres a second squared, world axes."""
        x, y, z = self.model.opt.gravity.tolist()
        return (x, y, z)

    def _own_step(self) -> Fraction | None:
        return as_step(float(self.model.opt.timestep))

    def _set_engine_step(self, seconds: float) -> None:
        self.model.opt.timestep = seconds

    def _model_digest(self) -> bytes:
        return self._digest

    # Stepping.

    def step(self, context: StepContext) -> None:
        """One step of the runner."""
        if (
            self._behind != _STEPPED
            or self._wrenches
            or self._substeps > 1
            or context.ts != self._runner_step_s
        ):
            super().step(context)
            return
        # The short way from one plain step to the next, which is most of them.
        self._whole(self.model, self._data)  # P3
        self.steps += 1
        if self._warnings.count != self._warnings_seen and not self._finite():  # P5
            self._raise_diverged(context.time)
        if self.steps >= self._good_until:  # P6
            self._keep_good(context.time)

    def _advance(self, count: int) -> bool:
        m, d = self.model, self._data
        if self._behind > _MOCAP or (self._behind and not self._ghosts):
            self._whole(m, d, count)
        else:
            self._finish(m, d)
            if count > 1:
                self._whole(m, d, count - 1)
        self._behind = _STEPPED
        if self._held:
            self.refresh()
        # The engine warns when a number is bad, once; only then is it worth a look.
        return self._warnings.count == self._warnings_seen or self._finite()

    def _finite(self) -> bool:
        self._warnings_seen = self._warnings.count
        whole = np.concatenate([self._data.qpos, self._data.qvel, self._data.qacc])
        return bool((np.abs(whole) < LARGEST).all())  # a NaN fails the comparison too

    def _raise_diverged(self, time_ns: int) -> NoReturn:
        m, d = self.model, self._data
        with np.errstate(all="ignore"):
            bad = np.flatnonzero(~((np.abs(d.qvel) < LARGEST) & (np.abs(d.qacc) < LARGEST)))
        if len(bad):
            self._diverged(self._named(int(m.dof_bodyid[bad[0]]) - 1), time_ns)
        super()._raise_diverged(time_ns)

    def refresh(self) -> None:
        """Bring what is derived from positions up to date."""
        if self._behind:
            self._step1(self.model, self._data)
            self._behind = 0

    # Bodies.

    def _read_poses(self, position: Array, rotation: Array) -> None:
        if self._behind:
            self.refresh()
        position[...] = self._data.xpos[1:]
        rotation[...] = self._data.xquat[1:]

    def pose(self, body: str | int) -> tuple[Array, Array]:
        """Position (3,) and rotation (4,) of one body."""
        row = self.row(body)
        if self._behind:
            self.refresh()
        return self._data.xpos[row + 1].copy(), self._data.xquat[row + 1].copy()

    def frame(self, body: str | int) -> tuple[Array, Array]:
        """Position (3,) and rotation matrix (3, 3) of one body."""
        row = self.row(body)
        if self._behind:
            self.refresh()
        d = self._data
        return d.xpos[row + 1].copy(), d.xmat[row + 1].reshape(3, 3).copy()

    def _read_velocities(self, linear: Array, angular: Array) -> None:
        if self._behind:
            self.refresh()
        # cvel is measured at the centre of mass of each body's tree; move it to the body's own.
        d = self._data
        spin = d.cvel[1:, :3]
        arm = d.xipos[1:] - d.subtree_com.take(self._roots, 0)
        angular[...] = spin
        np.add(d.cvel[1:, 3:], cross(spin, arm), out=linear)

    def write_poses(
        self,
        bodies: str | int | Sequence[str | int] | Rows,
        position: npt.ArrayLike,
        rotation: npt.ArrayLike | None = None,
    ) -> None:
        """Put bodies somewhere; without `rotation` they keep theirs."""
        place = self._mocap_of.get(bodies) if rotation is None and type(bodies) is str else None
        if place is None:
            super().write_poses(bodies, position, rotation)
            return
        # A marker or a moving obstacle, put somewhere at every step: the short way, without arrays.
        given: Any = position
        try:
            x, y, z = given
            fits = -LARGEST < x < LARGEST and -LARGEST < y < LARGEST and -LARGEST < z < LARGEST
        except (TypeError, ValueError):
            fits = False
        if not fits:
            x, y, z = self._checked("position", given, (1, 3))[0]  # says what is wrong with it
        place[0], place[1], place[2] = x, y, z
        self._behind |= _MOCAP

    def _write_poses(self, rows: Rows, position: Array, rotation: Array | None) -> None:
        m, d = self.model, self._data
        for place, row in enumerate(rows.tolist()):
            mocap = self._mocap[row]
            if mocap >= 0:
                d.mocap_pos[mocap] = position[place]
                if rotation is not None:
                    d.mocap_quat[mocap] = rotation[place]
                self._behind |= _MOCAP
                continue
            start = int(m.jnt_qposadr[self._free_joint(row)])
            d.qpos[start : start + 3] = position[place]
            if rotation is not None:
                d.qpos[start + 3 : start + 7] = rotation[place]
            self._behind |= _JOINTS

    def _write_velocities(self, rows: Rows, linear: Array, angular: Array) -> None:
        if self._behind:
            self.refresh()  # which way a body points decides what its spin is
        for row, moved, spun in zip(rows.tolist(), linear, angular, strict=True):
            start = int(self.model.jnt_dofadr[self._free_joint(row)])
            turn = np.empty(9)
            self._mj.mju_quat2Mat(turn, self._data.xquat[row + 1])
            # A free joint's velocity is that of the body's frame, its spin along the body's axes.
            offset = turn.reshape(3, 3) @ self.model.body_ipos[row + 1]
            self._data.qvel[start : start + 3] = moved - np.cross(spun, offset)
            self._data.qvel[start + 3 : start + 6] = turn.reshape(3, 3).T @ spun
        self._behind |= _JOINTS

    def _free_joint(self, row: int) -> int:
        m = self.model
        joint = int(m.body_jntadr[row + 1])
        if joint < 0 or int(m.jnt_type[joint]) != 0:
            raise PhysicsError(
                f"solver {self.name!r}: body {self.bodies[row]!r} is held by its parent, "
                "so it cannot be moved by itself",
                hint="write its joints, or give it a freejoint or mocap='true' in the model",
            )
        return joint

    def _apply_wrenches(self, rows: list[int], wrenches: list[tuple[float, ...]]) -> None:
        applied = self._data.xfrc_applied
        for row, wrench in zip(rows, wrenches, strict=True):
            applied[row + 1] += wrench

    def _clear_wrenches(self, rows: list[int]) -> None:
        for row in rows:
            self._data.xfrc_applied[row + 1] = 0.0

    # Joints and actuators.

    def joint_columns(self, names: Any) -> Rows:
        """Where the joints named stand in `joints`."""
        places = {name: column for column, name in enumerate(self.joints)}
        for name in names:
            if name not in places:
                raise UnknownNameError("joint", name, f"solver {self.name!r}", self.joints)
        return np.array([places[name] for name in names], dtype=np.intp)

    def joint_positions(self) -> Array:
        """Angles and displacements of all joints of one degree of freedom, in `joints`' order."""
        taken: Array = self._data.qpos[self._qpos_at]
        return taken

    def joint_velocities(self) -> Array:
        """Their rates."""
        taken: Array = self._data.qvel[self._dof_at]
        return taken

    def joint_limits(self) -> Array:
        """Their ranges (n, 2); without a limit, minus to plus infinity."""
        limits = np.array(self.model.jnt_range[self._joint_ids], dtype=np.float64)
        limits[self.model.jnt_limited[self._joint_ids] == 0] = (-np.inf, np.inf)
        return limits

    def write_joints(
        self, positions: npt.ArrayLike, velocities: npt.ArrayLike | None = None
    ) -> None:
        """Put joints somewhere at once; without `velocities` they stand still."""
        count = len(self.joints)
        self._data.qpos[self._qpos_at] = self._checked("joint position", positions, (count,))
        self._data.qvel[self._dof_at] = (
            0.0 if velocities is None else self._checked("joint velocity", velocities, (count,))
        )
        self._behind |= _JOINTS

    def _write_controls(self, columns: Rows, values: Array) -> None:
        self._data.ctrl[columns] = values

    def _read_controls(self) -> Array:
        return np.array(self._data.ctrl)

    def sensor(self, name: str) -> Array:
        """A model sensor's values."""
        return self.read_sensors(self.sensor_places((name,)))

    def sensor_places(self, names: Sequence[str]) -> Rows:
        """Where the values of model sensors stand in the engine's `sensordata`."""
        mj, m = self._mj, self.model
        places: list[int] = []
        for name in names:
            index = mj.mj_name2id(m, mj.mjtObj.mjOBJ_SENSOR, name)
            if index < 0:
                known = [name_of(mj, m, mj.mjtObj.mjOBJ_SENSOR, i) for i in range(m.nsensor)]
                raise UnknownNameError("sensor", name, f"solver {self.name!r}", known)
            start = int(m.sensor_adr[index])
            places.extend(range(start, start + int(m.sensor_dim[index])))
        return np.array(places, dtype=np.intp)

    def read_sensors(self, places: Rows) -> Array:
        """Their values of now."""
        if self._behind:
            self.refresh()
        values: Array = self._data.sensordata[places]
        return values

    def site(self, name: str) -> int:
        """The engine's number of a site."""
        mj, m = self._mj, self.model
        index = int(mj.mj_name2id(m, mj.mjtObj.mjOBJ_SITE, name))
        if index < 0:
            known = [name_of(mj, m, mj.mjtObj.mjOBJ_SITE, i) for i in range(m.nsite)]
            raise UnknownNameError("site", name, f"solver {self.name!r}", known)
        return index

    def site_position(self, site: str | int) -> Array:
        """Position (3,) of a site."""
        index = self.site(site) if isinstance(site, str) else site
        if self._behind:
            self.refresh()
        place: Array = self._data.site_xpos[index].copy()
        return place

    def site_frame(self, site: str | int) -> tuple[Array, Array]:
        """Position (3,) and rotation matrix (3, 3) of a site."""
        index = self.site(site) if isinstance(site, str) else site
        if self._behind:
            self.refresh()
        d = self._data
        return d.site_xpos[index].copy(), d.site_xmat[index].reshape(3, 3).copy()

    # Contacts and rays.

    def _touching(self) -> frozenset[tuple[int, int]]:
        if self._behind:
            self.refresh()
        contact = self._data.contact
        if not len(contact.dist):
            return frozenset()
        pairs = np.sort(self._rows_of_geoms(contact.geom[contact.dist <= 0]), axis=1)
        return frozenset((a, b) for a, b in pairs.tolist())

    def _rows_of_geoms(self, geoms: npt.NDArray[Any]) -> npt.NDArray[Any]:
        # A flexible body's part is no geom, and has the number -1.
        return np.where(geoms >= 0, self.model.geom_bodyid[geoms] - 1, -1)

    def contacts(self) -> npt.NDArray[Any]:
        """Every contact of now; forces are those the engine would apply now."""
        mj, m = self._mj, self.model
        if self._behind:
            self.refresh()
        # Forces need a forward pass, which would touch the warm start: it runs on a copy.
        if self._probe is None:
            self._probe = mj.MjData(m)
        d = self._probe
        mj.mj_copyState(m, self._data, d, self._sig)
        mj.mj_forward(m, d)
        count = int(d.ncon)
        found = np.zeros(count, dtype=CONTACT)
        force = np.empty(6)
        for index in range(count):
            contact = d.contact[index]
            mj.mj_contactForce(m, d, index, force)
            a, b = self._rows_of_geoms(contact.geom).tolist()
            normal = contact.frame[:3]
            if a > b:
                a, b, normal = b, a, -normal
            found[index] = (a, b, contact.pos, normal, -contact.dist, force[0])
        return found[np.lexsort((found["b"], found["a"]))]

    def _cast_rays(
        self, origins: Array, directions: Array, max_distance: float, ignored: int | None
    ) -> RayHits:
        if len(origins) == 1:
            self._shoot(origins[0], directions, max_distance, ignored)
        else:
            self._shoot_one_by_one(origins, directions, ignored)
        geoms, reach = self._rays.geoms, self._rays.reach
        hit = (geoms >= 0) & (reach <= max_distance)
        distances = np.where(hit, reach, np.inf)
        rows = np.where(hit, self.model.geom_bodyid[geoms] - 1, -1).astype(np.int32)
        return RayHits(distances, rows)

    def ranges(
        self, origin: Array, directions: Array, max_distance: float, ignore: int | None
    ) -> Array:
        """How far unit rays (n, 3) from one origin (3,) get."""
        self._shoot(origin, directions, max_distance, ignore)
        reach = self._rays.reach  # negative where nothing was hit
        return np.where((reach >= 0.0) & (reach <= max_distance), reach, np.inf)

    def _shoot(
        self, origin: Array, directions: Array, max_distance: float, ignored: int | None
    ) -> None:
        """A fan of rays; what they hit is in `_rays`."""
        if self._behind:
            self.refresh()
        count = len(directions)
        rays = self._rays
        if rays.count != count:
            rays = self._rays = _RayBuffers(count)
        self._mj.mj_multiRay(
            self.model, self._data, origin, directions.reshape(-1), None, True,
            -1 if ignored is None else ignored + 1, rays.geoms, rays.reach, None, count,
            max_distance,
        )  # fmt: skip

    def _shoot_one_by_one(self, origins: Array, directions: Array, ignored: int | None) -> None:
        if self._behind:
            self.refresh()
        mj, m, d = self._mj, self.model, self._data
        rays = self._rays = _RayBuffers(len(directions))
        geom = np.empty(1, dtype=np.int32)
        exclude = -1 if ignored is None else ignored + 1
        for index, (origin, way) in enumerate(zip(origins, directions, strict=True)):
            rays.reach[index] = mj.mj_ray(m, d, origin, way, None, True, exclude, geom)
            rays.geoms[index] = geom[0]

    # State.

    def _save(self) -> Any:
        mj, m, d = self._mj, self.model, self._data
        self.refresh()
        saved = np.empty(self._state_size)
        mj.mj_getState(m, d, saved, self._sig)
        # What the last step measured is seen by sensors, so it is state too.
        return [saved, np.array(d.sensordata), np.array(d.qacc)]

    def _restore(self, saved: Any) -> None:
        mj, m, d = self._mj, self.model, self._data
        values, sensed, acceleration = saved
        if len(values) != self._state_size:
            raise RestoreError(
                f"the snapshot of solver {self.name!r} has {len(values)} numbers, "
                f"this build of MuJoCo keeps {self._state_size}"
            )
        mj.mj_setState(m, d, np.ascontiguousarray(values), self._sig)
        mj.mj_step1(m, d)
        self._keep_accelerations(sensed, acceleration)
        self._behind = 0
        self._listen()

    def _keep_accelerations(self, sensed: Array, acceleration: Array) -> None:
        d, m, mj = self._data, self.model, self._mj
        d.qacc[:] = acceleration
        late = int(mj.mjtStage.mjSTAGE_ACC)
        for index in range(m.nsensor):
            if int(m.sensor_needstage[index]) == late:
                at = slice(
                    int(m.sensor_adr[index]), int(m.sensor_adr[index]) + int(m.sensor_dim[index])
                )
                d.sensordata[at] = sensed[at]

    def _reset(self) -> None:
        self._mj.mj_resetData(self.model, self._data)
        self._begin()


class _RayBuffers:
    """Where a fan of rays puts its hits, kept from scan to scan."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.geoms = np.empty(count, dtype=np.int32)
        self.reach = np.empty(count)

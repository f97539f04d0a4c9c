"""MuJoCo: articulated bodies, contacts, sensors and actuators from MJCF or URDF.

A step runs the engine's second half and then the first half of the next one, so that after it
poses, contacts and position and velocity sensors are those of now, not of one step ago, at the
same cost and with the same bits as `mj_step`. Acceleration sensors (accelerometer, force,
touch) tell of the step just taken. The Runge-Kutta integrator cannot be split: it takes whole
steps, followed by a first half.

A snapshot is exact: MuJoCo's integration state is everything the next step depends on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from mainspring import state
from mainspring.physics._errors import ModelError, PhysicsError, RestoreError, UnknownNameError
from mainspring.physics._model import find_file
from mainspring.physics._rotation import cross
from mainspring.physics._solver import (
    CONTACT,
    Array,
    Guarantee,
    RayHits,
    Restore,
    Rows,
    Solver,
    require,
)
from mainspring.physics._steps import as_step

__all__ = ["MuJoCo"]


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
        self.model = m = _model_from(mj, model)
        # A bad state must end the run, not be reset behind its back.
        m.opt.disableflags = int(m.opt.disableflags) | int(mj.mjtDisableBit.mjDSBL_AUTORESET)
        self.data = mj.MjData(m)
        self._digest = _digest(mj, m)
        self.bodies = tuple(_name(mj, m, mj.mjtObj.mjOBJ_BODY, i) for i in range(1, m.nbody))
        self.controls = tuple(_name(mj, m, mj.mjtObj.mjOBJ_ACTUATOR, i) for i in range(m.nu))
        single = [i for i in range(m.njnt) if int(m.jnt_type[i]) >= 2]  # slide and hinge
        self.joints: tuple[str, ...] = tuple(_name(mj, m, mj.mjtObj.mjOBJ_JOINT, i) for i in single)
        self._joint_ids = np.array(single, dtype=np.intp)
        self._qpos_at = m.jnt_qposadr[self._joint_ids].astype(np.intp)
        self._dof_at = m.jnt_dofadr[self._joint_ids].astype(np.intp)
        self._motor_of, self._motor_gain = _motors(mj, m, self._joint_ids)
        self._step1, self._step2, self._whole = mj.mj_step1, mj.mj_step2, mj.mj_step
        self._warnings = _listen_to(mj)
        self._sig = int(mj.mjtState.mjSTATE_INTEGRATION)
        self._state_size = mj.mj_stateSize(m, self._sig)
        self._splits = int(m.opt.integrator) != int(mj.mjtIntegrator.mjINT_RK4)
        self._roots = m.body_rootid[1:].astype(np.intp)
        self._mocap: list[int] = m.body_mocapid[1:].tolist()
        self._ghosts = _only_ghosts(mj, m)
        self._scratch = np.zeros((2, m.nv))
        self._rays = _RayBuffers(0)
        self._probe: Any = None
        self._begin()

    def _begin(self) -> None:
        m, d, mj = self.model, self.data, self._mj
        if m.nkey and mj.mj_name2id(m, mj.mjtObj.mjOBJ_KEY, "home") >= 0:
            mj.mj_resetDataKeyframe(m, d, mj.mj_name2id(m, mj.mjtObj.mjOBJ_KEY, "home"))
        # The acceleration sensors and the warm start need one whole forward pass.
        mj.mj_forward(m, d)
        mj.mj_step1(m, d)
        self._stale = self._moved = False
        self._listen()

    def _listen(self) -> None:
        """From now on the engine's warnings are about what happens from now on."""
        for warning in self.data.warning:
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

    def _advance(self, count: int) -> None:
        m, d = self.model, self.data
        if self._stale or (self._moved and not self._ghosts):
            self.refresh()
        if self._splits:
            self._step2(m, d)
            if count > 1:
                self._whole(m, d, count - 1)
        else:
            self._whole(m, d, count)
        self._step1(m, d)
        self._moved = False

    def _finite(self) -> bool:
        # The engine warns when a number is bad, once; only then is it worth a look.
        if self._warnings.count == self._warnings_seen:
            return True
        self._warnings_seen = self._warnings.count
        whole = np.concatenate([self.data.qpos, self.data.qvel, self.data.qacc])
        return bool((np.abs(whole) < 1e10).all())  # a NaN fails the comparison too

    def _raise_diverged(self, time_ns: int) -> NoReturn:
        m, d = self.model, self.data
        with np.errstate(all="ignore"):
            bad = np.flatnonzero(~((np.abs(d.qvel) < 1e10) & (np.abs(d.qacc) < 1e10)))
        if len(bad):
            self._diverged(self._named(int(m.dof_bodyid[bad[0]]) - 1), time_ns)
        super()._raise_diverged(time_ns)

    def refresh(self) -> None:
        """Bring what is derived from positions up to date after they were written."""
        if self._stale or self._moved:
            self._step1(self.model, self.data)
            self._stale = self._moved = False

    # Two reasons to refresh: `_stale`, joints were written; `_moved`, mocap bodies were, which
    # joints do not feel before the next step.

    # Bodies.

    def _read_poses(self, position: Array, rotation: Array) -> None:
        if self._stale or self._moved:
            self.refresh()
        position[...] = self.data.xpos[1:]
        rotation[...] = self.data.xquat[1:]

    def pose(self, body: str | int) -> tuple[Array, Array]:
        """Position (3,) and rotation (4,) of one body."""
        row = self.row(body) if isinstance(body, str) else body
        if self._stale or self._moved:
            self.refresh()
        return self.data.xpos[row + 1].copy(), self.data.xquat[row + 1].copy()

    def _read_velocities(self, linear: Array, angular: Array) -> None:
        if self._stale or self._moved:
            self.refresh()
        # cvel is measured at the centre of mass of each body's tree; move it to the body's own.
        d = self.data
        spin = d.cvel[1:, :3]
        arm = d.xipos[1:] - d.subtree_com.take(self._roots, 0)
        angular[...] = spin
        np.add(d.cvel[1:, 3:], cross(spin, arm), out=linear)

    def _write_poses(self, rows: Rows, position: Array, rotation: Array | None) -> None:
        m, d = self.model, self.data
        for place, row in enumerate(rows.tolist()):
            mocap = self._mocap[row]
            if mocap >= 0:
                d.mocap_pos[mocap] = position[place]
                if rotation is not None:
                    d.mocap_quat[mocap] = rotation[place]
                self._moved = True
                continue
            start = int(m.jnt_qposadr[self._free_joint(row)])
            d.qpos[start : start + 3] = position[place]
            if rotation is not None:
                d.qpos[start + 3 : start + 7] = rotation[place]
            self._stale = True

    def _write_velocities(self, rows: Rows, linear: Array, angular: Array) -> None:
        if self._stale or self._moved:
            self.refresh()  # which way a body points decides what its spin is
        for row, moved, spun in zip(rows.tolist(), linear, angular, strict=True):
            start = int(self.model.jnt_dofadr[self._free_joint(row)])
            turn = np.empty(9)
            self._mj.mju_quat2Mat(turn, self.data.xquat[row + 1])
            # A free joint's velocity is that of the body's frame, its spin along the body's axes.
            offset = turn.reshape(3, 3) @ self.model.body_ipos[row + 1]
            self.data.qvel[start : start + 3] = moved - np.cross(spun, offset)
            self.data.qvel[start + 3 : start + 6] = turn.reshape(3, 3).T @ spun
        self._stale = True

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
        applied = self.data.xfrc_applied
        for row, wrench in zip(rows, wrenches, strict=True):
            applied[row + 1] += wrench

    def _clear_wrenches(self, rows: list[int]) -> None:
        for row in rows:
            self.data.xfrc_applied[row + 1] = 0.0

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
        taken: Array = self.data.qpos[self._qpos_at]
        return taken

    def joint_velocities(self) -> Array:
        """Their rates."""
        taken: Array = self.data.qvel[self._dof_at]
        return taken

    def joint_reader(self, columns: Rows) -> Callable[[], Array]:
        """A function that gives positions, then rates, of these joints: one array, few lookups."""
        qpos, qvel = self.data.qpos, self.data.qvel
        at, dof, count = self._qpos_at[columns], self._dof_at[columns], len(columns)

        def read() -> Array:
            both = np.empty(2 * count)
            qpos.take(at, out=both[:count])
            qvel.take(dof, out=both[count:])
            return both

        return read

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
        self.data.qpos[self._qpos_at] = self._checked("joint position", positions, (count,))
        self.data.qvel[self._dof_at] = (
            0.0 if velocities is None else self._checked("joint velocity", velocities, (count,))
        )
        self._stale = True

    def gravity_forces(self) -> Array:
        """What holds the joints against gravity and Coriolis forces now."""
        if self._stale:
            self.refresh()
        held: Array = self.data.qfrc_bias[self._dof_at]
        return held

    def inverse_dynamics(self, columns: Rows, acceleration: Array) -> Array:
        """The joint forces that accelerate the joints so, with gravity, Coriolis and what is
        passive (springs, damping) accounted for, and nothing touched."""
        if self._stale:
            self.refresh()
        wanted, needed = self._scratch
        at = self._dof_at[columns]
        wanted.fill(0.0)
        wanted[at] = acceleration
        self._mj.mj_mulM(self.model, self.data, needed, wanted)
        needed += self.data.qfrc_bias
        needed -= self.data.qfrc_passive
        found: Array = needed[at]  # a copy: the scratch is used again
        return found

    def set_joint_forces(self, columns: Rows, forces: Array) -> None:
        """Forces and torques on joints until set again: by their motors where they have one."""
        given = self._checked("joint force", forces, (len(columns),))
        motors = self._motor_of[columns]
        driven = motors >= 0
        if driven.all():
            self.data.ctrl[motors] = given / self._motor_gain[columns]
            return
        self.data.ctrl[motors[driven]] = given[driven] / self._motor_gain[columns[driven]]
        self.data.qfrc_applied[self._dof_at[columns[~driven]]] = given[~driven]

    def _write_controls(self, columns: Rows, values: Array) -> None:
        self.data.ctrl[columns] = values

    def _read_controls(self) -> Array:
        return np.array(self.data.ctrl)

    def sensor(self, name: str) -> Array:
        """A view of a model sensor's values."""
        mj, m = self._mj, self.model
        index = mj.mj_name2id(m, mj.mjtObj.mjOBJ_SENSOR, name)
        if index < 0:
            known = [_name(mj, m, mj.mjtObj.mjOBJ_SENSOR, i) for i in range(m.nsensor)]
            raise UnknownNameError("sensor", name, f"solver {self.name!r}", known)
        start = int(m.sensor_adr[index])
        view: Array = self.data.sensordata[start : start + int(m.sensor_dim[index])]
        return view

    def site(self, name: str) -> int:
        """The engine's number of a site."""
        mj, m = self._mj, self.model
        index = int(mj.mj_name2id(m, mj.mjtObj.mjOBJ_SITE, name))
        if index < 0:
            known = [_name(mj, m, mj.mjtObj.mjOBJ_SITE, i) for i in range(m.nsite)]
            raise UnknownNameError("site", name, f"solver {self.name!r}", known)
        return index

    # Contacts and rays.

    def _touching(self) -> frozenset[tuple[int, int]]:
        if self._stale or self._moved:
            self.refresh()
        contact = self.data.contact
        body = self.model.geom_bodyid
        geom = contact.geom
        pairs = np.sort(body[geom] - 1, axis=1) if len(geom) else np.empty((0, 2), dtype=int)
        near = contact.dist <= 0 if len(geom) else np.empty(0, dtype=bool)
        return frozenset((int(a), int(b)) for a, b in pairs[near].tolist())

    def contacts(self) -> npt.NDArray[Any]:
        """Every contact of now; forces are those the engine would apply now."""
        mj, m = self._mj, self.model
        if self._stale or self._moved:
            self.refresh()
        # Forces need a forward pass, which would touch the warm start: it runs on a copy.
        if self._probe is None:
            self._probe = mj.MjData(m)
        d = self._probe
        mj.mj_copyState(m, self.data, d, self._sig)
        mj.mj_forward(m, d)
        count = int(d.ncon)
        found = np.zeros(count, dtype=CONTACT)
        force = np.empty(6)
        body = m.geom_bodyid
        for index in range(count):
            contact = d.contact[index]
            mj.mj_contactForce(m, d, index, force)
            a, b = int(body[contact.geom[0]]) - 1, int(body[contact.geom[1]]) - 1
            normal = contact.frame[:3]
            if a > b:
                a, b, normal = b, a, -normal
            found[index] = (a, b, contact.pos, normal, -contact.dist, force[0])
        return found[np.lexsort((found["b"], found["a"]))]

    def _cast_rays(
        self, origins: Array, directions: Array, max_distance: float, ignored: int | None
    ) -> RayHits:
        mj, m, d = self._mj, self.model, self.data
        if self._stale or self._moved:
            self.refresh()
        count = len(directions)
        if self._rays.count != count:
            self._rays = _RayBuffers(count)
        geoms, reach = self._rays.geoms, self._rays.reach
        exclude = -1 if ignored is None else ignored + 1
        if len(origins) == 1:
            mj.mj_multiRay(
                m, d, origins[0], directions.reshape(-1), None, True, exclude,
                geoms, reach, None, count, max_distance,
            )  # fmt: skip
        else:
            geom = np.empty(1, dtype=np.int32)
            for index in range(count):
                reach[index] = mj.mj_ray(
                    m, d, origins[index], directions[index], None, True, exclude, geom
                )
                geoms[index] = geom[0]
        hit = (geoms >= 0) & (reach <= max_distance)
        distances = np.where(hit, reach, np.inf)
        rows = np.where(hit, m.geom_bodyid[geoms] - 1, -1).astype(np.int32)
        return RayHits(distances, rows)

    # State.

    def _save(self) -> Any:
        mj, m, d = self._mj, self.model, self.data
        saved = np.empty(self._state_size)
        mj.mj_getState(m, d, saved, self._sig)
        # What the last step measured is seen by sensors, so it is state too.
        return [saved, np.array(d.sensordata), np.array(d.qacc), self._stale, self._moved]

    def _restore(self, saved: Any) -> None:
        mj, m, d = self._mj, self.model, self.data
        values, sensed, acceleration, stale, moved = saved
        if len(values) != self._state_size:
            raise RestoreError(
                f"the snapshot of solver {self.name!r} has {len(values)} numbers, "
                f"this build of MuJoCo keeps {self._state_size}"
            )
        mj.mj_setState(m, d, np.ascontiguousarray(values), self._sig)
        mj.mj_step1(m, d)
        self._keep_accelerations(sensed, acceleration)
        self._stale, self._moved = bool(stale), bool(moved)
        self._listen()

    def _keep_accelerations(self, sensed: Array, acceleration: Array) -> None:
        d, m, mj = self.data, self.model, self._mj
        d.qacc[:] = acceleration
        late = int(mj.mjtStage.mjSTAGE_ACC)
        for index in range(m.nsensor):
            if int(m.sensor_needstage[index]) == late:
                at = slice(
                    int(m.sensor_adr[index]), int(m.sensor_adr[index]) + int(m.sensor_dim[index])
                )
                d.sensordata[at] = sensed[at]

    def _reset(self) -> None:
        self._mj.mj_resetData(self.model, self.data)
        self._begin()


class _Warnings:
    """How often the engine warned in this process, on any thread.

    Listening also keeps MuJoCo from writing MUJOCO_LOG.TXT into the working folder. Whoever
    listened before is still told.
    """

    def __init__(self, before: Any) -> None:
        self.count = 0
        self.last = ""
        self._before = before

    def __call__(self, message: str) -> None:
        self.count += 1
        self.last = message
        if callable(self._before):
            self._before(message)


def _listen_to(mj: Any) -> _Warnings:
    current = mj.get_mju_user_warning()
    if isinstance(current, _Warnings):
        return current
    warnings = _Warnings(current)
    mj.set_mju_user_warning(warnings)
    return warnings


class _RayBuffers:
    """Where a fan of rays puts its hits, kept from scan to scan."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.geoms = np.empty(count, dtype=np.int32)
        self.reach = np.empty(count)


def _model_from(mj: Any, model: Any) -> Any:
    if isinstance(model, mj.MjModel):
        return model
    if isinstance(model, mj.MjSpec):
        return _compiled("<MjSpec>", mj, model.compile)
    if isinstance(model, str) and model.lstrip().startswith("<"):
        return _compiled("<MJCF text>", mj, lambda: mj.MjModel.from_xml_string(model))
    path = find_file(model)
    if not path.is_file():
        raise ModelError(
            "is a folder" if path.is_dir() else "no such file",
            file=str(path),
            hint="a relative path begins in the working folder, or beside the scene file",
        )
    if path.suffix == ".mjb":
        return _compiled(str(path), mj, lambda: mj.MjModel.from_binary_path(str(path)))
    return _compiled(str(path), mj, lambda: mj.MjModel.from_xml_path(str(path)))


def _compiled(file: str, mj: Any, compile_model: Any) -> Any:
    try:
        return compile_model()
    except (ValueError, TypeError, mj.FatalError, mj.UnexpectedError) as error:
        text = " ".join(str(error).split())
        line = re.search(r"[Ll]ine(?: number)?[ =]+(\d+)", text)
        raise ModelError(text, file=file, line=int(line[1]) if line else None) from error


def _digest(mj: Any, model: Any) -> bytes:
    # The timestep belongs to the runner, not to the model.
    step, model.opt.timestep = float(model.opt.timestep), 0.0
    packed = np.empty(mj.mj_sizeModel(model), dtype=np.uint8)
    mj.mj_saveModel(model, None, packed)
    model.opt.timestep = step
    return state.digest(mj.__version__.encode() + packed.tobytes())


def _name(mj: Any, model: Any, kind: Any, index: int) -> str:
    named = mj.mj_id2name(model, kind, index)
    return named or f"{kind.name.removeprefix('mjOBJ_').lower()}_{index}"


def _only_ghosts(mj: Any, model: Any) -> bool:
    """Whether the mocap bodies are for show: nothing touches them or hangs on them.

    Moving such a body changes no force, so the step need not begin anew because of it.
    """
    tied = int(model.neq) or int(model.ntendon)
    tied = tied or (model.actuator_trntype == int(mj.mjtTrn.mjTRN_SITE)).any()
    moving = model.body_mocapid[model.body_rootid] >= 0
    geoms = moving[model.geom_bodyid]
    touchable = (model.geom_contype[geoms] | model.geom_conaffinity[geoms]).any()
    jointed = moving[model.jnt_bodyid].any()
    return not (tied or touchable or jointed or int(model.npair))


def _motors(mj: Any, model: Any, joints: Rows) -> tuple[Rows, Array]:
    """For each joint its plain motor (-1: none), and the force of a control of one."""
    motors = np.full(len(joints), -1, dtype=np.intp)
    gains = np.ones(len(joints))
    columns = {joint: column for column, joint in enumerate(joints.tolist())}
    for index in range(model.nu):
        on_joint = int(model.actuator_trntype[index]) == int(mj.mjtTrn.mjTRN_JOINT)
        fixed = int(model.actuator_gaintype[index]) == int(mj.mjtGain.mjGAIN_FIXED)
        plain = int(model.actuator_biastype[index]) == int(mj.mjtBias.mjBIAS_NONE)
        direct = int(model.actuator_dyntype[index]) == int(mj.mjtDyn.mjDYN_NONE)
        force = float(model.actuator_gear[index][0] * model.actuator_gainprm[index][0])
        column = columns.get(int(model.actuator_trnid[index][0]))
        if on_joint and fixed and plain and direct and force and column is not None:
            motors[column], gains[column] = index, force
    return motors, gains

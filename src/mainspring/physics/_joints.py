"""Joints of a MuJoCo solver: some of them, in the order named, to be read and driven.

Names are looked up once. What lies side by side in the engine is taken as a slice, which is
several times as fast as by index, and it nearly always does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mainspring.physics._errors import PhysicsError
from mainspring.physics._kinds import Array, Rows, finite

if TYPE_CHECKING:
    from mainspring.physics._mujoco import MuJoCo

__all__ = ["JointGroup", "motors_of", "side_by_side"]


class JointGroup:
    """Joints by name, or all of one degree of freedom that the model has."""

    def __init__(self, solver: MuJoCo, names: Sequence[str] | None = None) -> None:
        self._solver = solver
        self._wanted = None if names is None else tuple(names)
        self._bind()

    def _bind(self) -> None:
        solver = self._solver
        self.names: tuple[str, ...] = solver.joints if self._wanted is None else self._wanted
        self.columns = columns = solver.joint_columns(self.names)
        self._shape = (len(columns),)
        self._mj, self._model, self._data = solver._mj, solver.model, solver._data
        data = self._data
        self._qpos, self._qvel, self._ctrl = data.qpos, data.qvel, data.ctrl
        self._bias, self._passive = data.qfrc_bias, data.qfrc_passive
        self._qpos_at = side_by_side(solver._qpos_at[columns])
        self._dof_at = side_by_side(solver._dof_at[columns])
        self._wanted_all, self._needed_all = np.zeros((2, self._model.nv))
        motors, gains = solver._motor_of[columns], solver._motor_gain[columns]
        driven = motors >= 0
        self._driven = None if driven.all() else (driven, solver._dof_at[columns][~driven])
        self._motors = side_by_side(motors[driven])
        self._gains = None if (gains == 1.0).all() else gains[driven]

    def _refresh(self) -> None:
        if self._solver._data is not self._data:  # another model was loaded
            self._bind()
        if self._solver._behind > 1:  # mocap bodies are not felt yet
            self._solver.refresh()

    def state(self) -> Array:
        """Positions, then rates."""
        if self._solver._data is not self._data:
            self._bind()
        return np.concatenate((self._qpos[self._qpos_at], self._qvel[self._dof_at]))

    def holding_forces(self) -> Array:
        """What holds the joints against gravity and Coriolis forces now."""
        self._refresh()
        held: Array = self._bias[self._dof_at].copy()
        return held

    def inverse_dynamics(self, acceleration: Array) -> Array:
        """The forces that accelerate the joints so, with gravity, Coriolis and what is passive
        (springs, damping) accounted for, and nothing touched."""
        self._refresh()
        wanted, needed, at = self._wanted_all, self._needed_all, self._dof_at
        wanted[at] = acceleration
        self._mj.mj_mulM(self._model, self._data, needed, wanted)
        needed += self._bias
        needed -= self._passive
        forces: Array = needed[at].copy()  # the scratch is used again
        return forces

    def drive(self, forces: Array) -> None:
        """Forces and torques on the joints until set again: by their motors where they have one."""
        if self._solver._data is not self._data:
            self._bind()
        if forces.shape != self._shape or not (forces.dot(forces) < math.inf or finite(forces)):
            raise PhysicsError(
                f"solver {self._solver.name!r}: forces {forces} for the joints {', '.join(self.names)}",
                hint="one finite number a joint; the engine was not told",
            )
        pushed = forces
        if self._driven is not None:
            driven, dofs = self._driven
            self._data.qfrc_applied[dofs] = forces[~driven]
            pushed = forces[driven]
        self._ctrl[self._motors] = pushed if self._gains is None else pushed / self._gains


def side_by_side(places: Rows) -> slice | Rows:
    """The places as a slice, where they follow one another."""
    if len(places) and (np.diff(places) == 1).all():
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def motors_of(mj: Any, model: Any, joints: Rows) -> tuple[Rows, Array]:
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

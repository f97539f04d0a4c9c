"""Inverse kinematics: joint positions that bring a site of the model to a place.

Damped least squares with limits: each round solves for the joints that are free to move, takes
the step that the damping allows, and holds a joint that reaches its limit. The damping falls
while the error falls and grows when it does not, so a target out of reach ends at the nearest
place instead of shaking. A small pull towards `posture` uses up what freedom is left.

It works on a copy of the model's state, so it can be called at any time; benchmarks/physics
compares it with mink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mainspring.physics._mujoco import MuJoCo
from mainspring.physics._solver import Array

__all__ = ["IkResult", "InverseKinematics"]


class IkResult(NamedTuple):
    """Joint positions, how far from the target they leave the site, and what it took."""

    positions: Array
    position_error: float
    rotation_error: float
    iterations: int
    converged: bool


class InverseKinematics:
    """Solves for one site of a MuJoCo model, by the joints named or all of them."""

    def __init__(
        self,
        solver: MuJoCo,
        site: str,
        *,
        joints: Sequence[str] | None = None,
        posture: npt.ArrayLike | None = None,
        posture_weight: float = 1e-3,
        position_tolerance: float = 1e-4,
        rotation_tolerance: float = 1e-3,
        max_iterations: int = 60,
    ) -> None:
        mj, model = solver._mj, solver.model
        self._solver, self._mj, self._model = solver, mj, model
        self._data = mj.MjData(model)
        self._site = solver.site(site)
        self.joints = solver.joints if joints is None else tuple(joints)
        columns = solver.joint_columns(self.joints)
        self._columns = columns
        self._qpos_at, self._dof_at = solver._qpos_at[columns], solver._dof_at[columns]
        limits = solver.joint_limits()[columns]
        self._low, self._high = limits[:, 0].copy(), limits[:, 1].copy()
        count = len(columns)
        middle = np.clip(np.zeros(count), self._low, self._high)
        self._posture = middle if posture is None else np.array(posture, dtype=np.float64)
        self._posture_weight = posture_weight
        self._tolerances = (position_tolerance, rotation_tolerance)
        self._max_iterations = max_iterations
        self._jacobian = np.zeros((6, model.nv))
        self._site_pos = self._data.site_xpos[self._site]
        self._site_mat = self._data.site_xmat[self._site]
        self._turn, self._back, self._off = np.empty(4), np.empty(4), np.empty(4)
        self._error = np.zeros(6)

    def solve(
        self,
        position: npt.ArrayLike,
        rotation: npt.ArrayLike | None = None,
        *,
        start: npt.ArrayLike | None = None,
    ) -> IkResult:
        """Joint positions for the site at `position`, turned by `rotation` (w, x, y, z) if given.

        It starts from `start`, or from where the joints are now.
        """
        solver, data = self._solver, self._data
        data.qpos[:] = solver.data.qpos
        joints = (
            solver.joint_positions()[self._columns]
            if start is None
            else np.array(start, dtype=np.float64)
        )
        joints = np.clip(joints, self._low, self._high)
        target = np.array(position, dtype=np.float64)
        turn = None if rotation is None else np.array(rotation, dtype=np.float64)
        rows = 3 if turn is None else 6
        damping = 1e-3
        far, turned = self._miss(joints, target, turn)
        cost = float(self._error[:rows] @ self._error[:rows])
        rounds = 0
        while rounds < self._max_iterations and not self._there(far, turned):
            rounds += 1
            step = self._step(joints, rows, damping)
            tried = np.clip(joints + step, self._low, self._high)
            before = (far, turned, self._error.copy())
            far, turned = self._miss(tried, target, turn)
            new_cost = float(self._error[:rows] @ self._error[:rows])
            if new_cost < cost:
                gained, cost, joints = cost - new_cost, new_cost, tried
                damping = max(damping * 0.2, 1e-8)
                if gained < 1e-14:
                    break
            else:
                far, turned, self._error[:] = before
                damping *= 8.0
                if damping > 1e4:
                    break
                self._place(joints)
        return IkResult(joints, far, turned, rounds, self._there(far, turned))

    def _there(self, far: float, turned: float) -> bool:
        return far <= self._tolerances[0] and turned <= self._tolerances[1]

    def _place(self, joints: Array) -> None:
        data, mj, model = self._data, self._mj, self._model
        data.qpos[self._qpos_at] = joints
        mj.mj_kinematics(model, data)
        mj.mj_comPos(model, data)

    def _miss(self, joints: Array, target: Array, turn: Array | None) -> tuple[float, float]:
        """Put the copy's joints there; the error that is left is in `_error`."""
        self._place(joints)
        mj, error = self._mj, self._error
        np.subtract(target, self._site_pos, out=error[:3])
        far = float(np.sqrt(error[:3] @ error[:3]))
        if turn is None:
            error[3:] = 0.0
            return far, 0.0
        mj.mju_mat2Quat(self._turn, self._site_mat)
        mj.mju_negQuat(self._back, self._turn)
        mj.mju_mulQuat(self._off, turn, self._back)
        mj.mju_quat2Vel(error[3:], self._off, 1.0)
        return far, float(np.sqrt(error[3:] @ error[3:]))

    def _step(self, joints: Array, rows: int, damping: float) -> Array:
        """The damped step of the joints that may move."""
        full = self._jacobian
        self._mj.mj_jacSite(self._model, self._data, full[:3], full[3:], self._site)
        jacobian = full[:rows, self._dof_at]
        error = self._error[:rows]
        free = np.ones(len(joints), dtype=bool)
        step = np.zeros(len(joints))
        for _ in range(3):  # a joint that would leave its range is held, and the rest try again
            held = jacobian[:, free]
            pull = self._posture_weight * (self._posture - joints)[free]
            square = held @ held.T
            square.flat[:: rows + 1] += damping
            # The posture acts only through what the task leaves free.
            moved = held.T @ np.linalg.solve(square, error - held @ pull) + pull
            step[:] = 0.0
            step[free] = moved
            out = (
                free
                & (
                    ((joints + step <= self._low) & (step < 0))
                    | ((joints + step >= self._high) & (step > 0))
                )
                & ((joints <= self._low) | (joints >= self._high))
            )
            if not out.any() or not (free & ~out).any():
                break
            free &= ~out
        return step

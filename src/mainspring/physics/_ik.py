"""Inverse kinematics: joint positions that bring a site of the model to a place.

Damped least squares with limits: each round solves for the joints that are free to move, takes
the step that the damping allows, and holds a joint that reaches its limit. The damping falls
while the error falls and grows when it does not, so a target out of reach ends at the nearest
place instead of shaking. A small pull towards `posture` uses up what freedom is left.

Arrays here are small, so what counts is how many calls a round makes: the engine's own small
functions stand where NumPy's would take several times as long.

It works on a copy of the model's state, so it can be called at any time; benchmarks/physics
compares it with mink.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mainspring.physics._errors import PhysicsError
from mainspring.physics._joints import side_by_side
from mainspring.physics._kinds import Array, finite
from mainspring.physics._mujoco import MuJoCo
from mainspring.physics._sensors import articulated

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
        solver = articulated(solver, "inverse kinematics")
        mj, model = solver._mj, solver.model
        self._solver, self._mj, self._model = solver, mj, model
        self._data = mj.MjData(model)
        self._site = solver.site(site)
        self.joints = solver.joints if joints is None else tuple(joints)
        columns = solver.joint_columns(self.joints)
        self._columns = columns
        self._qpos_at = side_by_side(solver._qpos_at[columns])
        self._dof_at = side_by_side(solver._dof_at[columns])
        limits = solver.joint_limits()[columns]
        self._low, self._high = limits[:, 0].copy(), limits[:, 1].copy()
        count = len(columns)
        middle = np.clip(np.zeros(count), self._low, self._high)
        self._posture = middle if posture is None else np.array(posture, dtype=np.float64)
        self._posture_weight = posture_weight
        self._tolerances = (position_tolerance, rotation_tolerance)
        self._max_iterations = max_iterations
        self._jacobian = np.zeros((6, model.nv))
        self._moves, self._turns = self._jacobian[:3], self._jacobian[3:]
        self._site_pos = self._data.site_xpos[self._site]
        self._site_mat = self._data.site_xmat[self._site]
        self._turn, self._off = np.empty(4), np.empty(3)
        self._error = np.zeros(6)
        self._far, self._turned = self._error[:3], self._error[3:]

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
        data.qpos[:] = solver._data.qpos
        joints = self._within(
            solver.joint_positions()[self._columns]
            if start is None
            else _numbers("start", start, len(self._columns))
        )
        target = _numbers("position", position, 3)
        turn = None if rotation is None else _numbers("rotation", rotation, 4)
        error = self._error if turn is not None else self._far
        damping = 1e-3
        far, turned = self._miss(joints, target, turn)
        cost = float(error.dot(error))
        rounds = 0
        while rounds < self._max_iterations and not self._there(far, turned):
            rounds += 1
            tried = self._within(joints + self._step(joints, error, damping))
            before = (far, turned, error.copy())
            far, turned = self._miss(tried, target, turn)
            new_cost = float(error.dot(error))
            if new_cost < cost:
                gained, cost, joints = cost - new_cost, new_cost, tried
                damping = max(damping * 0.2, 1e-8)
                if gained < 1e-14:
                    break
            else:
                far, turned, error[:] = before
                damping *= 8.0
                if damping > 1e4:
                    break
                self._place(joints)
        return IkResult(joints, far, turned, rounds, self._there(far, turned))

    def _within(self, joints: Array) -> Array:
        inside: Array = np.minimum(np.maximum(joints, self._low), self._high)
        return inside

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
        mj, far = self._mj, self._far
        np.subtract(target, self._site_pos, out=far)
        distance = math.sqrt(far.dot(far))
        if turn is None:
            return distance, 0.0
        mj.mju_mat2Quat(self._turn, self._site_mat)
        mj.mju_subQuat(self._off, turn, self._turn)  # in the site's own axes
        mj.mju_rotVecQuat(self._turned, self._off, self._turn)
        return distance, math.sqrt(self._off.dot(self._off))

    def _step(self, joints: Array, error: Array, damping: float) -> Array:
        """The damped step of the joints that may move."""
        self._mj.mj_jacSite(self._model, self._data, self._moves, self._turns, self._site)
        jacobian = self._jacobian[: len(error), self._dof_at]
        pull = self._posture_weight * (self._posture - joints)
        step = self._damped(jacobian, error, pull, damping)
        stopped = (joints <= self._low) | (joints >= self._high)
        if not np.logical_or.reduce(stopped):
            return step
        free = np.ones(len(joints), dtype=bool)
        for _ in range(2):  # a joint that would leave its range is held, and the rest try again
            tried = joints + step
            out = free & stopped & ((tried < self._low) | (tried > self._high))
            if not out.any() or not (free & ~out).any():
                break
            free &= ~out
            step = np.zeros(len(joints))
            step[free] = self._damped(jacobian[:, free], error, pull[free], damping)
        return step

    def _damped(self, jacobian: Array, error: Array, pull: Array, damping: float) -> Array:
        mj = self._mj
        square = jacobian @ jacobian.T
        square.ravel()[:: len(error) + 1] += damping
        # The posture acts only through what the task leaves free.
        solution = np.empty(len(error))
        mj.mju_cholFactor(square, 0.0)
        mj.mju_cholSolve(solution, square, error - jacobian @ pull)
        step: Array = solution @ jacobian + pull
        return step


def _numbers(what: str, given: npt.ArrayLike, count: int) -> Array:
    """`given` as an array of so many finite numbers."""
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (count,) or not finite(numbers):
        raise PhysicsError(
            f"inverse kinematics of a {what} {given!r:.80}", hint=f"{count} finite numbers"
        )
    return numbers

"""Quaternions (w, x, y, z) as tuples, for the few places that place one thing relative to another."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["axis_frame", "conjugate", "cross", "matrix", "multiply", "relative", "rotate"]

Quaternion = tuple[float, float, float, float]
Vector = tuple[float, float, float]


_YZX, _ZXY = np.array([1, 2, 0]), np.array([2, 0, 1])


def cross(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Vector products of rows (n, 3): what `np.cross` does, in a tenth of its time for few."""
    product: npt.NDArray[np.float64] = a.take(_YZX, 1) * b.take(_ZXY, 1)
    product -= a.take(_ZXY, 1) * b.take(_YZX, 1)
    return product


def matrix(rotation: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The rotation matrix of a quaternion (w, x, y, z)."""
    w, x, y, z = rotation.tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def multiply(a: Sequence[float], b: Sequence[float]) -> Quaternion:
    """The rotation b, then a."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def conjugate(q: Sequence[float]) -> Quaternion:
    """The rotation back."""
    return (q[0], -q[1], -q[2], -q[3])


def rotate(q: Sequence[float], v: Sequence[float]) -> Vector:
    """`v` turned by `q`."""
    w, x, y, z = q
    tx = 2 * (y * v[2] - z * v[1])
    ty = 2 * (z * v[0] - x * v[2])
    tz = 2 * (x * v[1] - y * v[0])
    return (
        v[0] + w * tx + y * tz - z * ty,
        v[1] + w * ty + z * tx - x * tz,
        v[2] + w * tz + x * ty - y * tx,
    )


def relative(
    position: Sequence[float], rotation: Sequence[float], point: Sequence[float]
) -> Vector:
    """A world `point` as seen from the frame at `position` and `rotation`."""
    away = [p - o for p, o in zip(point, position, strict=True)]
    return rotate(conjugate(rotation), away)


def axis_frame(axis: Sequence[float]) -> Quaternion:
    """A rotation that takes x onto `axis`."""
    length = math.hypot(*axis)
    x, y, z = (part / length for part in axis)
    if x < -0.999999:
        return (0.0, 0.0, 0.0, 1.0)
    w, i, j, k = 1 + x, 0.0, -z, y
    norm = math.hypot(w, i, j, k)
    return (w / norm, i / norm, j / norm, k / norm)

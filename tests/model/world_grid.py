"""Spatial queries by looking at everybody: the oracle of the grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def squared(points: NDArray[np.float64], center: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances, with the additions in the order that is promised."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        d = points - center
        return (d[:, 0] * d[:, 0] + d[:, 1] * d[:, 1]) + d[:, 2] * d[:, 2]


def within(points: NDArray[np.float64], center: NDArray[np.float64], radius: float) -> list[int]:
    """Rows within the radius, ascending."""
    if not np.isfinite(center).all():
        return []
    with np.errstate(over="ignore", under="ignore"):
        limit = np.float64(radius) * np.float64(radius)
    near = (squared(points, center) <= limit) & np.isfinite(points).all(axis=1)
    return np.flatnonzero(near).tolist()


def nearest(
    points: NDArray[np.float64], center: NDArray[np.float64], k: int, radius_max: float
) -> list[int]:
    """The k nearest rows, by distance and then row."""
    rows = within(points, center, radius_max)
    distances = squared(points, center)
    return sorted(rows, key=lambda row: (distances[row], row))[:k]

"""What the pictures of the examples share: a plain look, where they go, and boxes in space."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection

BLUE, RED, GREY, GREEN, SAND = "#1f6f8b", "#d1495b", "#5c6670", "#3a8c5f", "#c9c2ae"
LOOK = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


def panels(rows: int, columns: int, size: tuple[float, float], **settings: Any) -> Any:
    """A figure and its panels, `rows` by `columns`, as `plt.subplots` gives them."""
    mpl.rcParams.update(LOOK)
    return plt.subplots(rows, columns, figsize=size, **settings)


def save(figure: Any, out: Path, name: str) -> Path:
    """Write the figure into the folder `out`, which is made if need be."""
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / name, dpi=130)
    plt.close(figure)
    return out / name


def boxes(
    panel: Any, position: Any, rotation: Any, half: float, colours: Any, floor: float
) -> None:
    """Cubes as seen from above and aside, the farthest first, each face by its light, on a
    square floor of half the size `floor` at height zero."""
    sight = np.array([-0.55, -0.72, 0.42]) / np.linalg.norm([-0.55, -0.72, 0.42])
    right = np.cross([0.0, 0.0, 1.0], sight)
    right /= np.linalg.norm(right)
    up = np.cross(sight, right)
    w, x, y, z = rotation.T
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )  # [row, column, box]
    faces, depths, shades = [], [], []
    for axis in range(3):
        across, along = turn[:, (axis + 1) % 3].T * half, turn[:, (axis + 2) % 3].T * half
        for side in (1.0, -1.0):
            normal = side * turn[:, axis].T
            seen = normal @ sight > 0
            middle = (position + half * normal)[seen]
            a, b = across[seen], along[seen]
            corners = np.stack(
                [middle + a + b, middle + a - b, middle - a - b, middle - a + b], axis=1
            )
            faces.append(np.stack([corners @ right, corners @ up], axis=2))
            depths.append(position[seen] @ sight)
            light = 0.45 + 0.55 * np.clip(normal[seen] @ [-0.3, -0.5, 0.81], 0.0, 1.0)
            shades.append(np.clip(colours[seen] * light[:, None], 0.0, 1.0))
    ground = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * floor
    ground = ground + position.mean(axis=0) * [1, 1, 0]
    seen = np.column_stack([ground @ right, ground @ up])
    panel.add_collection(PolyCollection([seen], facecolors=SAND, alpha=0.45, linewidths=0))
    order = np.argsort(np.concatenate(depths), kind="stable")
    panel.add_collection(
        PolyCollection(
            np.concatenate(faces)[order], facecolors=np.concatenate(shades)[order],
            edgecolors=(0, 0, 0, 0.35), linewidths=0.3,
        )
    )  # fmt: skip
    panel.set(aspect="equal", xticks=[], yticks=[])
    panel.autoscale_view()
    for spine in panel.spines.values():
        spine.set_visible(False)

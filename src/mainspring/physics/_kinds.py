"""The words that solvers speak in: contacts, rays, events, and what an engine guarantees."""

from __future__ import annotations

import enum
import importlib
import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mainspring.errors import MissingExtraError

__all__ = [
    "CONTACT",
    "LARGEST",
    "Array",
    "ContactEvent",
    "Guarantee",
    "RayHits",
    "Restore",
    "Rows",
    "bounded",
    "finite",
    "require",
]

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

LARGEST = 1e10
"""No place, speed or force is larger: MuJoCo's own limit, and single precision still counts there."""

CONTACT = np.dtype(
    [
        ("a", np.int32),
        ("b", np.int32),
        ("position", np.float64, 3),
        ("normal", np.float64, 3),
        ("depth", np.float64),
        ("force", np.float64),
    ]
)
"""One contact: two rows (-1: no body), a point, the normal from a to b, how deep, and the
normal force in newtons (NaN where an engine does not tell)."""


class Restore(enum.Enum):
    """How a snapshot becomes the running state again."""

    EXACT = "exact"
    """The engine's whole state is in the snapshot."""
    REPLAY = "replayed from the start"
    """The engine keeps hidden state; the snapshot holds what was written to it, and is replayed."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a solver promises about its runs, in one build on one machine type."""

    bit_identical: bool
    restore: Restore
    releases_gil: bool
    note: str = ""


class RayHits(NamedTuple):
    """Where rays ended: metres (inf: nothing within reach) and the rows hit (-1: no body)."""

    distances: Array
    rows: npt.NDArray[np.int32]


class ContactEvent(NamedTuple):
    """Two bodies began or ended touching since the last time events were asked for."""

    a: str
    b: str
    began: bool


def require(module: str, feature: str, extra: str) -> Any:
    """The engine's module, or an error that names the install command."""
    try:
        # Box2D's module does not survive its own import warnings being made errors.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error


def finite(values: Array) -> bool:
    """Whether all are finite. One product tells for a few numbers, at a third of the cost."""
    flat = values.ravel()
    return bool(flat.dot(flat) < math.inf) or bool(np.isfinite(flat).all())


def bounded(values: Array) -> bool:
    """Whether all are numbers that an engine can count with: finite, and below `LARGEST`."""
    flat = values.ravel()
    return bool(flat.dot(flat) < LARGEST**2) or bool((np.abs(flat) < LARGEST).all())

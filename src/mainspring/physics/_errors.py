"""The physics errors.

PhysicsError
├── ModelError          a model file or description cannot become a simulation
├── StepError           an engine step does not divide its runner's step
├── DivergenceError     the state stopped being finite; carries the last good snapshot
├── UnknownNameError    a body, joint, actuator or site that the model does not have
├── JointClaimError     two controllers want the same joint
├── RestoreError        a snapshot belongs to another model, engine or build
└── SensorError         a sensor cannot be read or set up
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mainspring.errors import MainspringError, nearest

__all__ = [
    "DivergenceError",
    "JointClaimError",
    "ModelError",
    "PhysicsError",
    "RestoreError",
    "SensorError",
    "StepError",
    "UnknownNameError",
]


class PhysicsError(MainspringError):
    """The root of everything the physics layer raises."""


class ModelError(PhysicsError):
    """A model that cannot be loaded: `file`, `line` (None where nothing tells) and `reason`."""

    def __init__(
        self, reason: str, *, file: str, line: int | None = None, hint: str | None = None
    ) -> None:
        where = file if line is None else f"{file}:{line}"
        super().__init__(f"{where}: {reason}", hint=hint)
        self.file = file
        self.line = line
        self.reason = reason


class StepError(PhysicsError):
    """An engine's step does not divide the step of the runner it is bound to."""


class DivergenceError(PhysicsError):
    """The simulation left the finite numbers.

    `time_ns` is the instant at which it was seen, `body` the first body concerned, and
    `snapshot` what the solver's `restore` takes: the last state known to be good, which was
    taken at `snapshot_time_ns`.
    """

    def __init__(
        self,
        solver: str,
        body: str,
        time_ns: int,
        *,
        snapshot: Any,
        snapshot_time_ns: int,
        detail: str = "",
    ) -> None:
        tail = f" ({detail})" if detail else ""
        super().__init__(
            f"solver {solver!r} diverged at {time_ns} ns: body {body!r} is not finite{tail}; "
            f"the last good snapshot is of {snapshot_time_ns} ns",
            hint="a smaller engine step, softer gains or smaller forces; "
            "restore(error.snapshot) returns to the last good state",
        )
        self.solver = solver
        self.body = body
        self.time_ns = time_ns
        self.snapshot = snapshot
        self.snapshot_time_ns = snapshot_time_ns


class UnknownNameError(PhysicsError):
    """A name that the model does not have."""

    def __init__(self, kind: str, name: str, owner: str, known: Iterable[str]) -> None:
        super().__init__(f"{owner} has no {kind} {name!r}", hint=nearest(name, known))
        self.kind = kind
        self.name = name


class JointClaimError(PhysicsError):
    """Two controllers want the same joint of the same solver."""

    def __init__(self, solver: str, joint: str, holder: str, claimant: str) -> None:
        super().__init__(
            f"joint {joint!r} of solver {solver!r} is claimed by controller {holder!r}; "
            f"controller {claimant!r} wants it too",
            hint="give each its own joints, or disable one: its registration in scene.time.registrations",
        )
        self.joint = joint
        self.holder = holder
        self.claimant = claimant


class RestoreError(PhysicsError):
    """A snapshot cannot be restored into this solver."""


class SensorError(PhysicsError):
    """A sensor cannot be set up or read."""

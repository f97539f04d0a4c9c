"""A solver: one physics engine, stepped in the Physics phase of a runner.

The promise, the same for every engine:

- a step takes the bodies from the instant's time to the runner's next boundary, in a whole
  number of engine steps; a step that does not divide is refused (`StepError`);
- poses, velocities, contacts and rays are read in bulk, by row: `bodies[row]` is the name;
- what is written between steps (poses, velocities, forces, controls) reaches the engine at
  the next step, and is part of the state;
- `save`, `restore` and `hash` keep the `guarantee` the class states, and a test proves it;
- a state that is no longer finite ends the run with a `DivergenceError`.

The order of a step is P1 fit the engine's step to the runner's, P2 hand over forces,
P3 the engine steps, P4 forces end, P5 the check for divergence, P6 the last good snapshot.
Poses go into the world's columns by a `PoseBinding`, at the rate of its own runner.

Positions are metres (n, 3), rotations unit quaternions w, x, y, z (n, 4), both float64. Row -1
is what belongs to no body: MuJoCo's world, for one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from mainspring import state
from mainspring.clock import Phase, StepContext
from mainspring.physics._errors import (
    DivergenceError,
    JointClaimError,
    PhysicsError,
    RestoreError,
    StepError,
    UnknownNameError,
)
from mainspring.physics._kinds import (
    LARGEST,
    Array,
    ContactEvent,
    Guarantee,
    RayHits,
    Rows,
    bounded,
)
from mainspring.physics._rotation import matrix
from mainspring.physics._steps import as_step, substeps_of
from mainspring.scene import Scene, Subsystem

__all__ = ["Solver"]


class Solver(Subsystem, ABC):
    """The base of every engine's adapter. Subclasses fill in the methods with an underscore."""

    engine: ClassVar[str] = ""
    guarantee: ClassVar[Guarantee]
    default_phase = Phase.PHYSICS
    bodies: tuple[str, ...]
    """The names of all bodies; a body's place is its row."""
    controls: tuple[str, ...]
    """The names of all actuators."""

    def __init__(
        self,
        model: Any,
        *,
        name: str | None = None,
        step: int | float | str | Fraction | None = None,
        substeps: int | None = None,
    ) -> None:
        self.name = name or self.engine
        if step is not None and substeps is not None:
            raise StepError(
                f"solver {self.name!r} has both step={step!r} and substeps={substeps!r}",
                hint="give one of them",
            )
        if substeps is not None and (type(substeps) is not int or substeps < 1):
            raise StepError(
                f"solver {self.name!r}: {substeps!r} substeps make no step",
                hint="a whole number above zero",
            )
        self._wanted_step = None if step is None else as_step(step)
        self._wanted_substeps = substeps
        self._runner_step_s = -1.0
        self._substeps = 1
        self._good_every = 1
        self._good: tuple[int, Any] = (0, None)
        self._good_until = 0
        self._scene: Scene | None = None
        self._force_rows: list[int] = []
        self._wrenches: list[tuple[float, ...]] = []
        self._touched: frozenset[tuple[int, int]] = frozenset()
        self._claims: dict[str, tuple[str, Callable[[], bool]]] = {}
        self.claim_changes = 0
        """How often joints were claimed or given back."""
        self.returns = 0
        """How often bodies were put back, by a reset, a model or a snapshot: no state, but what
        tells a sensor that it measured something else."""
        self.steps = 0
        """Engine steps since the start."""
        self.epoch = -1
        """How often the bodies were put back to their start."""
        self.load(model)

    def load(self, model: Any) -> None:
        """Put another model in its place: everything begins anew, and sensors forget."""
        self._load(model)
        self._row_of = {body: row for row, body in enumerate(self.bodies)}
        self._all_rows = np.arange(len(self.bodies))
        self._force_rows, self._wrenches = [], []
        self._touched = frozenset()
        self._runner_step_s = -1.0
        self.steps = 0
        self.epoch += 1
        self.returns += 1
        self._good = (self._now(), self.save())

    def attach(self, scene: Scene) -> None:
        """Joins a scene, whose clock says when a snapshot is of; refuses a runner that its step
        does not fit."""
        self._scene = scene
        for place in scene.time.registrations:
            if place.callback == self.step:
                self._count_for(1 / place.runner.rate.hertz)

    def _now(self) -> int:
        return 0 if self._scene is None else self._scene.time.now

    # The engine's side.

    @abstractmethod
    def _load(self, model: Any) -> None:
        """Build the engine's world; set `bodies` and `controls`."""

    @property
    @abstractmethod
    def gravity(self) -> tuple[float, float, float]:
        """Metres a second squared, world axes."""

    @abstractmethod
    def _set_engine_step(self, seconds: float) -> None:
        """Every engine step from now on takes this long."""

    def _own_step(self) -> Fraction | None:
        """The engine step that the model itself asks for."""
        return None

    @abstractmethod
    def _advance(self, count: int) -> bool:
        """Step the engine `count` times; whether its numbers are still finite, told as cheaply
        as it can be: it is asked after every step."""

    @abstractmethod
    def _read_poses(self, position: Array, rotation: Array) -> None: ...

    @abstractmethod
    def _read_velocities(self, linear: Array, angular: Array) -> None: ...

    @abstractmethod
    def _write_poses(self, rows: Rows, position: Array, rotation: Array | None) -> None:
        """Without `rotation`, bodies keep theirs."""

    @abstractmethod
    def _write_velocities(self, rows: Rows, linear: Array, angular: Array) -> None: ...

    @abstractmethod
    def _apply_wrenches(self, rows: list[int], wrenches: list[tuple[float, ...]]) -> None:
        """Forces and torques about the centre of mass, world axes, for all steps until cleared."""

    @abstractmethod
    def _clear_wrenches(self, rows: list[int]) -> None: ...

    @abstractmethod
    def _write_controls(self, columns: Rows, values: Array) -> None: ...

    @abstractmethod
    def _read_controls(self) -> Array: ...

    @abstractmethod
    def contacts(self) -> npt.NDArray[Any]:
        """Every contact of now, as an array of dtype `CONTACT`, sorted by a, then b."""

    def _touching(self) -> frozenset[tuple[int, int]]:
        found = self.contacts()
        return frozenset(zip(found["a"].tolist(), found["b"].tolist(), strict=True))

    @abstractmethod
    def _cast_rays(
        self, origins: Array, directions: Array, max_distance: float, ignored: int | None
    ) -> RayHits: ...

    @abstractmethod
    def _save(self) -> Any: ...

    @abstractmethod
    def _restore(self, saved: Any) -> None: ...

    @abstractmethod
    def _model_digest(self) -> bytes: ...

    # Stepping.

    def step(self, context: StepContext) -> None:
        """One step of the runner."""
        if context.ts != self._runner_step_s:  # P1
            self.fit(1 / context.runner.rate.hertz)
            self._runner_step_s = context.ts
        count = self._substeps
        good = self._step_with_forces(count) if self._wrenches else self._advance(count)  # P3
        self.steps = steps = self.steps + count
        if not good:  # P5
            self._raise_diverged(context.time)
        if steps >= self._good_until:  # P6
            self._keep_good(context.time)

    def _keep_good(self, time_ns: int) -> None:
        position, rotation = self.poses()
        if not (bounded(position) and bounded(rotation)):
            self._raise_diverged(time_ns)
        self._good = (time_ns, self.save())
        self._good_until = self.steps + self._good_every

    def advance(self, count: int = 1) -> None:
        """Step the bare engine, outside any scene, by its own step (1/60 s when none is set)."""
        if self._runner_step_s < 0:
            own = self._wanted_step or self._own_step() or Fraction(1, 60)
            self._set_engine_step(float(own))
            self._runner_step_s = 0.0
        good = self._step_with_forces(count) if self._wrenches else self._advance(count)
        self.steps += count
        if not good:
            self._raise_diverged(self._now())

    def _step_with_forces(self, count: int) -> bool:
        rows, wrenches = self._force_rows, self._wrenches
        self._force_rows, self._wrenches = [], []
        self._apply_wrenches(rows, wrenches)  # P2
        good = self._advance(count)  # P3
        self._clear_wrenches(rows)  # P4
        return good

    def fit(self, runner_step: Fraction) -> int:
        """Fit the engine's step to a runner's step; the number of substeps, or `StepError`."""
        self._substeps = count = self._count_for(runner_step)
        self._set_engine_step(float(runner_step / count))
        # A good snapshot about every simulated second: its cost disappears in the steps between.
        self._good_every = max(1, round(count / runner_step))
        self._good_until = self.steps + self._good_every
        return count

    def _count_for(self, runner_step: Fraction) -> int:
        own = self._wanted_step or self._own_step()
        if self._wanted_substeps is not None:
            return self._wanted_substeps
        return 1 if own is None else substeps_of(runner_step, own, self.name)

    def _raise_diverged(self, time_ns: int) -> NoReturn:
        position, rotation = self.poses()
        linear, angular = self.velocities()
        whole = np.hstack([position, rotation, linear, angular])
        with np.errstate(all="ignore"):
            bad = np.flatnonzero(~(np.abs(whole) < LARGEST).all(axis=1))
        self._diverged(self.bodies[int(bad[0])] if len(bad) else "unknown", time_ns)

    def _diverged(self, body: str, time_ns: int) -> NoReturn:
        good_time, good = self._good
        raise DivergenceError(
            self.name, body, time_ns, snapshot=good, snapshot_time_ns=good_time, detail=self.engine
        )

    # Reading.

    def row(self, body: str | int) -> int:
        """The row of a body, by its name or by its row."""
        row = self._row_of.get(body) if isinstance(body, str) else body
        if row is None:
            raise UnknownNameError("body", str(body), f"solver {self.name!r}", self.bodies)
        if not 0 <= row < len(self.bodies):
            raise PhysicsError(
                f"solver {self.name!r} has rows 0 to {len(self.bodies) - 1}, not {row}"
            )
        return row

    def rows(self, bodies: str | int | Sequence[str | int] | npt.NDArray[Any]) -> Rows:
        """The rows of names, rows, or a mixture; one or many. An array of truth values chooses."""
        if isinstance(bodies, str | int | np.integer):
            row = self.row(bodies)
            return self._all_rows[row : row + 1]
        if not isinstance(bodies, np.ndarray):
            return np.array([self.row(body) for body in bodies], dtype=np.intp)
        if bodies.dtype == bool and bodies.shape == self._all_rows.shape:
            return np.flatnonzero(bodies)
        if bodies.dtype.kind not in "iu":
            raise PhysicsError(
                f"solver {self.name!r}: {bodies.dtype} of shape {bodies.shape} are no rows",
                hint=f"whole numbers, or {len(self.bodies)} truth values",
            )
        found = bodies.astype(np.intp, copy=False).reshape(-1)
        if len(found):
            self.row(int(found.min()))
            self.row(int(found.max()))
        return found

    def poses(self) -> tuple[Array, Array]:
        """Positions (n, 3) and rotations (n, 4) of all bodies."""
        position, rotation = np.empty((len(self.bodies), 3)), np.empty((len(self.bodies), 4))
        self._read_poses(position, rotation)
        return position, rotation

    def pose(self, body: str | int) -> tuple[Array, Array]:
        """Position (3,) and rotation (4,) of one body."""
        row = self.row(body)
        position, rotation = self.poses()
        return position[row], rotation[row]

    def read_poses(self, position: Array, rotation: Array) -> None:
        """Positions and rotations into arrays of your own."""
        self._read_poses(position, rotation)

    def frame(self, body: str | int) -> tuple[Array, Array]:
        """Position (3,) and rotation matrix (3, 3) of one body."""
        position, rotation = self.pose(body)
        return position, matrix(rotation)

    def velocities(self) -> tuple[Array, Array]:
        """Linear and angular velocities (n, 3), of the centres of mass, along world axes."""
        linear, angular = np.empty((len(self.bodies), 3)), np.empty((len(self.bodies), 3))
        self._read_velocities(linear, angular)
        return linear, angular

    def velocity(self, body: str | int) -> tuple[Array, Array]:
        """Linear and angular velocity (3,) of one body's centre of mass, along world axes."""
        row = self.row(body)
        linear, angular = self.velocities()
        return linear[row], angular[row]

    def read_velocities(self, linear: Array, angular: Array) -> None:
        """Velocities into arrays of your own."""
        self._read_velocities(linear, angular)

    def events(self) -> list[ContactEvent]:
        """Which bodies began and ended touching since the last call, in the order of rows.

        A touch that begins and ends between two calls is not seen, and a bounce may last no longer
        than an engine step: who needs every touch asks after every one, and lets substeps be.
        """
        now = self._touching()
        changed = [(pair, True) for pair in now - self._touched]
        changed += [(pair, False) for pair in self._touched - now]
        self._touched = now
        changed.sort()  # a set's order must not be seen
        return [ContactEvent(self._named(a), self._named(b), began) for (a, b), began in changed]

    def _named(self, row: int) -> str:
        return self.bodies[row] if row >= 0 else "world"

    def cast_rays(
        self,
        origins: npt.ArrayLike,
        directions: npt.ArrayLike,
        *,
        max_distance: float = 100.0,
        ignore: str | int | None = None,
    ) -> RayHits:
        """Cast rays from one origin (3,) or one each (n, 3); `ignore` is a body they pass."""
        vectors = np.ascontiguousarray(directions, dtype=np.float64).reshape(-1, 3)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (bounded(vectors) and (norms > 0).all()):
            raise PhysicsError(
                f"solver {self.name!r}: a ray's direction has no length or is not finite"
            )
        starts = np.ascontiguousarray(origins, dtype=np.float64).reshape(-1, 3)
        if len(starts) not in (1, len(vectors)) or not bounded(starts):
            raise PhysicsError(
                f"solver {self.name!r}: {len(starts)} origins for {len(vectors)} rays",
                hint="one origin for all or one each, and every number finite",
            )
        if not 0 < max_distance < LARGEST:
            raise PhysicsError(f"solver {self.name!r}: rays of {max_distance} m")
        row = None if ignore is None else self.row(ignore)
        return self._cast_rays(starts, vectors / norms, float(max_distance), row)

    def ranges(
        self, origin: Array, directions: Array, max_distance: float, ignore: int | None
    ) -> Array:
        """How far unit rays (n, 3) from one origin (3,) get: what a scanner asks, nothing more."""
        return self._cast_rays(origin.reshape(1, 3), directions, max_distance, ignore).distances

    # Writing.

    def write_poses(
        self,
        bodies: str | int | Sequence[str | int] | Rows,
        position: npt.ArrayLike,
        rotation: npt.ArrayLike | None = None,
    ) -> None:
        """Put bodies somewhere; without `rotation` they keep theirs."""
        rows = self.rows(bodies)
        where = self._checked("position", position, (len(rows), 3))
        if rotation is None:
            self._record("positions", rows, where, where)
            self._write_poses(rows, where, None)
            return
        turned = self._checked("rotation", rotation, (len(rows), 4))
        norms = np.linalg.norm(turned, axis=1, keepdims=True)
        if not (norms > 0).all():
            raise PhysicsError(f"solver {self.name!r}: a rotation has length zero")
        turned /= norms
        self._record("poses", rows, where, turned)
        self._write_poses(rows, where, turned)

    def write_velocities(
        self,
        bodies: str | int | Sequence[str | int] | Rows,
        linear: npt.ArrayLike,
        angular: npt.ArrayLike | None = None,
    ) -> None:
        """Give bodies velocities; without `angular` they do not turn."""
        rows = self.rows(bodies)
        moved = self._checked("velocity", linear, (len(rows), 3))
        spun = (
            np.zeros((len(rows), 3))
            if angular is None
            else self._checked("angular velocity", angular, (len(rows), 3))
        )
        self._record("velocities", rows, moved, spun)
        self._write_velocities(rows, moved, spun)

    def apply_force(
        self,
        body: str | int,
        force: Sequence[float] | Array = (0.0, 0.0, 0.0),
        torque: Sequence[float] | Array = (0.0, 0.0, 0.0),
    ) -> None:
        """A force and a torque on a body's centre of mass through the whole of the next step."""
        row = self.row(body)
        wrench = self._checked("force", (*force, *torque), (6,))
        self._force_rows.append(row)
        self._wrenches.append(tuple(wrench.tolist()))

    def set_controls(self, values: npt.ArrayLike, names: Sequence[str] | None = None) -> None:
        """Set actuators, all or those named. They hold until they are set again."""
        if names is None:
            columns = np.arange(len(self.controls))
        else:
            columns = np.array([self._control(name) for name in names], dtype=np.intp)
        given = self._checked("control", values, (len(columns),))
        self._record("controls", columns, given, given)
        self._write_controls(columns, given)

    def control_values(self) -> Array:
        """What the actuators are set to."""
        return self._read_controls()

    def _control(self, name: str) -> int:
        try:
            return self.controls.index(name)
        except ValueError:
            raise UnknownNameError(
                "control", name, f"solver {self.name!r}", self.controls
            ) from None

    def _checked(self, what: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
        try:
            given = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise PhysicsError(
                f"solver {self.name!r}: {what} is no array of numbers: {values!r:.80}",
                hint=f"numbers of shape {shape}",
            ) from None
        if given.shape != shape:
            if given.shape != shape[1:]:
                raise PhysicsError(
                    f"solver {self.name!r}: {what} has the shape {given.shape}",
                    hint=f"wanted {shape}",
                )
            given = given.reshape(1, -1)  # one for all
            if shape[0] != 1:
                given = given.repeat(shape[0], axis=0)
        if not bounded(given):
            trouble = "is beyond 1e10" if np.isfinite(given).all() else "is not finite"
            raise PhysicsError(
                f"solver {self.name!r}: {what} {trouble}",
                hint="look at what computed it: the engine was not told",
            )
        return given

    def _record(self, kind: str, rows: Rows, first: Array, second: Array) -> None:
        """Remember what was written. Only engines that are replayed from the start need it."""

    # Controllers' claims of joints.

    def claim(
        self, owner: str, joints: Sequence[str], driving: Callable[[], bool] = lambda: True
    ) -> None:
        """Take joints for a controller; a joint that another one holds is refused by name.

        `driving` says whether the owner still drives them: one that was switched off gives its
        joints to who claims them next.
        """
        for joint in joints:
            holder, drives = self._claims.get(joint, (owner, driving))
            if holder != owner and drives():
                raise JointClaimError(self.name, joint, holder, owner)
        for joint in joints:
            self._claims[joint] = (owner, driving)
        self.claim_changes += 1

    def release(self, owner: str) -> None:
        """Give back every joint that `owner` holds."""
        self._claims = {joint: held for joint, held in self._claims.items() if held[0] != owner}
        self.claim_changes += 1

    @property
    def claims(self) -> dict[str, str]:
        """Which controller holds which joint."""
        return {joint: owner for joint, (owner, _) in self._claims.items()}

    # State.

    def save(self) -> dict[str, Any]:
        """The whole state, as plain data."""
        return {
            "engine": self.engine,
            "model": self._model_digest(),
            "steps": self.steps,
            "epoch": self.epoch,
            "forces": [self._force_rows.copy(), self._wrenches.copy()],
            "touched": sorted(self._touched),
            "state": self._save(),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go back to what `save` returned."""
        if saved["engine"] != self.engine:
            raise RestoreError(
                f"solver {self.name!r} runs {self.engine}; the snapshot is of {saved['engine']}"
            )
        if saved["model"] != self._model_digest():
            raise RestoreError(
                f"the snapshot of solver {self.name!r} was taken with another model",
                hint="load the model it was taken with",
            )
        self.steps = saved["steps"]
        self._good_until = self.steps + self._good_every
        self.epoch = saved["epoch"]
        self._force_rows = [int(row) for row in saved["forces"][0]]
        self._wrenches = [tuple(wrench) for wrench in saved["forces"][1]]
        self._touched = frozenset((a, b) for a, b in saved["touched"])
        # The world's columns are the world's own state: whoever restores it restores them.
        self._restore(saved["state"])
        self._good = (self._now(), saved)
        self.returns += 1

    def hash(self) -> bytes:
        """16 bytes that are the same for the same state."""
        return state.digest(self.save(), self.name)

    def reset(self) -> None:
        """Put every body back to its start. Sensors forget what they measured."""
        epoch = self.epoch
        self._reset()
        self.epoch = epoch + 1
        self.returns += 1
        self.steps = 0
        self._force_rows, self._wrenches = [], []
        self._touched = frozenset()
        self._good_until = self._good_every
        self._good = (self._now(), self.save())

    @abstractmethod
    def _reset(self) -> None: ...

"""Sensors: what a robot knows about itself and the world, late and a little wrong.

A sensor measures in the Acquisition phase of its runner, at that runner's rate. What it
measured at time t is to be read from t + latency on, with its noise already in it; before the
first measurement arrives, and after a reset, its value is NaN and `valid` is false. Reading
changes nothing, so anybody may read at any time:

    S1 measure at a boundary    S2 add noise    S3 wait for the latency    S4 read

Noise comes from the scene's random stream `sensor/<name>`, so it is the same in every run of
the same seed, and a restored run goes on with the numbers it would have had.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import msgspec
import numpy as np

from mainspring.clock import Phase, StepContext
from mainspring.errors import nearest
from mainspring.physics._errors import SensorError
from mainspring.physics._kinds import LARGEST, Array
from mainspring.physics._solver import Solver
from mainspring.scene import Scene, Subsystem

__all__ = ["Noise", "Reading", "Sensor", "find_solver"]


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a measurement differs from the truth, in the measurement's own unit.

    `std` is white noise, `bias` a constant, `walk` a bias that wanders (per root second), and
    `quantum` the step of the converter.
    """

    std: float = 0.0
    bias: float = 0.0
    walk: float = 0.0
    quantum: float = 0.0

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            value = getattr(self, field)
            if not (abs(value) < LARGEST and (value >= 0 or field == "bias")):
                raise SensorError(
                    f"a noise with {field}={value!r}",
                    hint="finite numbers; only a bias may be negative",
                )


class Reading(NamedTuple):
    """One measurement: when it was taken, when it could first be read, and what it says."""

    time_ns: int
    due_ns: int
    value: Any


def find_solver(scene: Scene, wanted: Solver | str | None, asker: str) -> Solver:
    """The solver meant: the one given, the one of that name, or the scene's only one."""
    solvers = {name: part for name, part in scene.subsystems.items() if isinstance(part, Solver)}
    if isinstance(wanted, Solver):
        if wanted not in solvers.values():
            raise SensorError(
                f"{asker!r} belongs to solver {wanted.name!r}, which is not in scene {scene.name!r}",
                hint="scene.add(solver) first: nobody would step it",
            )
        return wanted
    if wanted is None and len(solvers) == 1:
        return next(iter(solvers.values()))
    if wanted is None:
        raise SensorError(
            f"{asker!r} does not say which solver it belongs to",
            hint=f"solver=...; the scene has: {', '.join(solvers) or 'none'}; add it first",
        )
    if wanted not in solvers:
        raise SensorError(
            f"{asker!r} belongs to solver {wanted!r}, which the scene does not have",
            hint=f"add the solver first; {nearest(wanted, solvers)}",
        )
    return solvers[wanted]


class Sensor(Subsystem, ABC):
    """The base of every sensor. A subclass says what `measure` returns."""

    default_phase = Phase.ACQUISITION

    def __init__(
        self,
        solver: Solver | str | None = None,
        *,
        name: str | None = None,
        latency_s: float = 0.0,
        noise: Noise | dict[str, float] | None = None,
    ) -> None:
        self.name = name or type(self).__name__
        if not 0.0 <= latency_s < 3600.0:
            raise SensorError(f"sensor {self.name!r}: a latency of {latency_s} s makes no sense")
        self.latency_ns = round(latency_s * 1e9)
        self.noise = _noise_of(noise, self.name)
        self._differs = self.noise != Noise()
        self._wanted = solver
        self._scene: Scene | None = None
        self._readings: list[Reading] = []
        self._drift: Array | None = None
        self._drift_ns = 0
        self._seen = 0  # how often the solver's bodies had been put back when it measured
        self._solver: Solver | None = solver if isinstance(solver, Solver) else None
        self._random: np.random.Generator | None = None
        self._blank: Any = None

    @property
    def solver(self) -> Solver:
        """The solver it looks at."""
        if self._solver is None:
            raise SensorError(
                f"sensor {self.name!r} is in no scene yet", hint="scene.add(sensor) first"
            )
        return self._solver

    def attach(self, scene: Scene) -> None:
        """Finds its solver and its random stream."""
        self._scene = scene
        self._solver = find_solver(scene, self._wanted, self.name)
        self._random = scene.random(f"sensor/{self.name}")
        self._seen = self._solver.returns
        self.prepare()

    def prepare(self) -> None:
        """Once the solver is known: look up names, make room."""

    @abstractmethod
    def measure(self, context: StepContext) -> Any:
        """The true value now: an array of floats, or None when there is none yet (S1)."""

    def blank(self) -> Any:
        """What is read before anything was measured."""
        return np.array(np.nan)

    def forget(self) -> None:
        """Drop what was measured: the bodies were put somewhere else."""
        self._readings = []

    def step(self, context: StepContext) -> None:
        """One measurement."""
        if self._solver is not None and self._solver.returns != self._seen:
            self._seen = self._solver.returns
            self.forget()
        truth = self.measure(context)
        now = context.time
        if truth is not None:
            value = self._noisy(truth, now) if self._differs else truth
            self._readings.append(Reading(now, now + self.latency_ns, value))
        # Keep what is still under way, and the newest that has arrived.
        while len(self._readings) > 1 and self._readings[1].due_ns <= now:
            del self._readings[0]

    def _noisy(self, truth: Any, now_ns: int) -> Any:
        noise, random = self.noise, self._stream()
        value = truth + noise.bias if noise.bias or noise.walk else truth
        if noise.walk:
            if self._drift is None or self._drift.shape != value.shape:
                self._drift, self._drift_ns = np.zeros(value.shape), now_ns
            passed_s = (now_ns - self._drift_ns) / 1e9
            self._drift = self._drift + random.normal(
                0.0, noise.walk * np.sqrt(passed_s), value.shape
            )
            self._drift_ns = now_ns
            value = value + self._drift
        if noise.std:
            value = value + random.normal(0.0, noise.std, value.shape)
        if noise.quantum:
            value = np.round(value / noise.quantum) * noise.quantum
        return value

    def _stream(self) -> np.random.Generator:
        if self._random is None:  # outside a scene: by name, so that it repeats
            seed = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "little")
            self._random = np.random.Generator(np.random.PCG64(seed))
        return self._random

    # Reading (S4).

    @property
    def reading(self) -> Reading | None:
        """The newest measurement that has arrived; None while there is none."""
        if self._solver is not None and self._solver.returns != self._seen:
            return None  # measured before the bodies were put back
        now: int = self._scene.time.now if self._scene is not None else 2**63 - 1
        for reading in reversed(self._readings):
            if reading.due_ns <= now:
                newest: Reading = reading
                return newest
        return None

    @property
    def value(self) -> Any:
        """What the newest measurement says; NaN while there is none."""
        reading = self.reading
        if reading is None:
            if self._blank is None:
                self._blank = self.blank()
            return self._blank
        return reading.value

    @property
    def valid(self) -> bool:
        """Whether a measurement has arrived."""
        return self.reading is not None

    @property
    def age_ns(self) -> int | None:
        """How long ago the value was true."""
        reading = self.reading
        if reading is None or self._scene is None:
            return None
        return self._scene.time.now - reading.time_ns

    # State.

    def start(self) -> None:
        """Nothing has been measured yet."""
        self.forget()
        self._drift = None
        self._seen = self.solver.returns

    def save(self) -> Any:
        """What is under way, the newest that arrived, and where the bias has wandered."""
        return {
            "readings": [list(reading) for reading in self._readings],
            "drift": self._drift,
            "drift_ns": self._drift_ns,
            "stale": self.solver.returns != self._seen,
        }

    def restore(self, saved: Any) -> None:
        """Leaves it as it was."""
        self._readings = [Reading(*reading) for reading in saved["readings"]]
        self._drift = saved["drift"]
        self._drift_ns = saved["drift_ns"]
        # The solver, which was added before it, is restored already.
        self._seen = self.solver.returns - saved["stale"]


def _noise_of(given: Noise | dict[str, float] | None, sensor: str) -> Noise:
    if given is None:
        return Noise()
    try:
        return msgspec.convert(given, Noise) if isinstance(given, dict) else given
    except msgspec.ValidationError as error:
        raise SensorError(
            f"sensor {sensor!r}: its noise {given!r}: {error}",
            hint=f"numbers for {', '.join(Noise.__struct_fields__)}",
        ) from error

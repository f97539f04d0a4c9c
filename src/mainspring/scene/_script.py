"""Scripts: behaviour written by the user, driven by lifecycle callbacks.

Each callback is bound for the whole scene to a runner, a phase and a priority, and can be
switched on and off; docs/concepts/scripts.md has the table, and `LIFECYCLE` is it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from mainspring.clock import FreePhase, Phase, Runner, StepContext
from mainspring.clock._registration import check_priority
from mainspring.errors import nearest
from mainspring.scene.errors import SceneError

if TYPE_CHECKING:
    from mainspring.scene._scene import Scene

__all__ = ["LIFECYCLE", "Binding", "Bindings", "Script"]


class Default(msgspec.Struct, frozen=True):
    """Where a lifecycle callback runs in a new scene."""

    phase: Phase | FreePhase
    priority: int = 0
    enabled: bool = False


LIFECYCLE: dict[str, Default] = {
    "on_pre_update": Default(Phase.ACQUISITION),
    "on_update": Default(Phase.CONTROL, -200, True),
    "on_physics_update": Default(Phase.PHYSICS),
    "on_late_update": Default(Phase.VALIDATION, 0, True),
    "on_post_update": Default(Phase.EXPORT),
    "on_free_pre_update": Default(FreePhase.PRE_ACQUISITION),
    "on_free_post_update": Default(FreePhase.POST_EXPORT),
}


class Script:
    """Behaviour in a scene. Override the callbacks you need; each gets `ts`, its runner's step in
    seconds, and finds the whole step context at `self.context`.

    Its attributes are state: they are saved, restored and hashed, so keep plain data in them, or
    override `save` and `restore`.
    """

    name: str = ""
    _scene: Scene | None = None

    @property
    def scene(self) -> Scene:
        """The scene it was added to."""
        if self._scene is None:
            raise SceneError(
                f"script {type(self).__name__} is in no scene yet",
                hint="scene.add(script) first; what needs the scene belongs into on_start",
            )
        return self._scene

    @property
    def context(self) -> StepContext:
        """The context of the step that is running."""
        context = self.scene.time.context
        if context is None:
            raise SceneError(
                f"script {self.name!r} asked for its context outside a step",
                hint="read self.context inside a lifecycle callback",
            )
        return context

    def random(self, stream: str = "") -> np.random.Generator:
        """A random stream of this script's own, seeded by the scene."""
        return self.scene.random(f"{self.name}.{stream}" if stream else self.name)

    def on_start(self) -> None:
        """Before the first instant."""

    def on_stop(self) -> None:
        """When the scene stops."""

    def on_pre_update(self, ts: float) -> None:
        """Acquisition: before control."""

    def on_update(self, ts: float) -> None:
        """Control: the usual place."""

    def on_physics_update(self, ts: float) -> None:
        """Physics: beside the solvers."""

    def on_late_update(self, ts: float) -> None:
        """Validation: after physics."""

    def on_post_update(self, ts: float) -> None:
        """Export: when everything else is done."""

    def on_free_pre_update(self, ts: float) -> None:
        """Once a frame, before its instants; `ts` is the frame's wall time."""

    def on_free_post_update(self, ts: float) -> None:
        """Once a frame, after its instants; `ts` is the frame's wall time."""

    def save(self) -> Any:
        """Its state: every attribute of its own."""
        return {key: value for key, value in vars(self).items() if key not in _FRAMEWORK}

    def restore(self, state: Any) -> None:
        """Leaves its attributes as they were."""
        own = vars(self)
        # All of them, so that they come back in the order they were saved in: it is state, too.
        for key in [k for k in own if k not in _FRAMEWORK]:
            del own[key]
        own.update(state)


_FRAMEWORK = frozenset({"name", "_scene"})


class Binding:
    """Where one lifecycle callback of every script runs. Assigning moves them all."""

    __slots__ = ("_bindings", "_default", "_enabled", "_name", "_phase", "_priority", "_runner")

    def __init__(self, bindings: Bindings, name: str, default: Default) -> None:
        self._bindings = bindings
        self._name = name
        self._default = default
        self._runner: Runner | None = None
        self._phase = default.phase
        self._priority = default.priority
        self._enabled = default.enabled

    @property
    def name(self) -> str:
        """Which callback."""
        return self._name

    @property
    def free(self) -> bool:
        """Whether it runs once a frame, outside the simulation."""
        return isinstance(self._default.phase, FreePhase)

    @property
    def runner(self) -> Runner:
        """Which runner fires it; runner 0 unless it was bound to another."""
        runners = self._bindings.scene.time.runners
        if self._runner is not None and self._runner in runners:
            return self._runner
        return next(iter(runners))

    @runner.setter
    def runner(self, runner: Runner | int | str | None) -> None:
        self._only_fixed("runner")
        runners = self._bindings.scene.time.runners
        self._runner = None if runner is None else runners[runner]
        self._bindings.changed(self)

    @property
    def phase(self) -> Phase | FreePhase:
        """In which phase."""
        return self._phase

    @phase.setter
    def phase(self, phase: Phase | int | str) -> None:
        self._only_fixed("phase")
        self._phase = Phase.parse(phase)
        self._bindings.changed(self)

    @property
    def priority(self) -> int:
        """Lower runs first within a phase."""
        return self._priority

    @priority.setter
    def priority(self, priority: int) -> None:
        self._priority = check_priority(priority)
        self._bindings.changed(self)

    @property
    def enabled(self) -> bool:
        """Whether it runs."""
        return self._enabled

    @enabled.setter
    def enabled(self, enabled: bool) -> None:
        self._enabled = bool(enabled)
        self._bindings.changed(self)

    def as_written(self) -> dict[str, Any]:
        """Its keys as a scene file has them; the runner is None where none was chosen."""
        place = (
            {}
            if self.free
            else {
                "runner": None if self._runner is None else self._runner.name,
                "phase": int(self._phase),
            }
        )
        return {**place, "priority": self._priority, "enabled": self._enabled}

    def _only_fixed(self, what: str) -> None:
        if self.free:
            raise SceneError(
                f"{self._name} has no {what} to choose: it runs once a frame",
                hint="bind one of the other callbacks to a runner",
            )

    def __repr__(self) -> str:
        where = str(self._phase) if self.free else f"{self.runner.name}, {self._phase}"
        state = "on" if self._enabled else "off"
        return f"Binding({self._name}: {where}, {self._priority}, {state})"


class Bindings:
    """The scene's table of lifecycle callbacks, by name or as attributes."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._all = {name: Binding(self, name, default) for name, default in LIFECYCLE.items()}

    def __getitem__(self, name: str) -> Binding:
        try:
            return self._all[name]
        except KeyError:
            raise SceneError(
                f"there is no lifecycle callback {name!r}", hint=nearest(name, self._all)
            ) from None

    def __getattr__(self, name: str) -> Binding:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[Binding]:
        return iter(self._all.values())

    def save(self) -> dict[str, dict[str, Any]]:
        """Where every callback is bound, as plain data."""
        return {binding.name: binding.as_written() for binding in self}

    def restore(self, state: dict[str, dict[str, Any]]) -> None:
        """Bind as `state` says. The places of the scripts are the clock's to restore."""
        runners = self.scene.time.runners
        for name, row in state.items():
            binding = self[name]
            if not binding.free:
                binding._runner = None if row["runner"] is None else runners[row["runner"]]
                binding._phase = Phase(row["phase"])
            binding._priority, binding._enabled = row["priority"], row["enabled"]

    def changed(self, binding: Binding) -> None:
        """Moves every script's callback to where it is bound now."""
        self.scene._rebind(binding)

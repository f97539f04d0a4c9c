"""Subsystems: parts of a scene that register work and have a life cycle of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from mainspring.clock import Phase, StepContext

if TYPE_CHECKING:
    from mainspring.scene._scene import Scene

__all__ = ["Subsystem", "SubsystemLike"]


@runtime_checkable
class SubsystemLike(Protocol):
    """What a scene asks of a subsystem, for those that stand beside it and cannot derive."""

    name: str
    default_runner: Any
    default_phase: Any
    default_priority: Any
    watching: Any

    def attach(self, scene: Scene) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def step(self, context: StepContext) -> None: ...
    def save(self) -> Any: ...
    def restore(self, state: Any) -> None: ...


class Subsystem:
    """A solver, a recorder, a sensor: work at a place of its own, with a start and an end.

    `step(context)` is registered at the place given to `scene.add`, or at the defaults below;
    what needs more registers it in `attach`. A subsystem with state overrides `save` and
    `restore`; the base class keeps nothing and says so.
    """

    name: str = ""
    default_runner: str | int = 0
    default_phase: ClassVar[Phase] = Phase.PHYSICS
    default_priority: ClassVar[int] = 0
    watching: ClassVar[bool] = False
    """Whether it only looks: then neither it nor its step is part of the state, and a scene with
    it and one without have the same hash."""

    def attach(self, scene: Scene) -> None:
        """Joins a scene; register further work here."""

    def start(self) -> None:
        """Before the first instant."""

    def stop(self) -> None:
        """When the scene stops, in the reverse order of starting."""

    def step(self, context: StepContext) -> None:
        """One step of its runner."""

    def save(self) -> Any:
        """Its state; None when it has none."""
        return None

    def restore(self, state: Any) -> None:
        """Leaves it as it was."""

"""Registrations: what runs, on which runner, in which phase, in which order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from mainspring.clock._runner import Runner
from mainspring.clock._words import FreePhase, Phase
from mainspring.clock.errors import RegistrationError

if TYPE_CHECKING:
    from mainspring.clock._manager import TimeManager

__all__ = ["FreeRegistration", "OnError", "Registration", "name_of"]

OnError = Literal["stop", "disable"]
_POLICIES: tuple[OnError, ...] = ("stop", "disable")


def name_of(callback: Callable[..., object]) -> str:
    """What a callback is called where nobody named it."""
    owner = getattr(callback, "__self__", None)
    name: str = getattr(callback, "__name__", type(callback).__name__)
    return name if owner is None or isinstance(owner, type) else f"{type(owner).__name__}.{name}"


class Registration:
    """A callback's place on the timeline. Assign to `runner`, `phase`, `priority` or `enabled`
    to change it; a change made inside an instant shows and takes effect when the instant is over."""

    __slots__ = (
        "__weakref__",
        "_callback",
        "_enabled",
        "_entry",
        "_goes_to",
        "_manager",
        "_name",
        "_on_error",
        "_phase",
        "_priority",
        "_runner",
        "_watching",
        "error",
    )  # fmt: skip

    def __init__(
        self,
        manager: TimeManager,
        callback: Callable[..., object],
        runner: Runner,
        phase: Phase,
        priority: int,
        name: str,
        enabled: bool,
        on_error: OnError,
        watching: bool = False,
    ) -> None:
        self._manager: TimeManager | None = manager
        self._watching = watching
        self._callback: Callable[..., object] | None = callback
        self._runner = self._goes_to = runner
        self._phase = phase
        self._priority = priority
        self._name = name
        self._enabled = enabled
        self._on_error: OnError = on_error
        self._entry = -1
        self.error: BaseException | None = None
        """What it raised last, when its policy is to be disabled."""

    @property
    def callback(self) -> Callable[..., object] | None:
        """What is called; None once removed."""
        return self._callback

    @property
    def name(self) -> str:
        """What it is called in tables and errors."""
        return self._name

    @property
    def runner(self) -> Runner:
        """The runner that fires it."""
        return self._runner

    @runner.setter
    def runner(self, runner: Runner | int | str) -> None:
        self.move(runner=runner)

    @property
    def phase(self) -> Phase:
        """Where in a step it runs."""
        return self._phase

    @phase.setter
    def phase(self, phase: Phase | int | str) -> None:
        self.move(phase=phase)

    @property
    def priority(self) -> int:
        """Lower runs first within a phase."""
        return self._priority

    @priority.setter
    def priority(self, priority: int) -> None:
        self.move(priority=priority)

    @property
    def enabled(self) -> bool:
        """Whether it runs at all."""
        return self._enabled

    @enabled.setter
    def enabled(self, enabled: bool) -> None:
        manager = self._alive()
        manager._check_owner("enabling a registration")

        def change() -> None:
            self._enabled = bool(enabled)
            if self._entry >= 0:
                manager._kernel.enable(self._entry, self._enabled)

        manager._change(change)

    @property
    def on_error(self) -> OnError:
        """ "stop": an exception ends the run; "disable": it is switched off and the run goes on."""
        return self._on_error

    @property
    def removed(self) -> bool:
        """Whether it was taken off the timeline, or is about to be when this instant is over."""
        return self._manager is None

    @property
    def watching(self) -> bool:
        """Whether it only looks; then it is no part of the clock's state."""
        return self._watching

    def enable(self) -> None:
        """Lets it run from the next instant on."""
        self.enabled = True

    def disable(self) -> None:
        """Keeps it from running from the next instant on."""
        self.enabled = False

    def move(
        self,
        *,
        runner: Runner | int | str | None = None,
        phase: Phase | int | str | None = None,
        priority: int | None = None,
    ) -> None:
        """Changes its place; what is not given stays."""
        manager = self._alive()
        manager._check_owner("moving a registration")
        to_runner = None if runner is None else manager.runners[runner]
        to_phase = None if phase is None else Phase.parse(phase)
        to_priority = None if priority is None else check_priority(priority)
        self._goes_to = self._goes_to if to_runner is None else to_runner

        def change() -> None:
            self._runner = self._runner if to_runner is None else to_runner
            self._phase = self._phase if to_phase is None else to_phase
            self._priority = self._priority if to_priority is None else to_priority
            if self._entry >= 0:  # removed before it ever took effect, it never has an entry
                manager._kernel.place(self._entry, self._runner.id, self._phase, self._priority)

        manager._change(change)

    def remove(self) -> None:
        """Takes it off the timeline, for good; removing it again does nothing."""
        if self._manager is not None:
            self._manager._remove(self)

    def _alive(self) -> TimeManager:
        if self._manager is None:
            raise RegistrationError(
                f"registration {self._name!r} was removed", hint="register the callback again"
            )
        return self._manager

    def __repr__(self) -> str:
        state = "removed" if self._manager is None else "enabled" if self._enabled else "disabled"
        return (
            f"Registration({self._name!r}, {self._runner.name}, {self._phase}, "
            f"{self._priority}, {state})"
        )


class FreeRegistration:
    """A free update's place in a frame. Assign to `phase`, `priority` or `enabled` to change it;
    a change made inside a frame shows in its next free phase."""

    __slots__ = (
        "_manager",
        "_phase",
        "_priority",
        "callback",
        "enabled",
        "error",
        "name",
        "on_error",
    )

    def __init__(
        self,
        manager: TimeManager,
        callback: Callable[[Any], object],
        phase: FreePhase,
        priority: int,
        name: str,
        enabled: bool,
        on_error: OnError,
    ) -> None:
        self._manager = manager
        self._phase = phase
        self._priority = priority
        self.callback = callback
        self.name = name
        self.enabled = enabled
        self.on_error: OnError = on_error
        """ "stop": an exception ends the frame; "disable": it is switched off and the frame goes on."""
        self.error: BaseException | None = None
        """What it raised last, when its policy is to be disabled."""

    @property
    def phase(self) -> FreePhase:
        """Before the frame's instants or after them."""
        return self._phase

    @phase.setter
    def phase(self, phase: FreePhase | int | str) -> None:
        self._phase = FreePhase.parse(phase)

    @property
    def priority(self) -> int:
        """Lower runs first within a phase."""
        return self._priority

    @priority.setter
    def priority(self, priority: int) -> None:
        self._priority = check_priority(priority)

    def remove(self) -> None:
        """Takes it out of the frame; removing it again does nothing."""
        if self in self._manager._free:
            self._manager._free.remove(self)

    def __repr__(self) -> str:
        state = "enabled" if self.enabled else "disabled"
        return f"FreeRegistration({self.name!r}, {self._phase}, {self._priority}, {state})"


def check_on_error(on_error: str) -> OnError:
    """`on_error` when it is a policy there is."""
    for policy in _POLICIES:
        if policy == on_error:
            return policy
    raise RegistrationError(f'on_error is "stop" or "disable", not {on_error!r}')


def check_callback(callback: object, name: object) -> str:
    """What `callback` is called, when it can be."""
    if not callable(callback):
        raise RegistrationError(
            f"{callback!r} cannot be called", hint="register a function of the step context"
        )
    if name is None:
        return name_of(callback)
    if not isinstance(name, str) or not name.strip():
        raise RegistrationError(f"a registration's name is a text, not {name!r}")
    return name


def check_priority(priority: int) -> int:
    """`priority` as a whole number the kernel can hold."""
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise RegistrationError(f"a priority is a whole number, not {priority!r}")
    if not -(2**63) <= priority < 2**63:
        raise RegistrationError(f"priority {priority} does not fit 64 bits")
    return priority

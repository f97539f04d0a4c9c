"""The scene: one time manager, and everything that lives on it.

    >>> class Hello(Script):
    ...     def on_update(self, ts):
    ...         print(f"{self.context.time / 1e9:.2f} s")
    >>> scene = Scene()
    >>> _ = scene.add(Hello())
    >>> _ = scene.advance(seconds=0.05)
    0.00 s
    0.02 s
    0.04 s

A scene starts by itself at its first advance. Everything in it that has state is a part:
`save` encodes each, `restore` puts each back, `hash` is one number over all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from mainspring.clock import (
    DEFAULT_RUNNERS,
    FrameContext,
    FrameReport,
    FreeRegistration,
    Inbox,
    Phase,
    RateLike,
    Registration,
    Runner,
    RunReport,
    Time,
    TimeManager,
    TimeMode,
)
from mainspring.errors import MainspringError, StateError, nearest
from mainspring.scene._random import RandomStreams
from mainspring.scene._script import Binding, Bindings, Script
from mainspring.scene._subsystem import Subsystem, SubsystemLike
from mainspring.scene.errors import LifeCycleError, SceneError, SceneWarning
from mainspring.state import Stateful, decode, digest, encode

if TYPE_CHECKING:
    from mainspring.scene._settings import SceneSettings

__all__ = ["Scene"]

_Part = TypeVar("_Part", bound=Script | SubsystemLike)


class Scene:
    """A simulation: a timeline, scripts, subsystems and whatever else was attached."""

    def __init__(
        self,
        name: str = "scene",
        *,
        seed: int = 0,
        runners: Iterable[tuple[str, RateLike]] = DEFAULT_RUNNERS,
        mode: TimeMode | str = TimeMode.SIM_REALTIME,
    ) -> None:
        self.name = name
        self.time = TimeManager(runners=runners, mode=mode, name=name)
        self.random = RandomStreams(seed)
        self.bindings = Bindings(self)
        self.scripts: dict[str, Script] = {}
        self.subsystems: dict[str, SubsystemLike] = {}
        self._parts: dict[str, Stateful] = {
            "clock": self.time,
            "inbox": self.time.inbox,
            "random": self.random,
        }
        self._attached: dict[str, Any] = {}
        self._places: dict[tuple[str, str], Registration | FreeRegistration] = {}
        self.settings: SceneSettings | None = None
        """What its scene file said, when it came from one."""
        self.source: str | None = None
        """The scene file it came from."""
        self.seconds: Time | None = None
        """How long `run` goes on that is not told; None is until somebody stops it."""
        self._started = False
        self._initial: dict[str, bytes | StateError] = {}

    @property
    def inbox(self) -> Inbox:
        """The one way in from outside."""
        return self.time.inbox

    @property
    def seed(self) -> int:
        """What every random stream is seeded by."""
        return self.random.seed

    @property
    def parts(self) -> dict[str, Stateful]:
        """Everything that is state, by name, in the order it is saved and restored."""
        return dict(self._parts)

    @property
    def started(self) -> bool:
        """Whether `start` has run, and `stop` has not since."""
        return self._started

    # -- building ------------------------------------------------------------------------

    def add(
        self,
        part: _Part,
        *,
        name: str | None = None,
        runner: Runner | int | str | None = None,
        phase: Phase | int | str | None = None,
        priority: int | None = None,
    ) -> _Part:
        """Adds a script or a subsystem; the place is a subsystem's own."""
        if isinstance(part, type):
            raise SceneError(
                f"{part.__name__} is a class, and a scene holds what is made of one",
                hint=f"scene.add({part.__name__}(...))",
            )
        if isinstance(part, Script):
            if not (runner is None and phase is None and priority is None):
                raise SceneError(
                    "a script's callbacks are placed by the scene's bindings",
                    hint='set scene.bindings["on_update"].runner and its like',
                )
            self._add_script(part, name)
        elif isinstance(part, SubsystemLike):
            self._add_subsystem(part, name, runner, phase, priority)
        else:
            raise SceneError(
                f"{part!r} is neither a script nor a subsystem",
                hint="derive from mainspring.Script or mainspring.Subsystem, or register a "
                "function with scene.time.register",
            )
        return part

    def _add_script(self, script: Script, name: str | None) -> None:
        script.name = self._free_name(name or script.name or type(script).__name__, self.scripts)
        script._scene = self
        self.scripts[script.name] = script
        self._parts[f"scripts/{script.name}"] = script
        for binding in self.bindings:
            if getattr(type(script), binding.name) is getattr(Script, binding.name):
                continue
            self._bind(script, binding)
            if not binding.enabled:
                warnings.warn(
                    f"script {script.name!r} overrides {binding.name}, which is off in scene "
                    f"{self.name!r}; switch it on with "
                    f"scene.bindings[{binding.name!r}].enabled = True",
                    SceneWarning,
                    stacklevel=3,
                )
        if self._started:
            self._start_part(script)

    def _bind(self, script: Script, binding: Binding) -> None:
        callback = getattr(script, binding.name)
        label = f"{script.name}.{binding.name}"
        place: Registration | FreeRegistration
        if binding.free:

            def once_a_frame(frame: FrameContext) -> None:
                callback(frame.ts)

            place = self.time.register_free(
                once_a_frame,
                int(binding.phase),
                binding.priority,
                name=label,
                enabled=binding.enabled,
            )
        else:
            place = self.time._register(
                callback,
                runner=binding.runner,
                phase=int(binding.phase),
                priority=binding.priority,
                name=label,
                enabled=binding.enabled,
                wants_ts=True,
            )
        self._places[script.name, binding.name] = place

    def _rebind(self, binding: Binding) -> None:
        for (_, callback), place in self._places.items():
            if callback != binding.name:
                continue
            if isinstance(place, Registration):
                place.move(
                    runner=binding.runner, phase=int(binding.phase), priority=binding.priority
                )
            else:
                place.priority = binding.priority
            place.enabled = binding.enabled

    def _add_subsystem(
        self,
        part: SubsystemLike,
        name: str | None,
        runner: Runner | int | str | None,
        phase: Phase | int | str | None,
        priority: int | None,
    ) -> None:
        part.name = self._free_name(name or part.name or type(part).__name__, self.subsystems)
        self.subsystems[part.name] = part
        if not part.watching:
            self._parts[f"subsystems/{part.name}"] = part
        if getattr(type(part), "step", None) is not Subsystem.step:
            self.time.register(
                part.step,
                runner=part.default_runner if runner is None else runner,
                phase=part.default_phase if phase is None else phase,
                priority=part.default_priority if priority is None else priority,
                name=part.name,
                watching=part.watching,
            )
        try:
            part.attach(self)
        except BaseException:  # it never joined: the next of its name is the first
            self._forget_subsystem(part)
            raise
        if self._started:
            self._start_part(part)

    def _forget_subsystem(self, part: SubsystemLike) -> None:
        del self.subsystems[part.name]
        for registration in self.time.registrations:
            if getattr(registration.callback, "__self__", None) is part:
                registration.remove()
        self._parts.pop(f"subsystems/{part.name}", None)

    @staticmethod
    def _free_name(wanted: str, taken: dict[str, Any]) -> str:
        name, again = wanted, 2
        while name in taken:
            name, again = f"{wanted}_{again}", again + 1
        return name

    def remove(self, part: Script | Subsystem | str) -> None:
        """Takes a script or a subsystem out of the scene."""
        name = part if isinstance(part, str) else part.name
        found: Script | SubsystemLike
        if name in self.scripts:
            found = self.scripts.pop(name)
            for key in [k for k in self._places if k[0] == name]:
                self._places.pop(key).remove()
            del self._parts[f"scripts/{name}"]
        elif name in self.subsystems:
            found = self.subsystems[name]
            self._forget_subsystem(found)
        else:
            known = [*self.scripts, *self.subsystems]
            raise SceneError(f"there is nothing called {name!r} here", hint=nearest(name, known))
        failures = self._stop_parts([found]) if self._started else []
        if isinstance(found, Script):
            found._scene = None
        if failures:
            raise failures[0]

    def attach(self, name: str, part: Any) -> None:
        """Makes `part` reachable as `scene.<name>`, and part of the state when it has `save` and
        `restore`."""
        if name in self._attached or hasattr(type(self), name) or name in self.__dict__:
            raise SceneError(f"scene {self.name!r} has a {name!r} already")
        self._attached[name] = part
        if isinstance(part, Stateful):
            self._parts[name] = part

    def __getattr__(self, name: str) -> Any:
        attached = self.__dict__.get("_attached", {})
        if name in attached:
            return attached[name]
        raise AttributeError(
            f"scene {self.__dict__.get('name')!r} has no {name!r}"
            + (f"; {nearest(name, attached)}" if attached else "; nothing was attached to it")
        )

    # -- life cycle ----------------------------------------------------------------------

    def start(self) -> None:
        """Starts subsystems, then scripts, in the order they were added. Advancing does it."""
        if self._started:
            return
        self._initial = {}
        for name, part in self._parts.items():
            try:
                self._initial[name] = encode(part.save(), name)
            except StateError as error:
                self._initial[name] = error
        self._started = True
        started: list[Script | SubsystemLike] = []
        try:
            for part in self._parts_with_a_life():
                self._start_part(part)
                started.append(part)
        except BaseException as error:
            self._started = False
            for failure in self._stop_parts(started):
                error.add_note(str(failure))
            raise

    def stop(self) -> None:
        """Stops scripts, then subsystems, in the reverse order of starting: all of them, whatever
        one raises; the first error is raised at the end."""
        if not self._started:
            return
        self._started = False
        failures = self._stop_parts(self._parts_with_a_life())
        for failure in failures[1:]:
            failures[0].add_note(str(failure))
        if failures:
            raise failures[0]

    def _parts_with_a_life(self) -> list[Script | SubsystemLike]:
        return [*self.subsystems.values(), *self.scripts.values()]

    def _start_part(self, part: Script | SubsystemLike) -> None:
        try:
            part.on_start() if isinstance(part, Script) else part.start()
        except MainspringError:
            raise
        except Exception as error:
            raise self._life_cycle_error(part, "start", error) from error

    def _stop_parts(self, parts: list[Script | SubsystemLike]) -> list[MainspringError]:
        failures: list[MainspringError] = []
        for part in reversed(parts):
            try:
                part.on_stop() if isinstance(part, Script) else part.stop()
            except MainspringError as error:
                failures.append(error)
            except Exception as error:
                failures.append(self._life_cycle_error(part, "stop", error))
                failures[-1].__cause__ = error
        return failures

    def _life_cycle_error(
        self, part: Script | SubsystemLike, what: str, error: Exception
    ) -> LifeCycleError:
        who = f"script {part.name!r}" if isinstance(part, Script) else f"subsystem {part.name!r}"
        callback = f"on_{what}" if isinstance(part, Script) else what
        return LifeCycleError(
            f"{who} raised {type(error).__name__} in {callback}: {error}\n"
            f"  in scene {self.name!r}, time {self.time.now / 1e9:.9f} s"
        )

    def reset(self) -> None:
        """Back to before the first instant: time 0, and every part as it was before it started."""
        initial = self._initial
        self.stop()
        clock = initial.get("clock")
        self.time.reset(decode(clock) if isinstance(clock, bytes) else None)
        for name, saved in initial.items():
            if name == "clock" or name not in self._parts:
                continue
            if isinstance(saved, StateError):
                warnings.warn(
                    f"{name} keeps what it holds, because it cannot be saved: {saved.message}",
                    SceneWarning,
                    stacklevel=2,
                )
            else:
                self._parts[name].restore(decode(saved))

    # -- advancing -----------------------------------------------------------------------

    def advance(
        self,
        seconds: Time | None = None,
        *,
        ns: int | None = None,
        instants: int | None = None,
        steps: int | None = None,
        runner: Runner | int | str | None = None,
    ) -> RunReport:
        """Runs deterministically, as fast as it goes: every instant in `[now, now + d)`, or a
        number of instants, or of one runner's steps."""
        self.start()
        return self.time.advance(seconds, ns=ns, instants=instants, steps=steps, runner=runner)

    def frame(self, elapsed_ns: int) -> FrameReport:
        """One frame after `elapsed_ns` of wall time, in the current mode."""
        self.start()
        return self.time.frame(elapsed_ns)

    def run(
        self,
        seconds: Time | None = None,
        *,
        mode: TimeMode | str | None = None,
        progress: Callable[[RunReport], object] | bool = False,
    ) -> RunReport:
        """Runs the outer loop for real, frame after frame, until the end or Ctrl-C.

        Without `seconds` the end is the scene's own, if it has one. `progress` is told how far it
        is ten times a second; True shows a bar."""
        self.start()
        wanted = self.seconds if seconds is None else seconds
        return self.time.run(wanted, mode=mode, progress=progress)

    # -- state ---------------------------------------------------------------------------

    def save(self) -> dict[str, bytes]:
        """The complete state, encoded part by part; refused inside an instant that broke off."""
        self.time.check_whole("save")
        return {name: encode(part.save(), name) for name, part in self._parts.items()}

    def restore(self, state: dict[str, bytes]) -> None:
        """Leaves the scene as it was when `state` was saved; it must be built in the same way."""
        missing = [name for name in state if name not in self._parts]
        extra = [name for name in self._parts if name not in state]
        if missing or extra:
            raise SceneError(
                "the saved state is of another scene: "
                + "; ".join(
                    [
                        *(f"{name} is missing here" for name in missing),
                        *(f"{name} is not in the state" for name in extra),
                    ]
                ),
                hint="restore into a scene built in the same way",
            )
        self.start()
        for name, part in self._parts.items():
            part.restore(decode(state[name]))

    def part_hashes(self) -> dict[str, bytes]:
        """A 16-byte hash of each part."""
        return {name: digest(part.save(), name) for name, part in self._parts.items()}

    def hash(self) -> bytes:
        """A 16-byte hash of the complete state."""
        return digest(self.part_hashes())

    def check_free_updates(self, on: bool = True) -> None:
        """Proves, at the price of two hashes each, that free updates only look."""
        self.time.free_check = self.hash if on else None

    def __repr__(self) -> str:
        return (
            f"Scene({self.name!r}, {len(self.time.runners)} runners, {len(self.scripts)} scripts, "
            f"{len(self.subsystems)} subsystems, now {self.time.now / 1e9:.9g} s)"
        )

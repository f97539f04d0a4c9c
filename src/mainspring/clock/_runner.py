"""Runners: the fixed-rate clocks of a scene, at most eight of them on one timeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mainspring._kernel.clock import MAX_RUNNERS
from mainspring.clock._rate import Rate, RateLike
from mainspring.clock.errors import RunnerError
from mainspring.errors import nearest

if TYPE_CHECKING:
    from mainspring.clock._manager import TimeManager

__all__ = ["Runner", "Runners"]


class Runner:
    """A fixed-rate clock. Its properties are its live state, which callbacks may read."""

    __slots__ = ("__weakref__", "_id", "_manager", "_name", "_rate")

    def __init__(self, manager: TimeManager, runner_id: int, name: str, rate: Rate) -> None:
        self._manager = manager
        self._id = runner_id
        self._name = name
        self._rate = rate

    @property
    def id(self) -> int:
        """0 to 7; the order in which runners are shown."""
        return self._id

    @property
    def name(self) -> str:
        """Unique among the runners of a scene; assign to rename."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._manager.runners.rename(self, name)

    @property
    def rate(self) -> Rate:
        """How often it steps; assign to change it, with a new origin at the change."""
        return self._rate

    @rate.setter
    def rate(self, rate: RateLike) -> None:
        self._manager.runners.set_rate(self, rate)

    @property
    def ts(self) -> float:
        """Its step in seconds, the same at every step."""
        return self._rate.seconds

    @property
    def step(self) -> int:
        """The index of its current step; -1 before its first."""
        return self._manager._kernel.runner(self._id)[0]

    @property
    def last_ns(self) -> int:
        """The time of its last boundary; its origin before the first."""
        return self._manager._kernel.runner(self._id)[1]

    @property
    def next_ns(self) -> int:
        """The time of its next boundary."""
        return self._manager._kernel.runner(self._id)[2]

    @property
    def dt(self) -> int:
        """The exact length of its current step, in nanoseconds."""
        return self._manager._kernel.runner(self._id)[3]

    @property
    def origin_ns(self) -> int:
        """Where its boundaries are counted from."""
        return self._manager._kernel.runner(self._id)[4]

    @property
    def alpha(self) -> float:
        """How far it is from its last boundary to its next, in [0, 1)."""
        return self._manager._kernel.alpha(self._id)

    def __repr__(self) -> str:
        return f"Runner({self._id}, {self._name!r}, {str(self._rate)!r})"


class Runners:
    """The runners of a timeline, by id or name, in the order of their ids."""

    def __init__(self, manager: TimeManager) -> None:
        self._manager = manager
        self._by_id: dict[int, Runner] = {}

    def add(self, name: str, rate: RateLike) -> Runner:
        """Adds a runner with the lowest free id. Its boundaries are counted from now; added inside
        an instant, its first step is one step from it."""
        self._manager._check_owner("runners.add")
        self._check_name(name)
        exact = Rate(rate)
        free = next((i for i in range(MAX_RUNNERS) if i not in self._by_id), None)
        if free is None:
            raise RunnerError(
                f"runner {name!r} would be the ninth; a scene has at most {MAX_RUNNERS}",
                hint="remove one first, or let two jobs share a runner",
            )
        runner = Runner(self._manager, free, name, exact)
        self._by_id[free] = runner
        self._by_id = dict(sorted(self._by_id.items()))
        self._manager._change(lambda: self._manager._begin_beat(runner))
        return runner

    def remove(self, runner: Runner | int | str) -> None:
        """Removes a runner that nothing is registered with; at least one must stay."""
        self._manager._check_owner("runners.remove")
        found = self[runner]
        if len(self._by_id) == 1:
            raise RunnerError(f"runner {found.name!r} is the last one; a scene has at least one")
        # Where each will be once the instant is over: it may have been moved a moment ago.
        used = [
            r.name for r in self._manager.registrations if r._goes_to is found and not r.removed
        ]
        if used:
            raise RunnerError(
                f"runner {found.name!r} still runs {', '.join(used)}",
                hint="move them to another runner or remove them first",
            )
        del self._by_id[found.id]
        self._manager._change(lambda: self._manager._kernel.clear_runner(found.id))

    def rename(self, runner: Runner | int | str, name: str) -> None:
        """Gives a runner another name."""
        self._manager._check_owner("runners.rename")
        found = self[runner]
        if name != found.name:
            self._check_name(name)
            found._name = name

    def set_rate(self, runner: Runner | int | str, rate: RateLike) -> None:
        """Changes a runner's rate, with a new origin at the change."""
        self._manager._check_owner("runners.set_rate")
        found = self[runner]
        exact = Rate(rate)

        def change() -> None:
            if exact != found._rate:
                found._rate = exact
                self._manager._begin_beat(found)

        self._manager._change(change)

    def _check_name(self, name: object) -> None:
        if not isinstance(name, str) or not name.strip():
            raise RunnerError(f"a runner needs a name, not {name!r}")
        if any(r.name == name for r in self._by_id.values()):
            raise RunnerError(f"there is a runner {name!r} already", hint="names are unique")

    def __getitem__(self, key: Runner | int | str) -> Runner:
        if isinstance(key, Runner):
            if self._by_id.get(key.id) is key:
                return key
        elif isinstance(key, str):
            for runner in self._by_id.values():
                if runner.name == key:
                    return runner
        elif type(key) is int and key in self._by_id:
            return self._by_id[key]
        names = [r.name for r in self._by_id.values()]
        if isinstance(key, Runner):
            raise RunnerError(
                f"runner {key.name!r} belongs to another scene, or was removed from this one",
                hint=f"known: {', '.join(names)}",
            )
        if isinstance(key, int):
            ids = ", ".join(f"{r.id} ({r.name})" for r in self._by_id.values())
            raise RunnerError(f"there is no runner {key}", hint=f"known: {ids}")
        raise RunnerError(f"there is no runner {key!r}", hint=nearest(str(key), names))

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[index]
        except RunnerError:
            return False
        return True

    def __iter__(self) -> Iterator[Runner]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def __repr__(self) -> str:
        return f"Runners({', '.join(f'{r.name} {r.rate}' for r in self)})"

"""Skills: typed, permissioned functions, the one way to change a world from outside.

A client's intent, an agent's tool call, a remote call and a console command all become one
`invoke`. It checks, in this order, that the skill exists, that the actor may use it, that the
arguments fit its annotations and that nobody has to approve it first; then it runs the
function. The answer is an `Outcome`: accepted with a value, refused with a reason and a code,
or pending.

| code | why it was refused |
| --- | --- |
| `unknown_skill` | there is no skill of that name |
| `permission` | the actor lacks the skill's permission |
| `arguments` | the arguments do not fit |
| `depth` | skills have called skills too many times over |
| `refused` | the skill raised `SkillRefused` |
| `error` | the skill raised anything else, or returned what cannot be kept |
| `denied` | somebody denied the approval |
| `malformed` | an intent that does not say which skill |
| `lost` | the world was restored to a moment before the intent |

A refused call changes nothing: what the skill did to entities, tags, components, permissions,
approvals and the world's random streams before it raised is undone, the ids it was given
included. What it did to objects outside the world is its own affair, and so is a struct that it
kept from an earlier call instead of asking the entity for it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar

import msgspec
import numpy as np

from mainspring.errors import nearest
from mainspring.world._arguments import Signature
from mainspring.world._errors import SkillError

if TYPE_CHECKING:
    from mainspring.world._world import World

__all__ = ["Outcome", "Skill", "SkillContext", "Skills", "holds"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*$")


def holds(permissions: Iterable[str], needed: str | None) -> bool:
    """Whether one of `permissions` is, or covers, the one needed: `*` covers all, `yard.*` covers
    `yard.move`."""
    if needed is None:
        return True
    for held in permissions:
        if held in (needed, "*") or (held.endswith(".*") and needed.startswith(held[:-1])):
            return True
    return False


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a call."""

    status: Literal["accepted", "refused", "pending"]
    skill: str
    actor: str
    value: Any = None
    """What the skill returned, as plain data: an entity as its id."""
    reason: str = ""
    """Why it was refused, for people."""
    code: str = ""
    """Why it was refused, for programs."""
    request: str | None = None
    """The approval it waits for, or waited for."""
    time_ns: int = 0
    """The instant at which this was decided."""
    seq: int | None = None
    """The input it came from; None for a call from inside."""

    @property
    def accepted(self) -> bool:
        return self.status == "accepted"

    @property
    def refused(self) -> bool:
        return self.status == "refused"

    @property
    def pending(self) -> bool:
        return self.status == "pending"

    def unwrap(self) -> Any:
        """The value; an error with the reason unless it was accepted."""
        if self.accepted:
            return self.value
        waits = f"waits for approval {self.request}"
        raise SkillError(f"{self.actor}: {self.skill} {waits if self.pending else self.reason}")


class SkillContext:
    """Who calls a skill, when, and the world it works in."""

    __slots__ = ("actor", "permissions", "seq", "time_ns", "world")

    def __init__(
        self, world: World, actor: str, permissions: tuple[str, ...], time_ns: int, seq: int | None
    ) -> None:
        self.world = world
        self.actor = actor
        self.permissions = permissions
        self.time_ns = time_ns
        self.seq = seq

    def may(self, permission: str) -> bool:
        return holds(self.permissions, permission)

    def random(self, name: str) -> np.random.Generator:
        return self.world.random(name)


class Skill(Generic[_P, _R]):
    """A declared skill. Calling it calls the function, unchecked, as any function."""

    def __init__(
        self,
        function: Callable[_P, _R],
        *,
        name: str | None,
        permission: str | None,
        approval: bool | str,
        description: str | None,
        scope: dict[str, Any],
        given: tuple[type, ...] = (),
    ) -> None:
        self.function = function
        self.name = name or function.__name__
        self.permission = permission
        self.approval: str | None = "approval" if approval is True else (approval or None)
        """The permission it takes to approve a call; None when calls need no approval."""
        if not _NAME.match(self.name):
            raise SkillError(
                f"{self.name!r} cannot name a skill", hint="use words joined by dots or dashes"
            )
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise SkillError(
                f"skill {self.name!r} is a coroutine or a generator",
                hint="a skill runs whole within one instant; do slow work first, then submit",
            )
        self.signature = Signature(function, self.name, (SkillContext, *given), scope)
        self.description = inspect.cleandoc(
            description if description is not None else function.__doc__ or ""
        )
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__wrapped__ = function

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return self.signature.schema

    def describe(self) -> dict[str, Any]:
        """The skill as a tool: name, description, parameters, and what it takes to use it."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.schema,
            "permission": self.permission,
            "approval": self.approval,
        }

    def run(self, arguments: dict[str, Any], context: SkillContext) -> Any:
        """Calls the function with arguments that were checked."""
        for name, kind in self.signature.given.items():
            arguments[name] = context if kind is SkillContext else context.world
        return self.function(**arguments)  # type: ignore[call-arg]

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        needs = f" needs {self.permission}" if self.permission else ""
        gate = f", approved by {self.approval}" if self.approval else ""
        return f"<skill {self.name}{needs}{gate}>"


class Skills:
    """The skills of a world by name, in the order of their declaration."""

    def __init__(self) -> None:
        self._by_name: dict[str, Skill[..., Any]] = {}

    def add(self, skill: Skill[..., Any], *, replace: bool = False) -> None:
        if skill.name in self._by_name and not replace:
            raise SkillError(
                f"there is a skill {skill.name!r} already",
                hint="give it another name=, or replace=True to put this one in its place",
            )
        self._by_name[skill.name] = skill

    def get(self, name: str) -> Skill[..., Any] | None:
        return self._by_name.get(name)

    def unknown(self, name: str) -> str:
        """What to say about a skill that is not there."""
        return f"there is no skill {name!r}; {nearest(name, self._by_name)}"

    def __getitem__(self, name: str) -> Skill[..., Any]:
        skill = self._by_name.get(name)
        if skill is None:
            raise SkillError(f"there is no skill {name!r}", hint=nearest(name, self._by_name))
        return skill

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Skill[..., Any]]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def describe(self, permissions: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Every skill as a tool; with `permissions`, those that they allow."""
        held = None if permissions is None else tuple(permissions)
        return [skill.describe() for skill in self if held is None or holds(held, skill.permission)]

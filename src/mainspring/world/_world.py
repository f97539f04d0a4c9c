"""The world: entities, components, space, skills and chance, as one part of the state.

    >>> world = World()
    >>> crates = [world.spawn(tags=["crate"], position=(x, 0, 0)) for x in (1, 4, 9)]
    >>> world.column("position")[:, 2] = 0.5
    >>> world.space.radius((0, 0, 0.5), 5.0).ids(0)
    ['ent_1', 'ent_2']
    >>> @world.skill(permission="yard.move")
    ... def push(crate: Entity, by: tuple[float, float, float]) -> None:
    ...     crate.position += by
    >>> world.invoke("ann", "push", {"crate": "ent_3", "by": [0, 1, 0]}).reason
    "it takes permission 'yard.move'; ann has no permissions"

A `World(scene)` is attached to the scene as `scene.world`: it is saved, restored and hashed
with it, and intents reach it through the scene's inbox. A `World()` alone has an inbox of its
own, which `drain` applies.

What changes the world happens on the thread that owns the clock. Other threads `submit`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, overload

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from mainspring import state as encoding
from mainspring.clock import Inbox, Input
from mainspring.scene import RandomStreams, Scene
from mainspring.world._approvals import Approvals
from mainspring.world._arguments import plain
from mainspring.world._calls import Calls
from mainspring.world._components import Components, saved_values
from mainspring.world._entity import Entity
from mainspring.world._errors import SkillError, WorldError
from mainspring.world._intents import Ticket, Tickets
from mainspring.world._query import Entities
from mainspring.world._skills import Outcome, Skill, Skills
from mainspring.world._space import SpatialIndex
from mainspring.world._table import ENTITIES_MAX, EntityTable, entity_id

__all__ = ["World"]

_S = TypeVar("_S", bound=msgspec.Struct)
_F = TypeVar("_F", bound=Callable[..., Any])

_FORMAT = 1
_RESERVED = frozenset(name for name in dir(Entity) if not name.startswith("_"))


class World:
    """Everything that lives in a simulation, and the ways to look at it and change it.

    `entities_max` bounds how many entities can live at once; only those that do cost memory.
    """

    def __init__(
        self, scene: Scene | None = None, *, seed: int = 0, entities_max: int = ENTITIES_MAX
    ) -> None:
        self._scene = scene
        self._owner = threading.get_ident()
        self.table = EntityTable(entities_max=entities_max)
        self.components = Components(self.table, _RESERVED)
        self.base = tuple(self.components.column(name) for name in self.components)
        self.space = SpatialIndex(self)
        self._calls = Calls(self)
        self.tickets = Tickets()
        self._grants: dict[str, tuple[str, ...]] = {}
        self._own_random = RandomStreams(seed) if scene is None else None
        self.inbox: Inbox = Inbox() if scene is None else scene.inbox
        self.inbox.route("intent", self._apply)
        if scene is not None:
            scene.attach("world", self)

    # ---- who writes --------------------------------------------------------------------------

    @property
    def scene(self) -> Scene | None:
        return self._scene

    @property
    def time_ns(self) -> int:
        """The scene's time; 0 without one."""
        return 0 if self._scene is None else self._scene.time.now

    def check_writer(self, what: str) -> None:
        """An error on any thread but the one that owns the clock; and, once a recorded run is under
        way, between two instants, where the log would not know of the change."""
        if self._scene is not None:
            time = self._scene.time
            time._check_owner(f"world: {what}")
            if self.tickets.when_durable is not None and time.instants and not time.inside:
                raise WorldError(
                    f"{what} between two instants, in a run that is recorded: a replay could not "
                    "do it again",
                    hint="submit an intent, or do it in a callback",
                )
        elif threading.get_ident() != self._owner:
            raise WorldError(
                f"{what} was called on thread {threading.current_thread().name!r}, "
                "which does not own this world",
                hint="submit an intent instead: world.submit(actor, skill, arguments)",
            )

    def _may_wait(self) -> str | None:
        """Why this thread must not wait for an instant; None when it may."""
        if self._scene is None:
            mine = threading.get_ident() == self._owner
            return "call world.drain() first, or wait in another thread" if mine else None
        mine = threading.get_ident() == self._scene.time._owner
        if not mine:
            return None
        return "advance the scene first (scene.advance(instants=1)), or wait in another thread"

    # ---- entities ----------------------------------------------------------------------------

    def spawn(
        self, *structs: msgspec.Struct, tags: Iterable[str] | str = (), **components: Any
    ) -> Entity:
        """A new entity with these tags and components: structs by type, others by name."""
        self.check_writer("spawn")
        found = self._named(structs, components)
        number = self.table.create_many(1, tags)
        row = self.table.rows - 1
        try:
            for component, value in found:
                component.set_at(row, value)
        except BaseException:
            self.table.destroy_number(number)
            raise
        return Entity(self, number, row, self.table.layout)

    def spawn_many(
        self, count: int, *, tags: Iterable[str] | str = (), **columns: ArrayLike
    ) -> Entities:
        """`count` new entities at once; each column has a value for each, or one for all."""
        self.check_writer("spawn_many")
        found = [(self.components.column(name), values) for name, values in columns.items()]
        first = self.table.create_many(count, tags)
        rows = slice(self.table.rows - count, self.table.rows)
        try:
            for column, values in found:
                column.write(rows, values)
        except BaseException:
            for number in range(first, first + count):
                self.table.destroy_number(number)
            raise
        return Entities(self, np.arange(first, first + count, dtype=np.int64))

    def _named(self, structs: tuple[msgspec.Struct, ...], components: dict[str, Any]) -> list[Any]:
        found = [(self.components[type(struct)], struct) for struct in structs]
        found += [(self.components[name], value) for name, value in components.items()]
        return found

    def destroy(self, entity: Entity | str | Iterable[Entity | str]) -> bool:
        """Ends an entity, or several; whether any of them lived."""
        self.check_writer("destroy")
        several: Iterable[Entity | str]
        several = (entity,) if isinstance(entity, str | Entity) else tuple(entity)
        lived = False
        for one in several:
            if isinstance(one, str):
                lived |= self.table.destroy(one)
            else:
                lived |= one.world is self and self.table.destroy(one.id)
        return lived

    def get(self, id: str) -> Entity | None:
        """The entity with this id; None when there is none, or none any more."""
        row = self.table.resolve(id)
        return None if row is None else self._at(row)

    def entity(self, id: str) -> Entity:
        """The entity with this id, or an error that says what became of it."""
        return self._at(self.table.require(id))

    def _at(self, row: int) -> Entity:
        return Entity(self, self.table.number_at(row), row, self.table.layout)

    def __contains__(self, entity: object) -> bool:
        if isinstance(entity, Entity):
            return entity.world is self and entity.alive
        return entity in self.table

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Entity]:
        """The living, in the order of creation; those destroyed meanwhile are left out."""
        return (entity for entity in self.query() if entity.alive)

    @property
    def ids(self) -> list[str]:
        return self.table.ids

    @property
    def version(self) -> int:
        """How many births and deaths there have been."""
        return self.table.version

    def query(
        self,
        *tags: str,
        has: str | type | Iterable[str | type] = (),
        without: str | Iterable[str] = (),
        lacks: str | type | Iterable[str | type] = (),
    ) -> Entities:
        """The entities with all these tags and components, and none of those, in creation order.

        `without` names tags, `lacks` components.
        """
        numbers = self.table.numbers
        wanted = np.ones(len(numbers), dtype=np.bool_)
        for tag in tags:
            wanted &= self.table.tagged(tag)
        for tag in _several(without):
            wanted &= ~self.table.tagged(tag)
        for key in _several(has):
            wanted &= self.components[key].presence()
        for key in _several(lacks):
            wanted &= ~self.components[key].presence()
        rows = np.flatnonzero(wanted)
        return Entities(self, numbers[rows], rows)

    # ---- components --------------------------------------------------------------------------

    @overload
    def component(self, kind: type[_S], *, name: str | None = None) -> type[_S]: ...
    @overload
    def component(
        self,
        kind: str,
        dtype: Any = np.float64,
        shape: int | tuple[int, ...] = (),
        *,
        default: ArrayLike = 0,
        everyone: bool = False,
    ) -> str: ...
    def component(
        self,
        kind: str | type[_S],
        dtype: Any = np.float64,
        shape: int | tuple[int, ...] = (),
        *,
        default: ArrayLike = 0,
        everyone: bool = False,
        name: str | None = None,
    ) -> str | type[_S]:
        """Declares a component: a column by name, dtype and shape, or a `msgspec.Struct` class.

        With `everyone`, each entity has it from its birth. A struct is named after its class,
        `ToolBelt` as `tool_belt`, unless it is given a name; this also works as a decorator.
        """
        self.check_writer("component")
        if isinstance(kind, str):
            self.components.declare_column(kind, dtype, shape, default, everyone=everyone)
        else:
            self.components.declare_struct(kind, name)
        return kind

    def column(self, name: str) -> NDArray[Any]:
        """A numeric component of all living entities, a row each, in creation order.

        It is the memory itself: what is written to it is written to the world. The array stays
        that of the entities living now: those spawned later are not in it, and a row never
        comes to belong to another entity. Once one of them is destroyed, the next look at a
        column, a query or a save closes the hole, and from then on an array from before is
        detached: it keeps its values and reaches the world no more. Ask for it where you use it.
        """
        return self.components.column(name).array()

    def presence(self, name: str | type) -> NDArray[np.bool_]:
        """For each row, whether its entity has the component."""
        return self.components[name].presence()

    # ---- skills ------------------------------------------------------------------------------

    @property
    def skills(self) -> Skills:
        return self._calls.skills

    @property
    def approvals(self) -> Approvals:
        """The calls that wait for somebody's approval, and those decided not long ago."""
        return self._calls.approvals

    @overload
    def skill(self, function: _F) -> _F: ...
    @overload
    def skill(
        self,
        function: None = None,
        *,
        name: str | None = None,
        permission: str | None = None,
        approval: bool | str = False,
        description: str | None = None,
        replace: bool = False,
    ) -> Callable[[_F], _F]: ...
    def skill(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        permission: str | None = None,
        approval: bool | str = False,
        description: str | None = None,
        replace: bool = False,
    ) -> Any:
        """Declares a skill: a function whose annotations say what arguments it takes.

        `permission` is what an actor needs to use it; without one anybody may. With `approval`
        each call waits until it is granted, by somebody with that permission (`"approval"` for
        True). A parameter annotated `SkillContext`, or called `context` or `ctx`, is given the
        call's actor, time and world; one annotated `World` the world; one annotated `Entity`
        takes an id and gets the living entity.
        """
        self.check_writer("skill")
        scope = dict(sys._getframe(1).f_locals)

        def declare(function: Callable[..., Any]) -> Skill[..., Any]:
            made = Skill(
                function,
                name=name,
                permission=permission,
                approval=approval,
                description=description,
                scope=scope,
                given=(World,),
            )
            self._calls.declare(made, replace=replace)
            return made

        return declare if function is None else declare(function)

    def grant(self, actor: str, *permissions: str) -> None:
        """Gives an actor permissions, as part of the state; `"*"` as the actor means everybody."""
        self.check_writer("grant")
        _check_words(actor, permissions)
        held = self._grants.get(actor, ())
        self._set_grants(actor, tuple(dict.fromkeys((*held, *permissions))))

    def revoke(self, actor: str, *permissions: str) -> None:
        """Takes permissions away, or all of them when none is named."""
        self.check_writer("revoke")
        _check_words(actor, permissions)
        held = self._grants.get(actor, ())
        left = tuple(p for p in held if permissions and p not in permissions)
        self._set_grants(actor, left)

    def _set_grants(self, actor: str, permissions: tuple[str, ...]) -> None:
        if self.table.journal is not None:
            before = dict(self._grants)

            def undo() -> None:
                self._grants = before

            self.table.journal.record(undo)
        if permissions:
            self._grants[actor] = permissions
        else:
            self._grants.pop(actor, None)

    def permissions(self, actor: str) -> tuple[str, ...]:
        """What an actor was granted, and what everybody was."""
        everybody = self._grants.get("*", ()) if actor != "*" else ()
        return tuple(dict.fromkeys((*self._grants.get(actor, ()), *everybody)))

    def invoke(
        self,
        actor: str,
        skill: str | Skill[..., Any],
        arguments: Any = None,
        *,
        permissions: Iterable[str] | None = None,
    ) -> Outcome:
        """Calls a skill here and now, and says what became of it. It never raises for what the
        caller, the arguments or the skill did wrong; `outcome.unwrap()` does.

        `permissions` are those the actor was granted unless given. Called from outside an
        instant it is part of building the scene, not of the run: use `submit` there.
        """
        self.check_writer("invoke")
        _check_words(actor)
        return self._calls.call(
            actor, _skill_name(skill), arguments, self._permissions(actor, permissions), None
        )

    def approve(self, request: str, by: str) -> Outcome:
        """Grants a pending request; the call then runs as the actor who asked."""
        return self.invoke(by, "approval.grant", {"request": request})

    def deny(self, request: str, by: str, reason: str = "") -> Outcome:
        """Denies a pending request."""
        return self.invoke(by, "approval.deny", {"request": request, "reason": reason})

    def _permissions(self, actor: str, given: Iterable[str] | None) -> tuple[str, ...]:
        if given is None:
            return self.permissions(actor)
        if isinstance(given, str):
            raise SkillError(
                f"permissions are several strings, not {given!r}", hint=f"give [{given!r}]"
            )
        held = tuple(given)
        _check_words(actor, held)
        return held

    def on_outcome(self, watch: Callable[[Outcome], object]) -> Callable[[], None]:
        """Calls `watch(outcome)` for every call that was decided or put to approval, in order;
        the result ends it. Skills called by skills are part of the outer call."""
        self._calls.watchers.append(watch)
        return lambda: self._calls.watchers.remove(watch)

    # ---- intents -----------------------------------------------------------------------------

    def submit(
        self,
        actor: str,
        skill: str | Skill[..., Any],
        arguments: Any = None,
        *,
        permissions: Iterable[str] | None = None,
    ) -> Ticket:
        """Asks for a skill to be called at the start of the next instant, from any thread.

        `permissions` are those the actor is granted at that moment unless given here.
        """
        _check_words(actor)
        name = _skill_name(skill)
        given = plain({} if arguments is None else arguments, f"the arguments of {name!r}")
        held = None if permissions is None else list(self._permissions(actor, permissions))
        payload = {"actor": actor, "skill": name, "arguments": given, "permissions": held}
        ticket = Ticket(name, actor, self._may_wait)
        self.tickets.issue(ticket, lambda: self.inbox.put("intent", payload, source=actor))
        return ticket

    def _apply(self, given: Input) -> None:
        """Applies an intent (I3). Nothing an intent holds can raise here."""
        payload = given.payload
        try:
            actor, name = str(payload["actor"]), str(payload["skill"])
            arguments, held = payload.get("arguments"), payload.get("permissions")
            permissions = self.permissions(actor) if held is None else tuple(map(str, held))
        except (KeyError, TypeError, AttributeError) as error:
            self._calls.tell_malformed(given, error)
            return
        self._calls.call(actor, name, arguments, permissions, given.seq)

    def drain(self) -> int:
        """Applies the waiting intents of a world that has no scene; how many there were."""
        self.check_writer("drain")
        if self._scene is not None:
            raise WorldError(
                "the intents of a scene's world are applied by its clock",
                hint="scene.advance(instants=1)",
            )
        inputs = self.inbox.drain()
        for given in inputs:
            self.inbox.apply(given)
        return len(inputs)

    # ---- chance ------------------------------------------------------------------------------

    def random(self, name: str) -> np.random.Generator:
        """The random stream of that name, seeded by the run; the scene's, where there is one."""
        scene = self._scene
        streams = self._own_random if scene is None else scene.random
        assert streams is not None
        journal = self.table.journal
        if journal is not None and journal.first_touch(("random",)):
            before = streams.save()
            journal.record(lambda: streams.restore(before))
        return streams(name)

    # ---- state -------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Everything that lives, as plain data that later changes do not touch."""
        saved: dict[str, Any] = {
            "format": _FORMAT,
            "entities": self.table.save(),
            "components": self.components.save(),
            # order: by name; who was granted something first is of no consequence
            "grants": {actor: list(self._grants[actor]) for actor in sorted(self._grants)},
            "approvals": self.approvals.save(),
        }
        if self._own_random is not None:
            saved["random"] = self._own_random.save()
            saved["inbox"] = self.inbox.save()
        return saved

    def restore(self, state: Any) -> None:
        """Leaves the world as it was when `state` was saved, or untouched if it does not fit."""
        self.check_writer("restore")
        try:
            if state["format"] != _FORMAT:
                raise WorldError(f"the saved world has format {state['format']}, not {_FORMAT}")
            entities, components = state["entities"], state["components"]
            grants = {actor: tuple(held) for actor, held in state["grants"].items()}
            count = self.table.check(entities)
            decoded = self.components.check(components, count)
            self.approvals.check(state["approvals"])
        except (KeyError, TypeError, AttributeError) as error:
            raise WorldError(f"this is not the saved state of a world: {error!r}") from error
        same_rows = self.table.apply(entities)
        self.components.apply(components, decoded, count, same_rows=same_rows)
        self._grants = grants
        self.approvals.restore(state["approvals"])
        if self._own_random is not None:
            self._own_random.restore(state["random"])
            self.inbox.restore(state["inbox"])
        known = {given.seq for given in self.inbox.waiting if given.kind == "intent"}
        known |= {request.seq for request in self.approvals if request.seq is not None}
        self.tickets.drop_unknown(known, self.time_ns)

    @staticmethod
    def explain(state: Any) -> dict[str, Any]:
        """A saved state by entity and field, for people and for finding differences."""
        entities, components = state["entities"], state["components"]
        ids = [entity_id(number) for number in entities["numbers"].tolist()]
        tags = entities["tag_sets"]
        found: dict[str, Any] = {
            id: {"tags": tags[code]}
            for id, code in zip(ids, entities["tags"].tolist(), strict=True)
        }
        for name, saved in components.items():
            present = saved["present"]
            owners = ids if present is None else [i for i, p in zip(ids, present, strict=True) if p]
            if saved["kind"] == "column":
                column = saved_values(saved)
                values = (column if present is None else column[present]).tolist()
            elif saved["quick"]:
                values = msgspec.msgpack.decode(saved["data"])
            else:
                values = encoding.decode(saved["data"])
            for id, value in zip(owners, values, strict=True):
                found[id][name] = value
        return {
            "version": entities["version"],
            "next": entity_id(entities["next"]),
            "entities": found,
            "grants": state["grants"],
            "approvals": state["approvals"],
        }

    def __repr__(self) -> str:
        waiting = f", {len(self.approvals)} waiting for approval" if len(self.approvals) else ""
        return f"World({len(self)} entities, {len(self.skills)} skills, version {self.version}{waiting})"


def _several(keys: Any) -> tuple[Any, ...]:
    return (keys,) if isinstance(keys, str | type) else tuple(keys)


def _skill_name(skill: Any) -> str:
    if isinstance(skill, Skill):
        return skill.name
    if not isinstance(skill, str):
        raise SkillError(f"{skill!r} is no skill", hint="give its name, or the skill itself")
    return skill


def _check_words(actor: Any, permissions: Iterable[Any] = ()) -> None:
    """An error unless an actor and permissions are what the state and the log can keep."""
    for what, word in (("an actor", actor), *(("a permission", held) for held in permissions)):
        if not isinstance(word, str):
            raise SkillError(f"{word!r} cannot be {what}", hint="give a string")

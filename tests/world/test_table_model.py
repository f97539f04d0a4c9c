"""The world against the slow model, driven by Hypothesis.

Each machine holds on to handles, columns and rows it once saw, goes back to saved moments in
the same world and in fresh ones, and lets skills fail half-way.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mainspring.state import decode, digest, encode
from mainspring.world import Entity, EntityError, World
from model.world_table import ModelWorld


class Bag(msgspec.Struct):
    things: list[int] = []


TAGS = ("red", "green", "blue")
OPTIONAL: dict[str, Any] = {"health": 100, "spin": [0.0, 0.0], "bag": None}

tag_sets = st.sets(st.sampled_from(TAGS))
vectors = st.lists(st.integers(-9, 9).map(float), min_size=3, max_size=3)
components = st.fixed_dictionaries(
    {},
    optional={
        "position": vectors,
        "velocity": vectors,
        "health": st.integers(-5, 5),
        "spin": st.lists(st.floats(-2, 2), min_size=2, max_size=2),
        "bag": st.lists(st.integers(0, 9), max_size=2),
    },
)
# An index into the living, or one of the ids that never were.
choices = st.integers(0, 10**6)


def build() -> World:
    world = World()
    world.component("health", np.int64, default=100)
    world.component("spin", shape=2)
    world.component(Bag)
    return world


def given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: Bag(list(v)) if name == "bag" else v for name, v in values.items()}


class Worlds(RuleBasedStateMachine):
    @initialize(count=st.integers(0, 6))
    def start(self, count: int) -> None:
        self.world = build()
        self.model = ModelWorld(OPTIONAL)
        self.handles: list[Entity] = []
        self.saved: list[tuple[bytes, bytes, Any]] = []
        # Views with what they must show: the array, the ids of its rows, the column's name.
        self.views: list[tuple[np.ndarray, list[str], str]] = []
        self.ever: set[str] = set()
        world = self.world

        @world.skill
        def edit(script: list[tuple[str, int, Any]], fail: bool) -> None:
            for what, choice, value in script:
                self.apply(what, choice, value, world, None)
            if fail:
                raise RuntimeError("half-way")

        for n in range(count):
            position = [float(n), 0.0, 0.0]
            world.spawn(tags="red", position=position, bag=Bag([n]))
            self.model.spawn({"red"}, {"position": position, "bag": [n]})

    # ---- edits, applied to both alike --------------------------------------------------------

    def pick(self, choice: int, model: ModelWorld | None, world: World) -> str:
        ids = world.ids if model is None else model.ids
        return ids[choice % len(ids)] if ids else "ent_999999"

    def apply(
        self, what: str, choice: int, value: Any, world: World | None, model: ModelWorld | None
    ) -> None:
        id = self.pick(choice, model, world)
        if what == "spawn":
            tags, values = value
            if world is not None:
                world.spawn(tags=tags, **given(values))
            if model is not None:
                model.spawn(set(tags), values)
        elif what == "destroy":
            if world is not None:
                world.destroy(id)
            if model is not None:
                model.destroy(id)
        elif what == "tags":
            if world is not None and (entity := world.get(id)):
                entity.tags = value
            if model is not None and (found := model.get(id)):
                found["tags"] = set(value)
        elif what == "set":
            if world is not None and (entity := world.get(id)):
                entity.set(**given(value))
            if model is not None and (found := model.get(id)):
                found.update({k: list(v) if isinstance(v, list) else v for k, v in value.items()})
        elif what == "remove":
            if world is not None and (entity := world.get(id)):
                entity.remove(value)
            if model is not None and (found := model.get(id)):
                found.pop(value, None)
        elif what == "column":
            if world is not None:
                world.column("velocity")[:] = value
            if model is not None:
                for found in model.entities:
                    found["velocity"] = list(value)
        elif what == "bag":
            if world is not None and (entity := world.get(id)) and entity.has("bag"):
                entity.bag.things.append(value)
            if model is not None and (found := model.get(id)) and "bag" in found:
                found["bag"].append(value)

    edits = st.one_of(
        st.tuples(st.just("spawn"), choices, st.tuples(tag_sets.map(sorted), components)),
        st.tuples(st.just("destroy"), choices, st.none()),
        st.tuples(st.just("tags"), choices, tag_sets.map(sorted)),
        st.tuples(st.just("set"), choices, components),
        st.tuples(st.just("remove"), choices, st.sampled_from(["health", "spin", "bag"])),
        st.tuples(st.just("column"), choices, vectors),
        st.tuples(st.just("bag"), choices, st.integers(0, 9)),
    )

    @rule(edit=edits)
    def one_edit(self, edit: tuple[str, int, Any]) -> None:
        what, choice, value = edit
        # The model first says who is meant, so that both mean the same.
        self.apply(what, choice, value, self.world, None)
        self.apply(what, choice, value, None, self.model)
        self.check_views(died=what == "destroy")

    @rule(script=st.lists(edits, max_size=8), fail=st.booleans())
    def a_skill(self, script: list[tuple[str, int, Any]], fail: bool) -> None:
        before = digest(self.world.save())
        outcome = self.world.invoke("tester", "edit", {"script": script, "fail": fail})
        assert outcome.accepted is not fail, outcome
        if fail:
            assert digest(self.world.save()) == before
        else:
            for what, choice, value in script:
                self.apply(what, choice, value, None, self.model)
        self.check_views(died=any(what == "destroy" for what, _, _ in script))

    @rule(count=st.integers(0, 30), position=vectors)
    def many(self, count: int, position: list[float]) -> None:
        found = self.world.spawn_many(count, tags="green", position=position)
        assert found.ids == [
            self.model.spawn({"green"}, {"position": position}) for _ in range(count)
        ]

    @rule(choice=choices)
    def a_stale_id(self, choice: int) -> None:
        dead = sorted(self.ever - set(self.model.ids))
        if dead:
            assert self.world.get(dead[choice % len(dead)]) is None
            assert not self.world.destroy(dead[choice % len(dead)])

    # ---- what is held ------------------------------------------------------------------------

    @rule(choice=choices)
    def hold_a_handle(self, choice: int) -> None:
        if self.model.ids:
            self.handles.append(self.world.entity(self.pick(choice, self.model, self.world)))

    @rule(name=st.sampled_from(["position", "velocity"]))
    def hold_a_column(self, name: str) -> None:
        self.views.append((self.world.column(name), self.model.ids, name))

    @rule(choice=choices)
    def hold_a_row(self, choice: int) -> None:
        if self.model.ids:
            id = self.pick(choice, self.model, self.world)
            self.views.append((self.world.entity(id).position[None], [id], "position"))

    @precondition(lambda self: self.views)
    @rule(choice=choices, value=st.integers(-9, 9).map(float))
    def write_through_a_view(self, choice: int, value: float) -> None:
        view, ids, name = self.views[choice % len(self.views)]
        if len(ids):
            view[choice % len(ids)] = value
            self.model.get(ids[choice % len(ids)])[name] = [value] * 3

    def attached(self, view: tuple[np.ndarray, list[str], str]) -> bool:
        return np.shares_memory(view[0], self.world.column(view[2])) or not len(view[1])

    def check_views(self, *, died: bool) -> None:
        """Only a death may detach a view; then those that it detached are let go."""
        if not died:
            assert all(self.attached(view) for view in self.views)
        living = set(self.model.ids)
        self.views = [v for v in self.views if living.issuperset(v[1]) and self.attached(v)]

    # ---- state -------------------------------------------------------------------------------

    @rule()
    def save(self) -> None:
        data = encode(self.world.save())
        self.saved.append((data, digest(data), self.model.save()))

    @precondition(lambda self: self.saved)
    @rule(choice=choices, fresh=st.booleans())
    def restore(self, choice: int, fresh: bool) -> None:
        data, hash, model = self.saved[choice % len(self.saved)]
        if fresh:
            other = build()
            other.restore(decode(data))
            assert digest(other.save()) == hash
            return
        self.world.restore(decode(data))
        self.model.restore(model)
        self.ever = {f"ent_{n}" for n in range(1, self.model.next)}
        self.views = [v for v in self.views if set(self.model.ids).issuperset(v[1])]
        self.views = [v for v in self.views if self.attached(v)]
        self.handles = [h for h in self.handles if h.id in self.ever]

    # ---- what must hold ----------------------------------------------------------------------

    @invariant()
    def identities_agree(self) -> None:
        world, model = self.world, self.model
        self.ever.update(model.ids)
        assert world.ids == model.ids
        assert world.version == model.version
        assert world.table.next_id == f"ent_{model.next}"
        for handle in self.handles:
            expected = model.get(handle.id)
            assert handle.alive is (expected is not None)
            if expected is None:
                with pytest.raises(EntityError):
                    _ = handle.position
            else:
                assert handle.position.tolist() == expected["position"]
                assert set(handle.tags) == expected["tags"]

    @invariant()
    def components_agree(self) -> None:
        for name in ("position", "rotation", "velocity", "scale", "health", "spin"):
            assert self.world.column(name).tolist() == self.model.column(name), name
        bags = [e.bag.things if e.has(Bag) else None for e in self.world]
        assert bags == [e.get("bag") for e in self.model.entities]

    @invariant()
    def views_show_their_entities(self) -> None:
        for view, ids, name in self.views:
            assert view.tolist() == [self.model.get(id)[name] for id in ids]

    @rule(tags=tag_sets, without=tag_sets, has=st.sets(st.sampled_from(sorted(OPTIONAL))))
    def queries_agree(self, tags: set[str], without: set[str], has: set[str]) -> None:
        lacks = {"health"} - has
        found = self.world.query(
            *sorted(tags), has=sorted(has), without=sorted(without), lacks=sorted(lacks)
        )
        assert found.ids == self.model.query(tags, has, without, lacks)


TestWorlds = pytest.mark.slow(Worlds.TestCase)
TestWorlds.settings = settings(
    settings.get_profile("default"), max_examples=150, stateful_step_count=40
)

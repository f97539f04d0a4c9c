"""A world as state: saved, restored, hashed, explained, and never half of any of it."""

from __future__ import annotations

import enum
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.errors import MainspringError, StateError
from mainspring.state import decode, digest, encode
from mainspring.world import EntityTable, World, WorldError


class Leg(msgspec.Struct):
    length: float
    name: str = ""


class Robot(msgspec.Struct):
    """Plain all the way down: kept the quick way."""

    legs: list[Leg]
    battery: float | None = None
    serial: int | str = 0
    home: tuple[float, float] = (0.0, 0.0)
    notes: dict[str, int] = {}


class Mood(enum.Enum):
    CALM = 1
    WILD = 2


class Mind(msgspec.Struct):
    """Not plain: kept value by value."""

    mood: Mood = Mood.CALM
    share: Fraction = Fraction(1, 3)
    seen: set[str] = set()
    map: Any = None


class Node(msgspec.Struct):
    children: list[Node] = []


def build() -> World:
    world = World(seed=3)
    world.component("health", np.int16, default=5)
    world.component("mass", np.float32, everyone=True, default=1)
    world.component(Robot)
    world.component(Mind)
    world.component(Node)
    return world


def again(world: World) -> World:
    other = build()
    other.restore(decode(encode(world.save(), "world")))
    assert digest(other.save()) == digest(world.save())
    return other


def filled() -> World:
    world = build()
    world.spawn(Robot([Leg(1.5, "left"), Leg(2)]), tags=["a", "b"], health=3)
    world.spawn(Mind(Mood.WILD, seen={"x", "y"}, map={"at": (1, 2)}), position=(1, 2, 3))
    world.spawn(Node([Node(), Node([Node()])]), tags=["b"])
    world.destroy("ent_2")
    world.spawn(mass=7.5)
    world.spawn(Mind(map=np.arange(3)))
    world.grant("ann", "p", "q")
    world.random("dice").random()
    return world


def test_everything_comes_back() -> None:
    world = filled()
    other = again(world)
    assert other.ids == world.ids == ["ent_1", "ent_3", "ent_4", "ent_5"]
    assert other.version == world.version
    assert other.entity("ent_1").robot == Robot([Leg(1.5, "left"), Leg(2)])
    assert other.entity("ent_3").node == Node([Node(), Node([Node()])])
    assert other.entity("ent_5").mind.map.tolist() == [0, 1, 2]
    assert other.permissions("ann") == ("p", "q")
    assert other.random("dice").random() == world.random("dice").random()
    assert other.spawn().id == world.spawn().id == "ent_6"
    assert other.get("ent_2") is None


def test_what_was_saved_does_not_change_any_more() -> None:
    world = filled()
    saved = world.save()
    before = digest(saved)
    world.column("position")[:] = 9
    world.entity("ent_1").robot.legs.append(Leg(9))
    world.entity("ent_5").mind.seen.add("z")
    world.destroy(world.ids)
    world.spawn()
    assert digest(saved) == before
    world.restore(saved)
    assert digest(world.save()) == before


numbers = st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False), st.booleans())


@given(
    st.lists(
        st.builds(
            Robot,
            legs=st.lists(st.builds(Leg, length=numbers, name=st.text(max_size=3)), max_size=2),
            battery=st.none() | numbers,
            serial=numbers | st.text(max_size=3) | st.binary(max_size=3),
            home=st.tuples(numbers, numbers) | st.tuples(numbers),
            notes=st.dictionaries(st.text(max_size=2), numbers, max_size=2),
        ),
        max_size=3,
    )
)
def test_structs_keep_even_what_their_annotations_do_not_say(robots: list[Robot]) -> None:
    """An int in a float field stays an int: else the restored state would hash differently."""
    world = build()
    for robot in robots:
        world.spawn(robot)
    other = again(world)
    for entity, robot in zip(other, robots, strict=True):
        assert repr(entity.robot) == repr(robot)


def test_a_struct_that_cannot_be_kept_is_named() -> None:
    world = build()
    world.spawn(Robot([print]))
    with pytest.raises(StateError, match="component 'robot'"):
        world.save()
    world = build()
    world.spawn(Mind(map=print))
    with pytest.raises(StateError, match="component 'mind'"):
        world.save()


def test_equal_worlds_hash_equal_however_they_came_about() -> None:
    one, two = build(), build()
    one.spawn(tags=["x"])
    one.spawn(tags=["y", "x"], position=(1, 0, 0))
    one.destroy("ent_1")
    for tags in (["q"], ["z"], ["x", "y"]):
        two.spawn(tags=tags)
        two.column("position")[:] = 5
        if tags == ["z"]:
            two.destroy("ent_1")
    two.restore(one.save())
    two.entity("ent_2").tags = ["w"]
    two.entity("ent_2").tags = ["x", "y"]
    two.entity("ent_2").health = 3
    two.entity("ent_2").remove("health")
    assert digest(two.save()) == digest(one.save())


def test_a_table_alone() -> None:
    table = EntityTable()
    for n in range(5):
        table.create(tags=["odd"] if n % 2 else [])
    table.destroy("ent_3")
    other = EntityTable()
    other.restore(decode(encode(table.save())))
    assert (other.ids, other.version, other.next_id) == (table.ids, 6, "ent_6")
    assert other.tags("ent_2") == ("odd",)
    assert other.create() == table.create() == "ent_6"
    other.add_tags("ent_6", "a")
    other.remove_tags("ent_6", "a", "b")
    assert other.tags("ent_6") == ()
    assert list(other) == other.ids
    assert "ent_3" not in other


def broken(change: str) -> Any:
    saved = filled().save()
    parts = saved["components"]
    if change == "format":
        saved["format"] = 99
    elif change == "not a world":
        return {"hello": 1}
    elif change == "nothing":
        return None
    elif change == "ids out of order":
        saved["entities"]["numbers"] = saved["entities"]["numbers"][::-1].copy()
    elif change == "id beyond the next":
        saved["entities"]["next"] = 2
    elif change == "tags out of range":
        saved["entities"]["tags"][0] = 40
    elif change == "tags too few":
        saved["entities"]["tags"] = saved["entities"]["tags"][:1]
    elif change == "column too short":
        parts["position"]["data"] = parts["position"]["data"][:24]
    elif change == "another dtype":
        parts["health"]["dtype"] = "<u2"
    elif change == "column torn":
        parts["position"]["data"] = parts["position"]["data"][:-3]
    elif change == "no dtype at all":
        parts["health"]["dtype"] = "what"
    elif change == "an unknown component":
        parts["wings"] = parts.pop("health")
    elif change == "another kind":
        parts["robot"] = parts["health"]
    elif change == "structs cut off":
        parts["robot"]["data"] = parts["robot"]["data"][:-3]
    elif change == "structs of another type":
        parts["robot"]["data"] = msgspec.msgpack.encode([{"wheels": 4}])
    elif change == "too few structs":
        parts["robot"]["data"] = msgspec.msgpack.encode([])
    elif change == "presence too short":
        parts["robot"]["present"] = parts["robot"]["present"][:1]
    elif change == "approvals":
        saved["approvals"]["pending"] = [{"id": "req_1"}]
    elif change == "grants":
        saved["grants"] = 5
    return saved


@pytest.mark.parametrize(
    "change",
    [
        "format",
        "not a world",
        "nothing",
        "ids out of order",
        "id beyond the next",
        "tags out of range",
        "tags too few",
        "column too short",
        "column torn",
        "another dtype",
        "no dtype at all",
        "an unknown component",
        "another kind",
        "structs cut off",
        "structs of another type",
        "too few structs",
        "presence too short",
        "approvals",
        "grants",
    ],
)
def test_a_state_that_does_not_fit_is_refused_whole(change: str) -> None:
    world = filled()
    world.spawn(tags="mine")
    before = digest(world.save())
    with pytest.raises(MainspringError):
        world.restore(broken(change))
    assert digest(world.save()) == before


def test_a_component_that_was_not_saved_is_empty_after_restoring() -> None:
    saved = World(seed=3)
    saved.spawn()
    world = filled()
    world.restore(saved.save())
    entity = world.entity("ent_1")
    assert not entity.has("health")
    assert not entity.has(Robot)
    assert entity.mass == 1


def test_restoring_writes_in_place_where_rows_stay_the_same() -> None:
    world = build()
    world.spawn_many(3, position=(1, 1, 1))
    saved = world.save()
    held = world.column("position")
    held[:] = 5
    world.spawn()
    world.restore(saved)
    assert held.tolist() == [[1, 1, 1]] * 3
    held[0] = 7
    assert world.entity("ent_1").position.tolist() == [7, 7, 7]
    world.destroy("ent_1")
    world.restore(world.save())
    held[:] = 9
    assert world.entity("ent_2").position.tolist() == [1, 1, 1]


def test_explain_says_it_by_entity_and_field() -> None:
    world = filled()
    told = World.explain(decode(encode(world.save())))
    assert told["version"] == 6
    assert told["next"] == "ent_6"
    entities = told["entities"]
    assert list(entities) == world.ids
    assert entities["ent_1"]["tags"] == ["a", "b"]
    assert entities["ent_1"]["health"] == 3
    assert entities["ent_1"]["robot"]["legs"][0] == {"length": 1.5, "name": "left"}
    assert "health" not in entities["ent_3"]
    assert entities["ent_4"]["mass"] == 7.5
    assert entities["ent_5"]["mind"].share == Fraction(1, 3)


def test_table_apply_refuses_nonsense() -> None:
    with pytest.raises(WorldError, match="not the saved state of an entity table"):
        EntityTable().restore([1, 2])

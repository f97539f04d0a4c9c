"""Entities, tags, components and handles."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import msgspec
import numpy as np
import pytest

from mainspring.world import (
    CapacityError,
    ComponentError,
    EntityError,
    EntityTable,
    MissingComponentError,
    World,
    WorldError,
)


class Inventory(msgspec.Struct):
    gold: int = 0
    items: list[str] = []


class ToolBelt(msgspec.Struct, frozen=True):
    tools: tuple[str, ...] = ()


@pytest.fixture
def world() -> World:
    made = World()
    made.component("health", np.int32, default=100)
    made.component("spin", shape=3)
    made.component(Inventory)
    return made


# ---- ids -----------------------------------------------------------------------------------


def test_ids_count_up_and_are_never_given_again():
    table = EntityTable()
    assert [table.create() for _ in range(3)] == ["ent_1", "ent_2", "ent_3"]
    for id in ("ent_3", "ent_1"):
        assert table.destroy(id)
    assert table.create() == "ent_4"
    assert table.ids == ["ent_2", "ent_4"]


def test_a_stale_id_resolves_to_nothing_for_ever(world: World):
    entity = world.spawn()
    assert world.destroy(entity)
    for _ in range(50):
        world.spawn()
        assert world.get("ent_1") is None
        assert "ent_1" not in world
    assert not world.destroy("ent_1")
    assert not entity.alive
    with pytest.raises(EntityError, match="ent_1 does not live any more"):
        world.entity("ent_1")
    with pytest.raises(EntityError, match="does not live any more"):
        _ = entity.position
    assert repr(entity) == "<ent_1 gone>"


@pytest.mark.parametrize(
    "id",
    [
        "",
        "ent_",
        "ent_0",
        "ent_01",
        "ent_-1",
        "ent_1 ",
        "ENT_1",
        "ent_1.0",
        "1",
        "ent_٣",
        "ent_" + "9" * 40,
    ],
)
def test_only_the_tables_own_spelling_is_an_id(world: World, id: str):
    world.spawn()
    assert world.get(id) is None
    with pytest.raises(EntityError):
        world.entity(id)


def test_an_id_that_was_never_given_says_so(world: World):
    with pytest.raises(EntityError, match="ent_7 was never created"):
        world.entity("ent_7")


def test_the_version_counts_births_and_deaths_and_nothing_else(world: World):
    entity = world.spawn(tags="a")
    assert world.version == 1
    entity.position = (1, 2, 3)
    entity.tag("b")
    world.column("velocity")[:] = 1
    assert world.version == 1
    world.spawn_many(5)
    assert world.version == 6
    entity.destroy()
    assert world.version == 7


def test_capacity_is_an_error_that_names_the_knob():
    world = World(entities_max=1000)
    world.spawn_many(1000)
    with pytest.raises(CapacityError, match="entities_max"):
        world.spawn()
    world.destroy("ent_5")
    assert world.spawn().id == "ent_1001"


def test_rationed_address_space_makes_a_smaller_world():
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "from mainspring.world import World\n"
        "worlds = [World() for _ in range(3)]\n"
        "for n in range(8): worlds[0].component(f'c{n}', shape=4)\n"
        "worlds[0].spawn_many(100_000, position=(1, 2, 3))\n"
        "print(len(worlds[0]), worlds[0].column('position').sum())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert done.stdout == "100000 600000.0\n", done.stderr


# ---- columns -------------------------------------------------------------------------------


def test_columns_are_in_creation_order_and_dense(world: World):
    for x in range(6):
        world.spawn(position=(x, 0, 0))
    world.destroy("ent_2")
    world.destroy("ent_5")
    world.spawn(position=(9, 0, 0))
    assert world.ids == ["ent_1", "ent_3", "ent_4", "ent_6", "ent_7"]
    assert world.column("position")[:, 0].tolist() == [0, 2, 3, 5, 9]
    assert [e.position[0] for e in world] == [0, 2, 3, 5, 9]
    assert [e.row for e in world] == [0, 1, 2, 3, 4]


def test_the_defaults_from_the_start(world: World):
    entity = world.spawn()
    assert entity.position.tolist() == [0, 0, 0]
    assert entity.rotation.tolist() == [1, 0, 0, 0]
    assert entity.velocity.tolist() == [0, 0, 0]
    assert entity.scale.tolist() == [1, 1, 1]
    assert all(
        world.column(n).dtype == np.float64 for n in ("position", "rotation", "velocity", "scale")
    )


def test_a_reused_row_starts_from_the_defaults(world: World):
    entity = world.spawn(position=(5, 5, 5), health=3, spin=(1, 1, 1))
    entity.destroy()
    assert len(world.column("position")) == 0
    fresh = world.spawn()
    assert fresh.position.tolist() == [0, 0, 0]
    assert not fresh.has("health")
    assert world.column("health").tolist() == [100]


def test_a_column_is_the_memory_itself(world: World):
    world.spawn_many(4)
    position = world.column("position")
    position += [1, 2, 3]
    assert world.entity("ent_4").position.tolist() == [1, 2, 3]
    world.entity("ent_4").position[0] = 7
    assert position[3, 0] == 7
    assert np.shares_memory(position, world.column("position"))


def test_growth_invalidates_nothing(world: World):
    world.spawn_many(2)
    position, row = world.column("position"), world.entity("ent_2").position
    world.spawn_many(300_000)
    row[0] = 4
    position[0] = 5
    assert world.entity("ent_2").position.tolist() == [4, 0, 0]
    assert world.column("position")[0].tolist() == [5, 5, 5]
    assert np.shares_memory(position, world.column("position"))


def test_a_row_never_comes_to_belong_to_another_entity(world: World):
    world.spawn_many(3, position=[[1, 0, 0], [2, 0, 0], [3, 0, 0]])
    column, row = world.column("position"), world.entity("ent_3").position
    world.destroy("ent_1")
    assert world.column("position")[:, 0].tolist() == [2, 3]
    # Detached: they keep what they showed, and reach nobody.
    assert column[:, 0].tolist() == [1, 2, 3]
    column[:] = 99
    row[:] = 77
    assert world.column("position")[:, 0].tolist() == [2, 3]


def test_columns_close_up_in_place_when_nobody_holds_one(world: World):
    world.spawn_many(100)
    address = world.column("position").__array_interface__["data"]
    world.destroy([f"ent_{n}" for n in range(1, 60)])
    gc.collect()
    assert world.column("position").__array_interface__["data"] == address


def test_a_component_declared_late_is_there_for_everybody(world: World):
    entity = world.spawn()
    world.component("mass", default=2.5, everyone=True)
    assert entity.mass == 2.5
    entity.mass += 1
    assert world.column("mass").tolist() == [3.5]
    assert world.spawn().mass == 2.5


def test_structured_dtypes_and_shapes(world: World):
    world.component("cell", np.dtype([("x", "i4"), ("y", "i4")]))
    world.component("patch", np.uint8, (2, 2), default=[[1, 2], [3, 4]])
    entity = world.spawn(cell=(3, 4))
    entity.set(patch=0)
    assert entity.cell["y"] == 4
    assert entity.patch.tolist() == [[0, 0], [0, 0]]
    assert world.column("patch").shape == (1, 2, 2)
    world.spawn()
    assert world.column("patch")[1].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("position", {}),
        ("health", {"dtype": np.float32}),
        ("tags", {}),
        ("destroy", {}),
        ("_hidden", {}),
        ("two words", {}),
        ("thing", {"dtype": object}),
        ("empty", {"shape": (0,)}),
        ("wrong", {"shape": 3, "default": [1, 2]}),
    ],
)
def test_bad_declarations_are_refused(world: World, name: str, kwargs: dict):
    with pytest.raises(ComponentError):
        world.component(name, **kwargs)


def test_the_same_declaration_twice_is_one(world: World):
    world.component("health", np.int32, default=100)
    world.component(Inventory)
    with pytest.raises(ComponentError, match="declared already"):
        world.component(Inventory, name="other")


# ---- handles -------------------------------------------------------------------------------


def test_components_are_attributes(world: World):
    entity = world.spawn(Inventory(gold=3), health=80)
    entity.health -= 5
    entity.inventory.gold += 1
    entity["spin"] = (1, 2, 3)
    entity.spin[1] = 9
    assert (entity.health, entity.inventory.gold, entity.spin.tolist()) == (75, 4, [1, 9, 3])
    assert entity[Inventory] is entity.get(Inventory) is entity.inventory
    assert entity.components == (
        "position", "rotation", "velocity", "scale", "health", "spin", "inventory",
    )  # fmt: skip
    assert "inventory" in entity
    assert "inventory" in dir(entity)


def test_what_an_entity_lacks(world: World):
    entity = world.spawn()
    assert entity.get("health") is None
    assert entity.get(Inventory) is None
    assert entity.get("health", 5) == 5
    assert not hasattr(entity, "health")
    with pytest.raises(MissingComponentError, match="ent_1 has no inventory"):
        _ = entity.inventory
    entity.remove("health")  # no error
    with pytest.raises(AttributeError, match="did you mean 'health'"):
        _ = entity.helth
    with pytest.raises(ComponentError, match="did you mean 'health'"):
        entity.helth = 3
    with pytest.raises(ComponentError, match="cannot be removed"):
        entity.remove("position")


def test_removing_a_component_puts_the_default_back(world: World):
    entity = world.spawn(Inventory(), health=1)
    del entity["health"]
    entity.remove(Inventory)
    assert not entity.has("health")
    assert not entity.has(Inventory)
    assert world.column("health").tolist() == [100]


def test_wrong_values_name_entity_and_component(world: World):
    entity = world.spawn()
    with pytest.raises(ComponentError, match=r"ent_1\.position"):
        entity.position = (1, 2)
    with pytest.raises(ComponentError, match=r"int32"):
        entity.health = 2.5
    with pytest.raises(ComponentError, match="Inventory"):
        entity.inventory = {"gold": 3}
    with pytest.raises(ComponentError, match="it takes"):
        world.query().write("spin", np.zeros((5, 3)))


def test_a_failed_spawn_leaves_nobody(world: World):
    with pytest.raises(ComponentError):
        world.spawn(position="here")
    with pytest.raises(ComponentError):
        world.spawn(tall=3)
    with pytest.raises(ComponentError):
        world.spawn_many(3, position=np.zeros((2, 3)))
    assert len(world) == 0
    assert world.query().ids == []


def test_handles_compare_by_entity(world: World):
    one, two = world.spawn(), world.spawn()
    assert one == world.entity("ent_1") != two
    assert len({one, world.entity("ent_1"), two}) == 2
    assert sorted([two, one]) == [one, two]
    other = World()
    assert other.spawn() != one
    assert one not in other


def test_a_handle_finds_its_row_again(world: World):
    handles = [world.spawn(position=(n, 0, 0)) for n in range(10)]
    for victim in (0, 3, 7):
        handles[victim].destroy()
        world.column("position")
        assert [int(h.position[0]) for h in handles if h.alive] == [
            n for n, h in enumerate(handles) if h.alive
        ]


def test_repr_shows_what_one_wants_to_know(world: World):
    entity = world.spawn(tags=["red", "crate"], position=(1, 2.5, 3))
    assert repr(entity) == "<ent_1 crate red at (1, 2.5, 3)>"
    assert "1 entities" in repr(world)
    assert "ent_1" in repr(world.query())


# ---- tags and queries ----------------------------------------------------------------------


def test_tags(world: World):
    entity = world.spawn(tags=["b", "a", "b"])
    assert entity.tags == ("a", "b")
    entity.tag("c")
    entity.untag("a", "never")
    assert entity.tags == ("b", "c")
    entity.tags = "lone"
    assert entity.tags == ("lone",)
    with pytest.raises(WorldError, match="not a tag"):
        entity.tag("")


def test_queries_are_in_creation_order(world: World):
    for n in range(12):
        world.spawn(
            tags=[t for t, k in (("two", 2), ("three", 3)) if n % k == 0], position=(n, 0, 0)
        )
    late = world.entity("ent_2")
    late.tag("three")
    late.health = 10
    world.entity("ent_12").set(Inventory())
    assert world.query("three").ids == ["ent_1", "ent_2", "ent_4", "ent_7", "ent_10"]
    assert world.query("two", "three").ids == ["ent_1", "ent_7"]
    assert world.query("three", without="two").ids == ["ent_2", "ent_4", "ent_10"]
    assert world.query(has="health").ids == ["ent_2"]
    assert world.query(has=Inventory).ids == ["ent_12"]
    assert world.query("three", has=["health"]).ids == ["ent_2"]
    assert len(world.query(lacks=["health", Inventory])) == 10
    assert world.query("nobody").ids == []
    assert len(world.query()) == 12


def test_reading_and_writing_many(world: World):
    world.spawn_many(6, tags="even", position=np.arange(18).reshape(6, 3))
    world.spawn()
    found = world.query("even")
    found.write("health", [1, 2, 3, 4, 5, 6])
    assert found.read("health").tolist() == [1, 2, 3, 4, 5, 6]
    assert world.query(has="health") == found
    world.destroy("ent_2")
    with pytest.raises(EntityError, match="ent_2"):
        found.read("health")
    assert found.alive().read("health").tolist() == [1, 3, 4, 5, 6]
    assert found[0].id == "ent_1"
    assert found[1:3].ids == ["ent_2", "ent_3"]


def test_destroying_while_iterating(world: World):
    world.spawn_many(6)
    seen = []
    for entity in world:
        seen.append(entity.id)
        world.destroy("ent_4")
        entity.destroy()
    assert seen == ["ent_1", "ent_2", "ent_3", "ent_5", "ent_6"]
    assert len(world) == 0


def test_many_different_tags_do_not_pile_up(world: World):
    entity = world.spawn()
    for n in range(10_000):
        entity.tags = [f"step {n}"]
    assert entity.tags == ("step 9999",)
    assert len(list(world.table._tag_sets)) < 9_000
    assert world.query("step 9999").ids == ["ent_1"]


def test_other_threads_may_not_write(world: World):
    world.spawn()
    errors: list[BaseException] = []

    def work() -> None:
        for call in (world.spawn, lambda: world.destroy("ent_1"), lambda: world.invoke("a", "b")):
            try:
                call()
            except WorldError as error:
                errors.append(error)

    thread = threading.Thread(target=work, name="intruder")
    thread.start()
    thread.join()
    assert len(errors) == 3
    assert all("intruder" in str(e) and "submit" in str(e) for e in errors)
    assert world.ids == ["ent_1"]


@pytest.mark.parametrize(
    ("dtype", "shape", "default"),
    [
        ("garbage", (), 0),
        (np.float64, "abc", 0),
        (np.float64, 2.5, 0),
        (np.int32, (), 2.5),
        (np.uint8, (), 300),
        (np.longdouble, (), 0),
        (np.dtype([("a", "u1"), ("b", "f8")], align=True), (), 0),
        (np.dtype([("inner", np.dtype([("a", "u1"), ("b", "f8")], align=True), 2)]), (), 0),
    ],
)
def test_a_column_that_cannot_be_is_refused_in_words(dtype: object, shape: object, default: object):
    """Wrong words, values that would be cut, and bytes that are nobody's and would be hashed."""
    world = World()
    with pytest.raises(ComponentError, match="component 'odd' cannot"):
        world.component("odd", dtype, shape, default=default)
    with pytest.raises(ComponentError, match="cannot name a component"):
        world.component("class", np.int32)
    assert list(world.components) == ["position", "rotation", "velocity", "scale"]


def test_columns_of_packed_records_and_booleans_are_fine():
    """What has no padding is all value; zero is the default of a boolean too."""
    world = World()
    world.component("packed", np.dtype([("a", "u1"), ("b", "f8")]))
    world.component("flag", bool)
    crate = world.spawn(packed=(3, 0.5), flag=True)
    assert crate.packed["b"] == 0.5
    assert bool(crate.flag)
    world.spawn_many(0, flag=[], packed=[])


def test_what_is_no_tag_or_count_is_refused(world: World):
    """In words, before anything is made."""
    for wrong in (
        lambda: world.spawn(tags=None),
        lambda: world.spawn(tags=[3]),
        lambda: world.query(3),
        lambda: world.spawn_many(2.0),
        lambda: world.spawn_many(-1),
    ):
        with pytest.raises(WorldError):
            wrong()
    assert world.version == 0
    with pytest.raises(ComponentError, match="position of 3 entities cannot be set"):
        world.spawn_many(3, position=[(1, 2, 3)] * 2)

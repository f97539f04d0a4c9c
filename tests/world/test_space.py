"""The grid against an oracle that looks at everybody, and the world's index on top of it."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mainspring._kernel.space import Grid
from mainspring.world import SpaceError, World
from model import world_grid as oracle

NOBODY = np.empty(0, np.int32)

lattice = st.integers(-4, 4).map(float)
wild = st.one_of(
    lattice,
    st.floats(-10, 10),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1e-160, -3e-155, 1e154, 1.5e154, -1e300, 5e-324]),
)


def points_of(elements: st.SearchStrategy[float], most: int) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(
        np.float64,
        st.tuples(st.integers(0, most), st.just(3)),
        elements=elements,
        fill=st.nothing(),
    )


radii = st.one_of(
    st.floats(0, 12), st.integers(0, 8).map(float), st.sampled_from([0.0, 1e-161, 1e200, np.inf])
)


def check(points: np.ndarray, centers: np.ndarray, radius: float, k: int) -> None:
    grid = Grid()
    grid.update(points)
    offsets, rows = grid.radius(centers, np.array([radius]), NOBODY)
    for i, center in enumerate(centers):
        assert rows[offsets[i] : offsets[i + 1]].tolist() == oracle.within(points, center, radius)
    offsets, rows, distances = grid.nearest(centers, k, radius, NOBODY)
    for i, center in enumerate(centers):
        found = rows[offsets[i] : offsets[i + 1]]
        assert found.tolist() == oracle.nearest(points, center, k, radius)
        expected = np.sqrt(oracle.squared(points, center)[found])
        assert distances[offsets[i] : offsets[i + 1]].tolist() == expected.tolist()


@settings(max_examples=300, deadline=None)
@given(points_of(wild, 40), points_of(wild, 6), radii, st.integers(0, 7))
def test_any_points_and_any_radius(points, centers, radius, k):
    check(points, centers, radius, k)


@settings(max_examples=100, deadline=None)
@given(points_of(lattice, 120), radii, st.integers(0, 20))
def test_many_ties(points, radius, k):
    check(points, points[:10], radius, k)


@pytest.mark.parametrize(
    "shape", ["box", "flat", "line", "clusters", "outlier", "far", "one place"]
)
@pytest.mark.parametrize("count", [50, 1500])
def test_shapes_that_are_hard_on_grids(shape: str, count: int):
    rng = np.random.default_rng([count, len(shape)])
    points = rng.uniform(0, 100, (count, 3))
    if shape == "flat":
        points[:, 2] = 3
    elif shape == "line":
        points[:, 1:] = 0
    elif shape == "clusters":
        points = rng.normal(0, 1e-3, (count, 3)) + rng.integers(0, 3, (count, 1)) * 1e4
    elif shape == "outlier":
        points[0], points[1, 1] = 1e15, np.inf
    elif shape == "far":
        points += 1e9
    elif shape == "one place":
        points[:] = 7
    for radius in (0.0, 1e-3, 5.0, 60.0, 2e4):
        check(points, points[:: count // 20], radius, 9)


def test_a_large_batch_keeps_the_order_of_its_centers():
    rng = np.random.default_rng(3)
    points = rng.uniform(0, 40, (9000, 3))
    radii = rng.uniform(0, 3, 9000)
    grid = Grid()
    grid.update(points)
    offsets, rows = grid.radius(points, radii, np.arange(9000, dtype=np.int32))
    for i in range(0, 9000, 97):
        expected = [row for row in oracle.within(points, points[i], radii[i]) if row != i]
        assert rows[offsets[i] : offsets[i + 1]].tolist() == expected
    offsets, rows, _ = grid.nearest(points, 4, np.inf, NOBODY)
    assert np.all(np.diff(offsets) == 4)
    for i in range(0, 9000, 97):
        assert rows[i * 4 : i * 4 + 4].tolist() == oracle.nearest(points, points[i], 4, np.inf)


def test_threads_may_look_at_once():
    points = np.random.default_rng(1).uniform(0, 10, (3000, 3))
    grid = Grid()
    grid.update(points)
    expected = [a.tolist() for a in grid.radius(points, np.array([1.0]), NOBODY)]
    wrong: list[int] = []

    def look() -> None:
        for n in range(5):
            got = [a.tolist() for a in grid.radius(points, np.array([1.0]), NOBODY)]
            if got != expected:
                wrong.append(n)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- the world's index -----------------------------------------------------------------------


@pytest.fixture
def world() -> World:
    made = World()
    for x in (0.0, 1.0, 2.0, 5.0, 9.0):
        made.spawn(tags=["even"] if x % 2 == 0 else [], position=(x, 0, 0))
    return made


def test_points_entities_and_many_of_them(world: World):
    assert world.space.radius((0, 0, 0), 2).ids(0) == ["ent_1", "ent_2", "ent_3"]
    found = world.space.radius([(0, 0, 0), (9, 0, 0)], [1, 4])
    assert [found.ids(i) for i in range(2)] == [["ent_1", "ent_2"], ["ent_4", "ent_5"]]
    assert found.counts.tolist() == [2, 2]
    assert [e.ids for e in found] == [found[0].ids, found[-1].ids]
    two = world.entity("ent_2")
    assert world.space.radius(two, 1).ids(0) == ["ent_1", "ent_3"]
    assert world.space.radius(two, 1, include_self=True).ids(0) == ["ent_1", "ent_2", "ent_3"]
    near = world.space.nearest(world.query(), 2)
    assert near.ids(0) == ["ent_2", "ent_3"]
    assert near.ids(1) == ["ent_1", "ent_3"]  # a tie: the older first
    assert near.distances_of(4).tolist() == [4.0, 7.0]
    assert world.space.nearest((8, 0, 0), 9, within=3).ids(0) == ["ent_5", "ent_4"]


def test_among_some(world: World):
    even = world.query("even")
    assert world.space.radius((1, 0, 0), 1, among=even).ids(0) == ["ent_1", "ent_3"]
    assert world.space.nearest(even, 1, among=even).ids(0) == ["ent_3"]
    odd = world.query(without="even")
    assert world.space.nearest(even, 1, among=odd).ids(1) == ["ent_2"]
    assert world.space.nearest(even, 1, among=world.query("none")).ids(0) == []


def test_it_is_built_only_when_something_changed(world: World):
    space = world.space
    space.radius((0, 0, 0), 1)
    assert space.builds == 1
    space.radius((3, 0, 0), 2)
    space.nearest((0, 0, 0), 3)
    world.entity("ent_1").velocity = (1, 1, 1)
    world.entity("ent_1").tag("x")
    world.entity("ent_1").position = (0, 0, 0)
    space.radius((0, 0, 0), 1)
    assert space.builds == 1
    world.entity("ent_1").position[0] = 0.25
    space.radius((0, 0, 0), 1)
    assert space.builds == 2


def test_no_way_of_moving_goes_unnoticed(world: World):
    held = world.column("position")
    row = world.entity("ent_1").position
    flat = held.reshape(-1)
    for step, move in enumerate(
        (
            lambda: held.__setitem__((0, 0), 101.0),
            lambda: row.__setitem__(0, 102.0),
            lambda: flat.__setitem__(0, 103.0),
            lambda: np.add(held, [1, 0, 0], out=held),
            lambda: setattr(world.entity("ent_1"), "position", (105, 0, 0)),
            lambda: world.query().write("position", (106, 0, 0)),
            lambda: memoryview(held).cast("B").cast("d").__setitem__(0, 107.0),
        )
    ):
        move()
        at = world.entity("ent_1").position.copy()
        assert at[0] == 101 + step
        assert "ent_1" in world.space.radius(at, 0.1).ids(0)
        assert "ent_1" not in world.space.radius((0, 0, 0), 1).ids(0)


def test_births_and_deaths_are_noticed(world: World):
    world.space.radius((0, 0, 0), 1)
    world.destroy("ent_1")
    assert world.space.radius((0, 0, 0), 1).ids(0) == ["ent_2"]
    world.spawn(position=(0.5, 0, 0))
    assert world.space.radius((0, 0, 0), 1).ids(0) == ["ent_2", "ent_6"]
    saved = world.save()
    world.destroy(world.ids)
    assert world.space.radius((0, 0, 0), 100).ids(0) == []
    world.restore(saved)
    assert world.space.radius((0, 0, 0), 1).ids(0) == ["ent_2", "ent_6"]
    # One dies and another is born at its very place: the points are the same, the ids are not.
    world.spawn(position=world.entity("ent_6").position)
    world.destroy("ent_6")
    assert world.space.radius((0, 0, 0), 1).ids(0) == ["ent_2", "ent_7"]


def test_nowhere(world: World):
    world.entity("ent_2").position[1] = np.nan
    assert world.space.radius((0, 0, 0), np.inf).ids(0) == ["ent_1", "ent_3", "ent_4", "ent_5"]
    assert world.space.radius(world.entity("ent_2"), np.inf).ids(0) == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.radius((0, 0, 0), -1),
        lambda s: s.radius((0, 0, 0), float("nan")),
        lambda s: s.radius((0, 0), 1),
        lambda s: s.radius([(0, 0, 0)] * 3, [1, 2]),
        lambda s: s.radius("here", 1),
        lambda s: s.nearest((0, 0, 0), -1),
        lambda s: s.nearest((0, 0, 0), 1, within=-2),
        lambda s: s.radius((0, 0, 0), 1).distances_of(0),
    ],
)
def test_wrong_questions(world: World, ask):
    with pytest.raises(SpaceError):
        ask(world.space)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_moving_worlds_agree_with_the_oracle(data: st.DataObject):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    world = World()
    world.spawn_many(data.draw(st.integers(1, 60)), position=rng.uniform(-5, 5, 3))
    for _ in range(6):
        world.column("position")[:] += rng.normal(0, 2, (len(world), 3))
        world.destroy([e for e in world.ids if rng.random() < 0.1])
        if data.draw(st.booleans()):
            world.spawn(position=rng.uniform(-5, 5, 3))
        points, ids = world.column("position"), world.ids
        radius = data.draw(st.floats(0, 8))
        found = world.space.radius(world.query(), radius)
        for i in range(len(world)):
            rows = oracle.within(points, points[i], radius)
            assert found.ids(i) == [ids[row] for row in rows if row != i]


def test_queries_asked_wrongly_are_refused_in_words():
    """Radii, counts and centres that are none, and entities of another world."""
    world, other = World(), World()
    world.spawn_many(4)
    stranger = other.spawn()
    space, here = world.space, (0, 0, 0)
    for wrong, words in (
        (lambda: space.radius(here, "far"), "'far' is no radius"),
        (lambda: space.radius(here, [[1.0]]), "the radii have shape"),
        (lambda: space.nearest(here, 1.5), "k is 1.5"),
        (lambda: space.nearest(here, 2, within="far"), "is no radius"),
        (lambda: space.nearest(here, 2, within=[1.0, 2.0]), "one radius for all"),
        (lambda: space.nearest(here, 2, among="crate"), "only entities can be found"),
        (lambda: space.nearest(stranger, 2), "live in another world"),
        (lambda: space.radius(other.query(), 2), "live in another world"),
        (lambda: space.radius(here, 2, among=other.query()), "live in another world"),
    ):
        with pytest.raises(SpaceError, match=re.escape(words)):
            wrong()
    assert space.nearest(here, 2**70).ids(0) == world.ids

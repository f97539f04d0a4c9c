"""The world beside its peers: the grid and SciPy's tree, a snapshot and a bare copy, calls.

The tree is also run the way that favours it most here (not balanced, not compacted, results not
sorted, though ours are), so that the ratio is not won by its defaults.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from benchmarks.tools import interleaved, ratio, row, timed
from mainspring import Scene
from mainspring.state import decode, encode
from mainspring.world import Entity, World

ENTITIES = 2256
QUERIES = 200
REPEATS = 20


def median(seconds: list[float]) -> float:
    return float(np.median(seconds))


def grid_beside_tree(flat: bool, radius: float) -> None:
    """Moving entities, so that each round builds; ours asks through the world, checks included."""
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 100, (ENTITIES, 3))
    if flat:
        points[:, 2] = 0
    world = World()
    agents = world.spawn_many(ENTITIES, position=points)[:QUERIES]
    position = world.column("position")

    def move() -> None:
        position[:] += 1e-6

    def ours() -> None:
        for _ in range(REPEATS):
            move()
            world.space.radius(agents, radius, include_self=True)

    def tree() -> None:
        for _ in range(REPEATS):
            move()
            cKDTree(position).query_ball_point(position[:QUERIES], radius)

    def quickest_tree() -> None:
        for _ in range(REPEATS):
            move()
            made = cKDTree(position, balanced_tree=False, compact_nodes=False)
            made.query_ball_point(position[:QUERIES], radius, return_sorted=False)

    found = world.space.radius(agents, radius, include_self=True)
    for i, theirs in enumerate(cKDTree(position).query_ball_point(position[:QUERIES], radius)):
        assert found.rows_of(i).tolist() == sorted(theirs)
    times = interleaved(
        {name: lambda f=f: timed(f) for name, f in
         (("ours", ours), ("tree", tree), ("quickest", quickest_tree))}
    )  # fmt: skip
    shape = "flat" if flat else "box"
    each = found.counts.mean()
    row(
        f"grid, {shape}, radius {radius:g} ({each:.0f} found): {median(times['ours']) / REPEATS * 1e6:.0f} us",
        f"tree {ratio(times['tree'], times['ours'])}x",
        "at least 3x",
    )
    row("  the tree at its quickest", f"{ratio(times['quickest'], times['ours'])}x")


def grid_grows() -> None:
    """Everybody asks for everybody within 1.5 m, at the same density: the cost of one entity."""
    sizes = (10_000, 100_000, 1_000_000)
    worlds = {}
    for size in sizes:
        world = World()
        rng = np.random.default_rng(size)
        world.spawn_many(size, position=rng.uniform(0, size ** (1 / 3), (size, 3)))
        worlds[size] = (world, world.query())

    def whole(size: int) -> float:
        world, agents = worlds[size]
        world.column("position")[:] += 1e-9
        return timed(lambda: world.space.radius(agents, 1.5)) / size

    times = interleaved({str(size): lambda s=size: whole(s) for size in sizes}, rounds=3)
    for size in sizes:
        row(
            f"grid, all of {size:,} entities, rebuild included",
            f"{median(times[str(size)]) * 1e9:.0f} ns an entity",
            "linear",
        )


def snapshot() -> None:
    """Ten components of 10,000 entities out and back, beside copying the same bytes."""

    def build() -> World:
        world = World()
        for n in range(6):
            world.component(f"extra_{n}", shape=3, everyone=True)
        return world

    world, other = build(), build()
    world.spawn_many(
        10_000, tags="robot", position=np.random.default_rng(1).normal(size=(10_000, 3))
    )
    names = list(world.components)
    bytes_ = sum(world.column(name).nbytes for name in names)

    file = Path(tempfile.mkdtemp(dir=".")) / "snapshot"

    def to_disk(data: Iterable[bytes]) -> None:
        with file.open("wb") as out:
            out.writelines(data)
            out.flush()
            os.fsync(out.fileno())

    def copy(disk: bool) -> None:
        parts = [world.column(name).copy() for name in names]
        if disk:
            to_disk(memoryview(part) for part in parts)
            file.read_bytes()
        for name, values in zip(names, parts, strict=True):
            world.column(name)[:] = values

    def ours(disk: bool) -> None:
        state = world.save()
        if disk:
            to_disk([encode(state)])
            state = decode(file.read_bytes())
        other.restore(state)

    ours(disk=False)
    for disk in (False, True):
        times = interleaved(
            {
                "ours": lambda d=disk: timed(lambda: [ours(d) for _ in range(REPEATS)]),
                "copy": lambda d=disk: timed(lambda: [copy(d) for _ in range(REPEATS)]),
            }
        )
        where = "to disk, synced, and back" if disk else "in memory"
        row(
            f"save and restore {bytes_ / 1e6:.1f} MB {where}: {median(times['ours']) / REPEATS * 1e6:.0f} us",
            f"{ratio(times['ours'], times['copy'])} of bare copies",
            "at most 3",
        )
    shutil.rmtree(file.parent)


def calls() -> None:
    """What one call costs, checked, journalled and answered."""
    scene = Scene()
    world = World(scene)
    world.spawn_many(1000)
    world.grant("ann", "move")

    @world.skill(permission="move")
    def move(entity: Entity, by: tuple[float, float, float]) -> None:
        entity.position += by

    arguments = {"entity": "ent_500", "by": [1.0, 0.0, 0.0]}
    many = 2000

    def invoke() -> None:
        for _ in range(many):
            world.invoke("ann", "move", arguments)

    def submit() -> None:
        for _ in range(many):
            world.submit("ann", "move", arguments)
        scene.advance(instants=1)

    def spawn() -> None:
        fresh = World()
        for _ in range(many):
            fresh.spawn(tags="x", position=(1, 2, 3))

    for name, run in (("invoke", invoke), ("submit and apply", submit), ("spawn", spawn)):
        times = interleaved({name: lambda r=run: timed(r)}, rounds=5)
        row(name, f"{median(times[name]) / many * 1e6:.1f} us")


def main() -> None:
    for flat in (False, True):
        for radius in (2.0, 5.0, 10.0, 20.0):
            grid_beside_tree(flat, radius)
    grid_grows()
    snapshot()
    calls()


if __name__ == "__main__":
    main()

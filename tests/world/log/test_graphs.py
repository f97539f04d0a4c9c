"""Graphs in recorded scenes: replayed, resumed, opened, and compared down to the node."""

from __future__ import annotations

from pathlib import Path

from mainspring.graph import TS, attach, compute_node, graph, runner_step
from mainspring.scene import Scene
from mainspring.world import diff, open_run, record, replay, resume

ENTRY = f"{__file__}:build"
AT_NS = 1_200_000_000


@compute_node
def twice(ts: TS[int]) -> TS[int]:
    return ts.value * 2


@compute_node
def bent(ts: TS[int], at: int) -> TS[int]:
    return ts.value + (1 if ts.value == at else 0)


@compute_node
def total(a: TS[int], b: TS[int]) -> TS[int]:
    return a.value + b.value


@graph
def program(step: TS[int], at: int) -> TS[int]:
    return total(twice(step), bent(step, at=at))


def build(at: int = -1) -> Scene:
    scene = Scene("graphs")
    attach(scene, program, name="program", inputs={"step": runner_step}, at=at)
    return scene


def record_graph(path: Path, at: int = -1) -> Path:
    scene = build(at)
    with record(scene, path, hash_every="instant", snapshot_every=0.5, entry=ENTRY, args=[at]):
        scene.advance(2)
    return path


def test_a_graph_replays_resumes_and_opens(tmp_path: Path) -> None:
    """Its state is part of the scene's, in every way a log has."""
    path = record_graph(tmp_path / "run.world")
    assert replay(path).identical
    with open_run(path) as run:
        moment = run.at("1s", after=True)
        assert moment.scene.subsystems["program"].value == 150
        moment.back("0.5s")
        assert moment.scene.subsystems["program"].value == 72
    with resume(path) as recorder:
        recorder.scene.advance(0.5)
    assert replay(path).identical


def test_diff_names_the_node(tmp_path: Path) -> None:
    """The first node that put out something else, with both values."""
    a = record_graph(tmp_path / "a.world")
    b = record_graph(tmp_path / "b.world", at=60)
    found = diff(a, b).divergence
    assert found is not None
    assert (found.time_ns, found.exact, found.reproduced) == (AT_NS, True, True), found
    assert found.cause.kind == "node"
    assert found.cause.name.startswith("bent")
    assert (found.fields[0].a, found.fields[0].b) == (60, 61)
    assert found.parts == ("subsystems/program",)

"""Solvers in recorded scenes: replayed, opened, resumed and compared, with people pushing things."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from physics_worlds import ENGINES, build, needs

from mainspring.clock import Input
from mainspring.physics import PoseBinding
from mainspring.scene import Scene, Script
from mainspring.world import diff, open_run, record, replay, resume

ENTRY = f"{__file__}:cell"


class Pusher(Script):
    """Whoever asks pushes the ball."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def on_start(self) -> None:
        self.scene.inbox.route("push", self.push)

    def push(self, given: Input) -> None:
        solver: Any = self.scene.subsystems["solver"]
        x = self.gain * given.payload["x"]
        solver.write_velocities("ball", [(x, 0.0, 0.0)], [(0.0, 0.0, 0.0)])


def cell(engine: str, gain: float = 1.0) -> Scene:
    scene = Scene("cell", runners=[("Physics", 60)])
    scene.add(build(engine, name="solver", step="1/240"), runner="Physics")
    scene.add(PoseBinding())
    scene.add(Pusher(gain), name="pusher")
    return scene


def drive(scene: Scene, pushes: range) -> None:
    for k in pushes:
        scene.inbox.put("push", {"x": 0.5 * k}, source="ann")
        scene.advance(0.1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_with_a_solver_is_had_again(engine: str, tmp_path: Path) -> None:
    """Every hash of a replay, any instant, and the run that goes on after a crash: bit for bit."""
    needs(engine)
    scene, path = cell(engine), tmp_path / "run.world"
    recorder = record(
        scene, path, hash_every="instant", snapshot_every=0.25, entry=ENTRY, args=[engine]
    )
    drive(scene, range(5))
    half = scene.subsystems["solver"].save()
    recorder.flush()
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", tmp_path / f"crashed.world{suffix}")
    drive(scene, range(5, 8))
    recorder.close()
    report = replay(path)
    assert report.identical, report
    assert report.hashes == report.instants == 48
    with open_run(path) as run:
        versions = run.header.versions
        assert any(name.lower() == ENGINES[engine].lower() for name in versions), versions
        moment = run.at("0.7s").back("0.6s").goto("0.5s")
        assert _same(moment.scene.subsystems["solver"].save(), half)
    with resume(tmp_path / "crashed.world") as revived:
        drive(revived.scene, range(5, 8))
        assert revived.scene.save() == scene.save()


def _same(a: Any, b: Any) -> bool:
    from mainspring.state import encode

    return encode(a) == encode(b)


@pytest.mark.parametrize("engine", ENGINES)
def test_diff_finds_a_push_that_was_harder(engine: str, tmp_path: Path) -> None:
    """The input that was handled differently, at its instant, and what the solver made of it."""
    needs(engine)
    for name, gain in (("a", 1.0), ("b", 1.5)):
        scene = cell(engine)
        with record(
            scene, tmp_path / f"{name}.world", hash_every="instant", entry=ENTRY, args=[engine]
        ):
            drive(scene, range(2))
            # From here on, and not in the recipe: what differs is the input, at its instant.
            scene.inbox.put("push", {"x": gain}, source="ann")
            scene.advance(0.2)
    found = diff(tmp_path / "a.world", tmp_path / "b.world").divergence
    assert found is not None
    assert (found.time_ns, found.exact, found.reproduced) == (200_000_000, True, True), found
    assert found.cause.kind == "input"
    assert "subsystems/solver" in found.parts

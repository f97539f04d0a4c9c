"""The examples run, say what they should, and draw pictures with something on them."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from physics_worlds import installed, needs
from typer.testing import CliRunner

from mainspring.cli.main import app
from mainspring.threads import offscreen_missing

mpl = pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Python looks for modules beside a script, and their look is theirs."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    with mpl.rc_context():
        yield


def load(name: str) -> ModuleType:
    """An example as a module."""
    path = EXAMPLES / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(picture: Path) -> np.ndarray[Any, Any]:
    """The picture's pixels; it must show something."""
    with Image.open(picture) as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape[0] > 300
    assert pixels.shape[1] >= 600
    assert (pixels < 128).any(axis=2).mean() > 0.002, "next to nothing is drawn"
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20
    return pixels


def test_first_scene(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ball bounces, and the same way every time."""
    needs("rapier")
    example = load("01_first_scene")
    drawn(example.main(tmp_path))
    example.main(tmp_path)
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    told = re.match(r"1000 steps, (\d+) bounces, hash [0-9a-f]{32}$", first)
    assert told is not None
    # None is missed: each bounce keeps 0.8 of the speed, so the tenth comes within five seconds.
    assert int(told[1]) >= 10


def test_rates_and_phases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The interleaving at 100 ms is the one that the seeds describe."""
    drawn(load("02_rates_and_phases").main(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(" 100.000 ms"))
    shared = [line[11:].split()[0] for line in lines[start:]]
    assert shared == ["sensor", "controller", "recorder", "solver", "checks", "telemetry"]
    assert [line[:11].strip() for line in lines if line[:11].strip()] == [
        f"{t:.3f} ms" for t in (0, 20, 33.333333, 40, 60, 66.666666, 80, 100)
    ]


@pytest.mark.slow
def test_drone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It flies its circle; where there is a camera, the box is in the picture."""
    needs("mujoco")
    drawn(load("03_drone").main(tmp_path, seconds=4.0))
    said = capsys.readouterr().out
    x, y, z = map(float, re.findall(r"-?\d+\.\d*", said.split("[")[1].split("]")[0]))
    assert np.hypot(x, y - 1.2) == pytest.approx(1.2, abs=0.3)
    assert z == pytest.approx(1.6, abs=0.2)


@pytest.mark.slow
def test_thousand_boxes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each engine that is here repeats itself to the bit."""
    needs("rapier")
    drawn(load("04_thousand_boxes").main(tmp_path, seconds=0.5))
    said = capsys.readouterr().out
    assert said.count("the same bits twice") == 1 + installed("jolt")
    assert "1001 bodies" in said


def test_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Throws arrive, blocks fall, time is skipped where frames came late."""
    needs("box2d")
    drawn(load("05_game").main(tmp_path))
    said = capsys.readouterr().out
    assert "3 throws" in said
    down = int(re.findall(r"(\d+) of 28 blocks", said)[0])
    assert down > 3
    assert "skipped 3.60 s" in said


@pytest.mark.slow
def test_robot_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The main job: it tracks, it is recorded, its replay is identical, its pictures show it."""
    needs("mujoco")
    monkeypatch.syspath_prepend(str(ROOT))
    from examples.robot_cell.demo import main

    from mainspring.capture import Recording

    assert main(["--seconds", "4", "--out", str(tmp_path)]) == 0
    assert "identical" in capsys.readouterr().out
    for picture in ("tracking.png", "timeline.png"):
        drawn(tmp_path / picture)
    if (missing := offscreen_missing()) is None:
        seen = drawn(tmp_path / "cell.png").astype(int)
        amber = (seen[..., 0] > 150) & (seen[..., 2] < 90) & (seen[..., 1] > 90)
        amber = amber[: seen.shape[0] // 2]  # the cell itself, above what its scanner saw
        near, far = amber[:, 2 * seen.shape[1] // 3 :], amber[:, : seen.shape[1] // 3]
        assert near.sum() > 1.5 * far.sum() > 0, "the visitor comes nearer"
    else:
        print(f"no picture of the cell: {missing}")
    with Recording(tmp_path / "run.mcap") as recording:
        error = recording.read("/tool/error")
        joints = recording.read("/arm/joints")
        scan, watch = recording.read("/scan"), recording.read("/cell/watch")
        tool = recording.read("/tool/position")
    assert (len(error), len(joints), len(scan), len(tool)) == (200, 200, 40, 120)
    np.testing.assert_array_equal(np.diff(error.times_ns), 20_000_000)
    assert error["value"][50:].max() < 0.003
    # The visitor comes near after three seconds; the graph says so.
    assert not watch["alarm"][:25].any()
    assert watch["alarm"][-1]


def test_the_robot_cell_runs_from_its_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`mainspring run scene.toml`: ten seconds, because the file says so, and a recording of them."""
    needs("mujoco")
    monkeypatch.chdir(tmp_path)
    from mainspring.capture import Recording

    told = CliRunner().invoke(app, ["run", str(EXAMPLES / "robot_cell" / "scene.toml")])
    assert told.exit_code == 0, told.output
    assert "robot cell finished: 10 s simulated" in told.output
    assert "wrote out/run.mcap" in told.output
    with Recording(tmp_path / "out" / "run.mcap") as recording:
        error, watch = recording.read("/tool/error"), recording.read("/cell/watch")
        assert len(recording.read("/tf")) == 300
    assert len(error) == 500
    assert np.sqrt(np.mean(error["value"][100:] ** 2)) < 0.001
    assert watch["alarms"][-1] == 2


@pytest.mark.slow
def test_robot_cell_continues_from_every_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saved at each of sixty instants, restored into another cell, it goes on to the same bits."""
    needs("mujoco")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from mainspring.scene import load_scene

    scene = load_scene(EXAMPLES / "robot_cell" / "scene.toml")
    other = load_scene(EXAMPLES / "robot_cell" / "scene.toml")
    for one in (scene, other):
        one.remove("recorder")  # it looks and never touches
    scene.advance(seconds=0.19)
    saved, hashes = [], []
    for _ in range(60):
        saved.append(scene.save())
        hashes.append(scene.hash())
        scene.advance(instants=1)
    for place in range(58):
        other.restore(saved[place])
        for ahead in range(3):
            if place + ahead < len(hashes):
                assert other.hash() == hashes[place + ahead], (place, ahead)
                other.advance(instants=1)

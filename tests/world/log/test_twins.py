"""Twins: one scenario in other processes, under other hash seeds, leaves the same hashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mainspring.world import diff, open_run, replay

HERE = Path(__file__).parent

CODE = """
import sys
sys.path.insert(0, {here!r})
import fault_scenes
from pathlib import Path
from mainspring.world import record
scene = fault_scenes.build()
entry = fault_scenes.__file__ + ":build"
with record(scene, Path({path!r}), hash_every="instant", entry=entry):
    {drive}
"""
DRIVES = {
    "plain": "fault_scenes.drive(scene)",
    "other seed": "fault_scenes.drive(scene)",
    "frames": (
        "scene.time.frame_budget_ns = 10**12\n"
        "    advance = scene.advance\n"
        "    scene.advance = lambda s: [scene.frame(ns) for ns in (30_000_000, 70_000_000)]\n"
        "    fault_scenes.drive(scene)"
    ),
}


@pytest.mark.slow
def test_processes_hash_seeds_and_frames_agree(tmp_path: Path) -> None:
    """Three processes, three hash seeds, one of them in frames: every hash the same, and each
    log replays in this process as well."""
    found = []
    for seed, (name, drive) in enumerate(DRIVES.items(), 1):
        path = tmp_path / f"{seed}.world"
        code = CODE.format(here=str(HERE), path=str(path), drive=drive)
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        with open_run(path) as run:
            chunks = list(run.hashes())
        found.append(
            (
                [t for c in chunks for t in c.times_ns.tolist()],
                b"".join(c.hashes.tobytes() for c in chunks),
                b"".join(c.parts.tobytes() for c in chunks),
            )
        )
        assert replay(path).identical, name
    assert found[0] == found[1] == found[2]
    assert diff(tmp_path / "1.world", tmp_path / "3.world").divergence is None

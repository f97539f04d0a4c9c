"""Crash torture: the log under a disk that kills, tears, fills up and loses power.

The rounds run in one child process with a preloaded library between SQLite and the disk,
in a folder in memory, so that hundreds take seconds. `MAINSPRING_TORTURE_ROUNDS` asks for
more (`make torture`), `MAINSPRING_TORTURE_SEED` for others.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROUNDS = int(os.environ.get("MAINSPRING_TORTURE_ROUNDS", "300"))
SEED = os.environ.get("MAINSPRING_TORTURE_SEED", "1")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("cc") is None or sys.platform != "linux",
        reason="the failing disk is a preloaded C library for Linux",
    ),
]


@pytest.fixture(scope="module")
def failing_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The preloaded library, compiled for this machine."""
    library = tmp_path_factory.mktemp("faultdisk") / "faultdisk.so"
    subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "faultdisk.c", "-ldl"], check=True
    )
    return library


@pytest.fixture
def memory_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder where a sync costs nothing, where there is one."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="mainspring-torture-") as folder:
        yield Path(folder)


def run_rounds(
    script: str, library: Path, folder: Path, rounds: int, seed: str, *extra: str
) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, HERE / script, folder, str(rounds), seed, *extra],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(results: list[dict[str, object]], rounds: int, seed: str) -> None:
    assert len(results) == rounds
    bad = [
        f"seed {seed} round {r['round']}: {r['bad']} after {r['deaths']}"
        for r in results
        if r["bad"]
    ]
    assert not bad, "\n".join(bad)
    # The rounds are worth something only when every kind of failure came, and work was done.
    deaths = Counter((death[0], death[2]) for r in results for death in r["deaths"])  # type: ignore[attr-defined]
    for mode in ("kill_before", "kill_after", "torn", "power"):
        assert deaths[mode, "killed"] > 0, deaths
    assert deaths["full", "exit 3"] > 0, deaths
    assert deaths["sync_fails", "exit 3"] > 0, deaths
    assert sum(int(r["acknowledged"]) for r in results) > rounds  # type: ignore[call-overload]


def test_writer_never_loses_an_acknowledged_input_nor_gains_one(
    failing_disk: Path, memory_folder: Path
) -> None:
    """Several lives a log, each ended by the disk; what was acknowledged is there, once."""
    results = run_rounds("writer_rounds.py", failing_disk, memory_folder, ROUNDS, SEED)
    check(results, ROUNDS, SEED)


def test_runs_resume_with_every_acknowledged_input_and_no_other(
    failing_disk: Path, memory_folder: Path
) -> None:
    """Whole runs, recorded and resumed from life to life, and replayed at the end."""
    rounds = max(1, ROUNDS // 2)
    check(run_rounds("scene_rounds.py", failing_disk, memory_folder, rounds, SEED), rounds, SEED)


def test_the_rounds_notice_a_log_that_does_not_sync(
    failing_disk: Path, memory_folder: Path
) -> None:
    """A writer with syncing switched off loses acknowledged inputs, and the rounds say so."""
    results = run_rounds("writer_rounds.py", failing_disk, memory_folder, 40, "5", "0", "unsynced")
    assert any("lost" in str(r["bad"]) for r in results)

"""Old logs must open, verify, replay, resume and hash as they did, for ever.

A golden log is written once
for each version of the format, by `python tests/golden/write.py`, and never again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mainspring.world import open_run, replay, resume, verify

HERE = Path(__file__).parent
VERSIONS = sorted(path for path in HERE.iterdir() if path.is_dir() and path.name.startswith("v"))


def build() -> object:
    import sys

    sys.path.insert(0, str(HERE))
    try:
        import plant
    finally:
        sys.path.remove(str(HERE))
    return plant.build()


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_a_golden_log_is_what_it_was(version: Path, tmp_path: Path) -> None:
    """Verified, replayed, opened and continued, with the hashes that were written down then."""
    log = tmp_path / "run.world"
    shutil.copy(version / "run.world", log)
    told = json.loads((version / "run.json").read_text())
    checked = verify(log)
    assert checked.ok, checked
    assert (checked.records, checked.inputs, checked.end_reason) == (
        told["records"], told["inputs"], "finished",
    )  # fmt: skip
    report = replay(log, build=build)
    assert report.identical, report
    assert report.hashes == told["hashes"]
    with open_run(log, build=build) as run:
        for time, expected in told["states"].items():
            assert run.at(time).hash().hex() == expected, time
        assert run.at("1s").state()["scripts/tank"]["marks"] == {
            "start": (1, "a"),
            "seen": frozenset({1, 2, 3}),
        }
    with resume(log, build=build) as recorder:
        recorder.scene.advance(ns=500_000_000)
    assert replay(log, build=build).identical


def test_there_is_a_golden_log_for_this_format() -> None:
    """A new version of the format brings its own."""
    from mainspring.world.log._format import FORMAT_VERSION

    assert [path.name for path in VERSIONS] == [f"v{n + 1}" for n in range(FORMAT_VERSION)]

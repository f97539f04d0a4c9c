"""The log: what recording costs, beside bare SQLite; how soon an instant opens and a diff answers."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.log import recording, travel


def main() -> None:
    """Prints both tables."""
    recording.main(rounds=7)
    with tempfile.TemporaryDirectory() as name:
        travel.opening(24.0, Path(name))
        travel.comparing(1_000_000, Path(name))

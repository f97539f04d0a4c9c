"""Prints the newest interpreter on this machine that is newer than this one; nothing if none is.

It is looked for on the path and among pyenv's versions, and must be able to make an environment.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NEWEST_MINOR = 14


def candidates(minor: int) -> Iterator[str]:
    """Where python3.`minor` may be."""
    name = f"python3.{minor}"
    on_path = shutil.which(name)
    if on_path is not None:
        yield on_path
    for found in sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/{name}"), reverse=True):
        yield str(found)


def works(python: str) -> bool:
    """Whether it runs and can make a virtual environment."""
    command = [python, "-c", "import ensurepip, venv, ssl, sqlite3"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def main() -> None:
    """Newest first."""
    for minor in range(NEWEST_MINOR, sys.version_info.minor, -1):
        for python in candidates(minor):
            if works(python):
                print(python)
                return


if __name__ == "__main__":
    main()

"""Prints the newest interpreter on this machine that is newer than this one; nothing if none is.

It is looked for on the path and among pyenv's versions, must be able to make an environment, and must be
one of those that the package says it supports: for another there may be no build of what it needs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def supported() -> list[int]:
    """The minor versions of Python 3 that the package says it supports, newest first."""
    classifiers = tomllib.loads(PROJECT.read_text())["project"]["classifiers"]
    said = (re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", c) for c in classifiers)
    return sorted((int(found[1]) for found in said if found), reverse=True)


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
    for minor in supported():
        for python in candidates(minor) if minor > sys.version_info.minor else ():
            if works(python):
                print(python)
                return


if __name__ == "__main__":
    main()

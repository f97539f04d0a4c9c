"""Environments for the benchmarks, one a library, under ``build/bench/``.

    python -m benchmarks.environments [--python python3.12] [name ...]

The peers come from PyPI by package name; mainspring is built from this tree as a wheel would be. One
interpreter version serves all of them, or the comparison would be of interpreters.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "build" / "bench"

# What each environment holds. hgraph's statistics are a package of their own since 0.8.
PACKAGES: dict[str, list[str]] = {
    "mainspring": [],
    "csp": ["csp"],
    "drake": ["drake"],
    "hgraph": ["hgraph>=0.8,<0.9", "hgraph-analytics>=0.8,<0.9"],
}


def interpreter(name: str) -> Path:
    """Return the Python of an environment."""
    return HOME / name / "bin" / "python"


def find_python(version: str) -> str:
    """Return an interpreter of a version: on the path, or among pyenv's."""
    found = shutil.which(f"python{version}")
    if (
        found is not None
        and not subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode
    ):
        return found
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    if not kept:
        raise SystemExit(f"no python{version} found: put one on the path, or pass --python")
    return str(kept[-1])


def make(name: str, python: str, *, rebuild: bool = False) -> Path:
    """Make an environment if it is missing (mainspring's is always brought up to date)."""
    target = interpreter(name)
    done = HOME / name / ".installed"  # one that was broken off half made is made again
    if not target.exists():
        subprocess.run([python, "-m", "venv", str(HOME / name)], check=True)
    if PACKAGES[name] and (rebuild or not done.exists()):
        _pip(target, *PACKAGES[name])
    done.touch()
    if name == "mainspring":
        _pip(target, str(ROOT))
    return target


def _pip(python: Path, *arguments: str) -> None:
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *arguments], check=True)


def main() -> int:
    """Make the environments named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=None, help="the interpreter to build them with")
    parser.add_argument("--rebuild", action="store_true", help="install the peers anew")
    parser.add_argument("names", nargs="*", default=[])
    arguments = parser.parse_args()
    python = arguments.python or find_python("3.12")
    for name in arguments.names or PACKAGES:
        print(f"{name}: {make(name, python, rebuild=arguments.rebuild)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

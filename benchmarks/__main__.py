"""Runs the benchmarks of the named folders, or of all of them, one after the other.

Each folder has a `run.py` with `main() -> None` that prints its table. Figures of different runs
do not compare; ratios within one do.
"""

from __future__ import annotations

import importlib
import platform
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Prints what machine this is, then every table."""
    names = sys.argv[1:] or sorted(p.parent.name for p in HERE.glob("*/run.py"))
    print(f"Python {platform.python_version()} on {platform.machine()}, {platform.platform()}")
    for name in names:
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}.run").main()


if __name__ == "__main__":
    main()

"""`python -m benchmarks physics`, or `python -m benchmarks.physics.run step poses cell ik`.

Every comparison alternates short pieces of both sides in one process and reports the median of
each, so a busy machine slows both alike. Limits are those the package promises.
"""

from __future__ import annotations

import sys

from benchmarks.physics import cell, ik, poses, step

PARTS = {"step": step.run, "poses": poses.run, "cell": cell.run, "ik": ik.run}


def main(names: list[str] | None = None) -> None:
    """Run what was named, or everything."""
    for name in names or list(PARTS):
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])

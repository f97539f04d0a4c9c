"""`python -m benchmarks.physics [name ...]`: step, poses, cell, ik.

Every comparison alternates short pieces of both sides in one process and reports the median of
each, so a busy machine slows both alike. Limits are those the package promises.
"""

from __future__ import annotations

import sys

from benchmarks.physics import cell, ik, poses, step

PARTS = {"step": step.run, "poses": poses.run, "cell": cell.run, "ik": ik.run}


def main(names: list[str]) -> int:
    """Run what was named, or everything."""
    good = True
    for name in names or list(PARTS):
        good &= PARTS[name]()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

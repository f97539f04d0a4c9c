"""Builds and runs the kernel's own tests, with no Python in them, under ASan and UBSan.

`--thread` builds them under TSan instead.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Configures, builds and runs; the exit code is ctest's."""
    thread = "--thread" in sys.argv
    build = ROOT / "build" / ("kernel-tsan" if thread else "kernel-asan")
    cmake = str(Path(sys.executable).parent / "cmake")
    flag = "MAINSPRING_TSAN" if thread else "MAINSPRING_SANITIZE"
    steps = [
        [cmake, "-S", str(ROOT), "-B", str(build), f"-D{flag}=ON", "-DCMAKE_BUILD_TYPE=Debug"],
        [cmake, "--build", str(build), "--parallel", str(os.cpu_count() or 1)],
        [str(Path(cmake).with_name("ctest")), "--test-dir", str(build), "--output-on-failure"],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0 or "ctest" in step[0]:
            print(done.stdout + done.stderr)
        if done.returncode != 0:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Builds and runs the kernel's own tests, with no Python in them: under ASan and UBSan, under TSan, and with Clang.

Where there is no Clang that build is left out, and says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CMAKE = Path(sys.executable).parent / "cmake"

CLANG = "kernel-clang"
BUILDS = {
    "kernel-asan": ["-DMAINSPRING_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug"],
    "kernel-tsan": ["-DMAINSPRING_TSAN=ON", "-DCMAKE_BUILD_TYPE=Debug"],
    CLANG: ["-DCMAKE_CXX_COMPILER=clang++"],
}


def built_and_passed(name: str, options: list[str]) -> bool:
    """Configures, builds and runs one build; shows what went wrong, or what ctest counted."""
    build = ROOT / "build" / name
    steps = [
        [str(CMAKE), "-S", str(ROOT), "-B", str(build), "-DMAINSPRING_WERROR=ON", *options],
        [str(CMAKE), "--build", str(build), "--parallel", str(os.cpu_count() or 1)],
        [str(CMAKE.with_name("ctest")), "--test-dir", str(build), "--output-on-failure"],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0 or step is steps[-1]:
            print(f"-- {name}\n{done.stdout}{done.stderr}", flush=True)
        if done.returncode != 0:
            return False
    return True


def main() -> int:
    """Every build that this machine can make, the first failure ending it."""
    builds = dict(BUILDS)
    if shutil.which("clang++") is None:
        print("no clang++ here; the build with Clang is left out")
        del builds[CLANG]
    return 0 if all(built_and_passed(*build) for build in builds.items()) else 1


if __name__ == "__main__":
    sys.exit(main())

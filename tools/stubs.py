"""Writes the typed stubs of the kernel, or, with --check, says where they have drifted."""

from __future__ import annotations

import filecmp
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STUBS = ROOT / "src" / "mainspring" / "_kernel"


def generate(into: Path) -> Path:
    """Generates the stub package below `into` and returns its folder."""
    subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-q", "-r", "-m", "mainspring._kernel",
         "-O", str(into), "-p", str(ROOT / "tools" / "stub_patterns.txt")],
        check=True,
    )  # fmt: skip
    clock = into / "_kernel" / "clock.pyi"
    clock.write_text(
        clock.read_text().replace(
            "import mainspring._kernel.inbox\n",
            "import mainspring._kernel.inbox\nimport mainspring.clock\n",
        )
    )
    return into / "_kernel"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        fresh = generate(Path(folder))
        if "--check" not in sys.argv:
            shutil.rmtree(STUBS, ignore_errors=True)
            shutil.copytree(fresh, STUBS)
            return 0
        names = sorted(p.name for p in fresh.iterdir())
        _, different, missing = filecmp.cmpfiles(fresh, STUBS, names, shallow=False)
        gone = sorted({p.name for p in STUBS.glob("*.pyi")} - set(names))
        for name in [*different, *missing, *gone]:
            print(f"src/mainspring/_kernel/{name} does not match the kernel; run `make stubs`")
        return 1 if different or missing or gone else 0


if __name__ == "__main__":
    sys.exit(main())

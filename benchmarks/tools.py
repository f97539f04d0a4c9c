"""What the benchmarks share: interleaved timing, and ratios with their spread."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

BUILD = Path(__file__).resolve().parent.parent / "build" / "bench"


def interleaved(rivals: dict[str, Callable[[], float]], rounds: int = 7) -> dict[str, list[float]]:
    """Runs every rival once a round, in turn, so that a slow moment of the machine hits all."""
    results: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds):
        for name, run in rivals.items():
            gc.collect()
            gc.disable()
            try:
                results[name].append(run())
            finally:
                gc.enable()
    return results


def timed(run: Callable[[], object]) -> float:
    """Seconds that `run` takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def ratio(above: list[float], below: list[float]) -> str:
    """The median of the rounds' ratios, with the least and the greatest."""
    each = sorted(a / b for a, b in zip(above, below, strict=True))
    return f"{statistics.median(each):.3g} ({each[0]:.3g} to {each[-1]:.3g})"


def row(name: str, figure: str, wanted: str = "") -> None:
    """One line of a table."""
    print(f"  {name:<58} {figure:<34} {wanted}", flush=True)


def compile_extension(source: Path) -> Path:
    """Builds a C file into an importable module and returns the folder it lies in."""
    BUILD.mkdir(parents=True, exist_ok=True)
    target = BUILD / f"{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_paths()["include"]
    subprocess.run(
        ["cc", "-O3", "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(target)],
        check=True,
    )
    return BUILD

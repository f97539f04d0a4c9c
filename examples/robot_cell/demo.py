"""Run the robot cell, record it, replay the record, and draw what happened.

Everything goes into one folder: the log (`run.world`), the recording (`run.mcap`, for Foxglove,
Lichtblick, PlotJuggler or the `mcap` tool), two plots and, where there is OpenGL, a picture of the
cell, and a trace of the schedule (`trace.json` for ui.perfetto.dev, `where_time_went.svg` for a look).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from examples.robot_cell import pictures
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from mainspring.capture import Recording, Trace
from mainspring.scene import Scene, load_scene
from mainspring.world.log import ReplayReport, record, replay

HERE = Path(__file__).parent
SLICE_NS = 100_000_000


def build() -> Scene:
    """The scene of the scene file."""
    return load_scene(HERE / "scene.toml")


def run(total_ns: int, out: Path, tell: Callable[[int], None]) -> tuple[Scene, Trace, float]:
    """Run, record and trace; the scene, the trace, and the wall time in seconds that it took."""
    scene = build()
    scene.subsystems["recorder"].path = out / "run.mcap"
    log = record(scene, out / "run.world", hash_every=0.1, entry=HERE / "scene.toml")
    with log, Trace(scene) as trace:
        began = time.perf_counter()
        while scene.time.now < total_ns:
            scene.advance(ns=min(SLICE_NS, total_ns - scene.time.now))
            tell(scene.time.now)
        wall_s = time.perf_counter() - began
    scene.stop()
    return scene, trace, wall_s


def tables(scene: Scene, report: ReplayReport, out: Path, wall_s: float, seconds: float) -> Table:
    """What happened, in one table."""
    with Recording(out / "run.mcap") as recording:
        error = recording.read("/tool/error")["value"]
        watch = recording.read("/cell/watch")
    alarm, nearest, alarms = watch["alarm"], watch["nearest"], int(watch["alarms"][-1])
    settled = error[len(error) // 5 :]
    table = Table(title="robot cell", show_header=False, title_justify="left")
    statistics = scene.time.statistics()
    steps = ", ".join(f"{one.name} {one.steps}" for one in statistics.runners.values())
    rows = [
        ("simulated", f"{seconds:g} s in {wall_s:.2f} s, {seconds / wall_s:.1f} x real time"),
        ("steps", f"{steps}; {statistics.instants} instants"),
        ("tracking error", f"{1e3 * np.sqrt(np.mean(settled**2)):.2f} mm rms, "
                           f"{1e3 * settled.max():.2f} mm at most, once it has caught up"),
        ("visitor", f"{np.nanmin(nearest):.2f} m at the nearest; "
                    f"{alarms} alarm{'s' * (alarms != 1)}, up in {int(alarm.sum())} of {len(alarm)} scans"),
        ("replay", f"{'identical' if report.identical else 'DIFFERENT'}: "
                   f"{report.hashes} hashes over {report.instants} instants"),
    ]  # fmt: skip
    files = ("run.mcap", "run.world")
    rows += [(name, f"{(out / name).stat().st_size / 1e3:.0f} kB") for name in files]
    for name, text in rows:
        table.add_row(name, text)
    return table


def main(arguments: list[str] | None = None) -> int:
    """The demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated time")
    parser.add_argument("--out", type=Path, default=Path("out"), help="the folder for everything")
    options = parser.parse_args(arguments)
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    for old in ("run.world", "run.world-wal", "run.world-shm"):
        (out / old).unlink(missing_ok=True)
    console = Console()
    columns = [
        TextColumn("{task.description:<8}"),
        BarColumn(40),
        TextColumn("{task.percentage:>3.0f} %"),
    ]
    total_ns = round(options.seconds * 1e9)
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        running = progress.add_task("running", total=total_ns)
        scene, trace, wall_s = run(
            total_ns, out, lambda done_ns: progress.update(running, completed=done_ns)
        )
        again = progress.add_task("replay", total=total_ns)
        report = replay(
            out / "run.world",
            progress=lambda done_ns, _: progress.update(again, completed=done_ns),
        )
        progress.update(again, completed=total_ns)
        drawing = progress.add_task("drawing", total=3)
        rates = {one.name: str(one.rate.as_written()) for one in scene.time.runners}
        drawn = []
        for draw in (
            lambda: pictures.tracking(out),
            lambda: pictures.timeline(trace, rates, out),
            lambda: pictures.cell(out),
        ):
            drawn.append(draw())
            progress.advance(drawing)
    console.print(tables(scene, report, out, wall_s, options.seconds))
    trace.save(out / "trace.json")  # for ui.perfetto.dev
    trace.save(out / "where_time_went.svg")
    console.print("replay:", "[bold green]identical" if report.identical else f"[red]{report}")
    console.print("look at", ", ".join(str(path) for path in drawn if path is not None))
    return 0 if report.identical else 1

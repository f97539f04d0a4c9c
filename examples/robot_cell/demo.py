"""Run the robot cell, record it, replay the record, and draw what happened.

Everything goes into one folder: the log (`run.world`), the recording (`run.mcap`, for Foxglove,
Lichtblick, PlotJuggler or the `mcap` tool), two pictures, and a trace of the schedule
(`trace.json` for ui.perfetto.dev, `where_time_went.svg` for a look).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from mainspring.capture import Recorder, Recording, Trace
from mainspring.scene import Scene, load_scene
from mainspring.world.log import ReplayReport, record, replay

HERE = Path(__file__).parent
SLICE_S = 0.1


def build() -> Scene:
    """The scene of the scene file."""
    return load_scene(HERE / "scene.toml")


def with_recorder(scene: Scene, path: Path) -> Recorder:
    """Channels at the rates of their runners: joints at 50 Hz, the scan at 10, the rest at 30."""
    arm, encoders = scene.subsystems["arm"], scene.subsystems["encoders"]
    scan, tracker = scene.subsystems["scan"], scene.scripts["tracker"]
    servo, watch = scene.subsystems["servo"], scene.subsystems["watch"]
    recorder = Recorder(path, overwrite=True)
    recorder.channel("/arm/joints", lambda: encoders.positions, runner="Control", unit="rad")
    recorder.channel("/arm/forces", lambda: servo.forces, runner="Control", unit="N m")
    recorder.channel("/tool/error", lambda: tracker.error, runner="Control", unit="m")
    recorder.channel("/tool/position", arm.tool, unit="m")
    recorder.channel("/cell/alarm", lambda: watch.value["alarm"], runner="Scan", dtype=float)
    recorder.channel("/cell/nearest", lambda: watch.value["nearest"], runner="Scan", unit="m")
    recorder.channel("/cell/smoothed", lambda: watch.value["smoothed"], runner="Scan", unit="m")
    recorder.channel(
        "/tool/worst_error", lambda: watch.value["worst_error"], runner="Scan", unit="m"
    )
    first, last = float(scan.angles[0]), float(scan.angles[-1])
    recorder.scan(
        "/scan", lambda: scan.value, rays=len(scan.angles), start_angle=first, end_angle=last,
        runner="Scan",
    )  # fmt: skip
    recorder.transforms()
    scene.add(recorder)
    return recorder


def run(seconds: float, out: Path, tell: Callable[[float], None]) -> tuple[Scene, Trace, float]:
    """Run, record and trace; the scene, the trace, and the wall time it took."""
    scene = build()
    with_recorder(scene, out / "run.mcap")
    log = record(scene, out / "run.world", hash_every=0.1, entry=HERE / "scene.toml")
    with log, Trace(scene) as trace:
        began = time.perf_counter()
        done = 0.0
        while done < seconds - 1e-9:
            piece = min(SLICE_S, seconds - done)
            scene.advance(seconds=piece)
            done += piece
            tell(done)
        wall_s = time.perf_counter() - began
    scene.stop()
    return scene, trace, wall_s


def tables(scene: Scene, report: ReplayReport, out: Path, wall_s: float, seconds: float) -> Table:
    """What happened, in one table."""
    with Recording(out / "run.mcap") as recording:
        error = recording.read("/tool/error")["value"]
        alarm = recording.read("/cell/alarm")["value"]
        nearest = recording.read("/cell/nearest")["value"]
    alarms = scene.subsystems["watch"].value["alarms"]
    settled = error[len(error) // 5 :]
    table = Table(title="robot cell", show_header=False, title_justify="left")
    statistics = scene.time.statistics()
    steps = ", ".join(f"{one.name} {one.steps}" for one in statistics.runners.values())
    rows = [
        ("simulated", f"{seconds:g} s in {wall_s:.2f} s, {seconds / wall_s:.1f} x real time"),
        ("steps", f"{steps}; {statistics.instants} instants"),
        ("tracking error", f"{1e3 * np.sqrt(np.mean(settled**2)):.1f} mm rms, "
                           f"{1e3 * settled.max():.1f} mm at most, once it has caught up"),
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


def draw(trace: Trace, out: Path) -> list[Path]:
    """The tracking error, and the timeline."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with Recording(out / "run.mcap") as recording:
        error, near = recording.read("/tool/error"), recording.read("/cell/nearest")
        smooth = recording.read("/cell/smoothed")
        alarm = recording.read("/cell/alarm")
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 5), sharex=True, layout="constrained")
    above.plot(error.times_ns / 1e9, 1e3 * error["value"], color="#1f6f8b")
    above.set(ylabel="tool to target (mm)", title="Tracking error", ylim=(0, None))
    below.plot(near.times_ns / 1e9, near["value"], color="#444444", label="nearest")
    below.plot(smooth.times_ns / 1e9, smooth["value"], "--", color="#888888", label="smoothed")
    raised = alarm["value"] > 0
    below.fill_between(
        alarm.times_ns / 1e9, 0, 1, where=raised, step="mid", color="#d1495b", alpha=0.35,
        transform=below.get_xaxis_transform(), label="alarm",
    )  # fmt: skip
    below.set(xlabel="time (s)", ylabel="metres")
    below.legend(loc="upper right")
    first = out / "tracking.png"
    figure.savefig(first, dpi=130)
    plt.close(figure)

    # Who stepped when: every span of a callback tells its runner and its instant.
    steps: dict[str, set[int]] = {}
    for span in trace.spans:
        if span.runner:
            steps.setdefault(span.runner, set()).add(span.sim_ns)
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 5), layout="constrained")
    shown_ns = 200_000_000
    for row, times in enumerate(steps.values()):
        at = np.array(sorted(t for t in times if t <= shown_ns)) / 1e6
        above.plot(at, np.full(len(at), row), "|", markersize=14, color="#1f6f8b")
    for at_ns in sorted(set.intersection(*steps.values())):
        if at_ns <= shown_ns:
            above.axvline(at_ns / 1e6, color="#d1495b", alpha=0.5, linewidth=1)
    above.set(
        yticks=range(len(steps)), yticklabels=list(steps), xlabel="sim time (ms)",
        title="The timeline: 200 ms; at the red lines all rates meet",
    )  # fmt: skip
    below.plot(
        [instant.sim_ns / 1e9 for instant in trace.instants],
        [(instant.end_ns - instant.begin_ns) / 1e3 for instant in trace.instants],
        ".", markersize=2, color="#444444",
    )  # fmt: skip
    below.set(xlabel="sim time (s)", ylabel="instant took (µs)", yscale="log")
    second = out / "timeline.png"
    figure.savefig(second, dpi=130)
    plt.close(figure)
    return [first, second]


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
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("running", total=options.seconds)
        scene, trace, wall_s = run(
            options.seconds, out, lambda done: progress.update(task, completed=done)
        )
        again = progress.add_task("replay", total=options.seconds)

        def told(done_ns: int, total_ns: int) -> None:
            progress.update(again, completed=done_ns / 1e9, total=total_ns / 1e9)

        report = replay(out / "run.world", progress=told)
        progress.update(again, completed=options.seconds, total=options.seconds)
    console.print(tables(scene, report, out, wall_s, options.seconds))
    pictures = draw(trace, out)
    trace.save(out / "trace.json")  # for ui.perfetto.dev
    trace.save(out / "where_time_went.svg")
    console.print("replay:", "[bold green]identical" if report.identical else f"[red]{report}")
    console.print("look at", ", ".join(str(path) for path in pictures))
    return 0 if report.identical else 1

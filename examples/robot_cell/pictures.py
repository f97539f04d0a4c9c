"""The pictures of the demo, drawn from what the run left behind: its recording, trace and log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from examples.drawing import BLUE, GREEN, GREY, RED, SAND, panels, save
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle, Rectangle

from mainspring.capture import Recording, Trace
from mainspring.threads import OffscreenCamera, Renderer, offscreen_missing
from mainspring.world.log import open_run

RAISE_AT_M, CLEAR_AT_M, REACH_M = 1.0, 1.3, 6.0
MOMENTS_S = (0.2, 1.8, 3.6)


def tracking(out: Path) -> Path:
    """How far the tool is from its target, and how near the visitor to the scanner."""
    with Recording(out / "run.mcap") as recording:
        error, watch = recording.read("/tool/error"), recording.read("/cell/watch")
    seconds, scans = error.times_ns / 1e9, watch.times_ns / 1e9
    end = seconds[-1] + 0.02
    figure, (above, below) = panels(2, 1, (10, 5.6), sharex=True)
    above.plot(seconds, 1e3 * error["value"], color=BLUE)
    settled = 1e3 * error["value"][len(error) // 5 :]
    above.set(ylabel="tool to target (mm)", ylim=(0, max(2.0, 1.3 * settled.max())))
    above.set_title(
        f"Tracking error at 50 Hz: {np.sqrt(np.mean(settled**2)):.2f} mm rms once it has caught up"
    )
    above.annotate(
        f"starts {1e3 * error['value'][0]:.0f} mm away", (0.0, 0.93), (0.075, 0.88),
        xycoords=above.get_xaxis_transform(), textcoords=above.transAxes, color=GREY,
    )  # fmt: skip
    near = watch["nearest"]
    seen = near < REACH_M
    below.fill_between(
        scans, 0, 1, where=watch["alarm"] > 0, step="post", color=RED, alpha=0.18,
        linewidth=0, transform=below.get_xaxis_transform(), label="alarm",
    )  # fmt: skip
    below.plot(scans, watch["smoothed"], color=GREY, alpha=0.6, linewidth=1.2, label="smoothed")
    below.plot(
        scans,
        np.where(seen, near, np.nan),
        "o-",
        markersize=2.5,
        color=BLUE,
        label="nearest return",
    )
    below.plot(
        scans[~seen], near[~seen], "o", markersize=2.5, color=BLUE, markerfacecolor="white",
        label="nothing within 6 m",
    )  # fmt: skip
    for level, text, rise in (
        (RAISE_AT_M, "raised below", -0.14),
        (CLEAR_AT_M, "cleared above", 0.1),
    ):
        below.axhline(level, color=RED, linewidth=0.8, linestyle=":")
        below.text(
            0.74, level + rise, text, color=RED, fontsize=8, ha="right",
            va="top" if rise < 0 else "bottom", transform=below.get_yaxis_transform(),
        )  # fmt: skip
    below.set(xlabel="sim time (s)", ylabel="visitor to scanner (m)", ylim=(0, 6.6), xlim=(0, end))
    below.set_title("Range scan at 10 Hz, and the alarm that the graph raises")
    below.legend(loc="upper center", ncols=4)
    return save(figure, out, "tracking.png")


def timeline(trace: Trace, rates: dict[str, str], out: Path) -> Path:
    """Who stepped when, and what the instants took."""
    steps: dict[str, set[int]] = {name: set() for name in rates}
    for span in trace.spans:
        if span.runner:
            steps[span.runner].add(span.sim_ns)
    figure, (above, below) = panels(2, 1, (10, 5.8), height_ratios=(1, 1.2))
    shown_ns = 200_000_000
    for at_ns in sorted(set.intersection(*steps.values())):
        if at_ns <= shown_ns:
            above.axvline(at_ns / 1e6, color=RED, alpha=0.35, linewidth=5, zorder=0)
    for row, times in enumerate(steps.values()):
        at = np.array(sorted(t for t in times if t <= shown_ns)) / 1e6
        above.plot(at, np.full(len(at), row), "|", markersize=15, markeredgewidth=1.6, color=BLUE)
    above.set(
        yticks=range(len(steps)), ylim=(-0.6, len(steps) - 0.4), xlim=(-3, 203),
        yticklabels=[f"{name}, {rate} Hz" for name, rate in rates.items()], xlabel="sim time (ms)",
    )  # fmt: skip
    above.grid(axis="y", alpha=0)
    above.invert_yaxis()
    above.set_title("One timeline: at the red lines all four rates meet")
    kinds: dict[str, tuple[str, list[Any]]] = {
        "physics alone": (GREY, []), "with capture": (GREEN, []), "with control": (BLUE, []),
        "with control, scan and hash": (RED, []),
    }  # fmt: skip
    for instant in trace.instants:
        at_ns = instant.sim_ns
        kind = (
            "with control, scan and hash" if at_ns in steps["Scan"]
            else "with control" if at_ns in steps["Control"]
            else "with capture" if at_ns in steps["Capture"] else "physics alone"
        )  # fmt: skip
        kinds[kind][1].append((at_ns / 1e9, (instant.end_ns - instant.begin_ns) / 1e3))
    for name, (colour, points) in kinds.items():
        if points:
            below.plot(*zip(*points, strict=True), ".", markersize=3, color=colour, label=name)
    below.axhline(2000, color=GREY, linewidth=1, linestyle="--", label="2 ms, a step of physics")
    below.set(
        xlabel="sim time (s)",
        ylabel="wall time (µs)",
        yscale="log",
        xlim=(0, (trace.instants[-1].sim_ns + 2_000_000) / 1e9),
    )
    below.set_title("What each instant took")
    below.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=5, markerscale=3, fontsize=9)
    return save(figure, out, "timeline.png")


def cell(out: Path) -> Path | None:
    """The cell at three instants, at which its log is opened, and what its scanner saw then."""
    if offscreen_missing() is not None:
        return None
    renderer, frames, visitors = Renderer("single_threaded"), [], []
    with open_run(out / "run.world") as run:
        moments = [at for at in MOMENTS_S if at * 1e9 <= run.end_ns]
        for at in moments:
            arm = run.at(at).scene.subsystems["arm"]
            eye = OffscreenCamera(renderer, arm.model, width=960, height=660, camera="overview")
            eye.capture(arm.data, round(at * 1e9))
            renderer.end_frame()
            renderer.block_until_complete()
            frames += eye.take_frames()
            visitors.append(arm.pose("visitor")[0][:2])
            scanner = arm.pose("scanner")[0][:2]
            eye.close()
    renderer.close()
    with Recording(out / "run.mcap") as recording:
        scan, watch = recording.read("/scan"), recording.read("/cell/watch")
        tool = recording.read("/tool/position")
    angles = np.linspace(-np.radians(135), np.radians(135), scan["ranges"].shape[1])
    figure, rows = panels(
        2, len(moments), (4.3 * len(moments), 5.9), squeeze=False, height_ratios=(1, 0.92)
    )
    for (above, below), at, frame, visitor in zip(rows.T, moments, frames, visitors, strict=True):
        now_ns = round(at * 1e9)
        above.imshow(frame.pixels)
        above.set_axis_off()
        alarm = watch["alarm"][np.searchsorted(watch.times_ns, now_ns)]
        above.set_title(f"{at:g} s" + (": alarm" if alarm else ""), color=RED if alarm else "black")
        ranges = scan["ranges"][np.searchsorted(scan.times_ns, now_ns)]
        ways = np.column_stack([np.cos(angles), np.sin(angles)])
        ends = scanner + np.where(np.isfinite(ranges), ranges, REACH_M)[:, None] * ways
        below.fill(*np.vstack([scanner, ends]).T, color=BLUE, alpha=0.13, linewidth=0)
        hit = np.isfinite(ranges)
        below.plot(*ends[hit].T, ".", color=BLUE, markersize=4, label="returns")
        below.add_patch(
            Circle(scanner, RAISE_AT_M, fill=bool(alarm), facecolor=(*to_rgb(RED), 0.18),
                   edgecolor=RED, linewidth=0.9, linestyle=":")
        )  # fmt: skip
        below.add_patch(Circle(visitor, 0.22, facecolor="#f0b429", edgecolor="none", alpha=0.8))
        below.add_patch(Rectangle((0.5, -0.5), 0.5, 1.0, facecolor=SAND, edgecolor="none"))
        below.add_patch(Circle((0.0, 0.0), 0.12, facecolor=GREY, edgecolor="none"))
        path = tool["value"][tool.times_ns <= now_ns]
        below.plot(path[:, 0], path[:, 1], color="#e0218a", linewidth=1.4, label="the tool's path")
        below.set(xlim=(-3.1, 3.1), ylim=(-2.7, 2.7), aspect="equal", xlabel="metres")
    rows[1, 0].legend(loc="upper left", fontsize=8.5)
    return save(figure, out, "cell.png")

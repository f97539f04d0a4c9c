"""The pictures of the demo, drawn from what the run left behind: its recording, trace and log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from examples.drawing import BLUE, GREEN, GREY, RED, panels, save

from mainspring.capture import Recording, Trace
from mainspring.threads import OffscreenCamera, Renderer, offscreen_missing
from mainspring.world.log import open_run

RAISE_AT_M, CLEAR_AT_M, REACH_M = 1.0, 1.3, 6.0
MOMENTS_S = (0.2, 1.8, 3.4)


def tracking(out: Path) -> Path:
    """How far the tool is from its target, and how near the visitor to the scanner."""
    with Recording(out / "run.mcap") as recording:
        error, near = recording.read("/tool/error"), recording.read("/cell/nearest")
        smooth, alarm = recording.read("/cell/smoothed"), recording.read("/cell/alarm")
    figure, (above, below) = panels(2, 1, (10, 5.6), sharex=True)
    above.plot(error.times_ns / 1e9, 1e3 * error["value"], color=BLUE)
    settled = 1e3 * error["value"][len(error) // 5 :]
    above.set(ylabel="tool to target (mm)", ylim=(0, max(12.0, 1.3 * settled.max())))
    above.set_title("Tracking error at 50 Hz")
    above.annotate(
        f"starts {1e3 * error['value'][0]:.0f} mm away", (0.0, 0.93), (0.06, 0.9),
        xycoords=above.get_xaxis_transform(), textcoords=above.transAxes, color=GREY,
    )  # fmt: skip
    seen = np.where(near["value"] < REACH_M, near["value"], np.nan)
    below.plot(near.times_ns / 1e9, seen, "o-", markersize=2.5, color=BLUE, label="nearest return")
    below.plot(smooth.times_ns / 1e9, smooth["value"], color=GREY, alpha=0.7, label="smoothed")
    for level, text in ((RAISE_AT_M, "raised below"), (CLEAR_AT_M, "cleared above")):
        below.axhline(level, color=RED, linewidth=0.8, linestyle=":")
        at = (0.995, level + (0.08 if level == CLEAR_AT_M else -0.33))
        below.text(
            *at, text, color=RED, fontsize=8, ha="right", transform=below.get_yaxis_transform()
        )
    below.fill_between(
        alarm.times_ns / 1e9, 0, 1, where=alarm["value"] > 0, step="post", color=RED, alpha=0.2,
        linewidth=0, transform=below.get_xaxis_transform(), label="alarm",
    )  # fmt: skip
    below.set(xlabel="sim time (s)", ylabel="visitor to scanner (m)", ylim=(0, 4), xlim=(0, None))
    below.set_title("Range scan at 10 Hz, and the alarm that the graph raises")
    below.legend(loc="upper center", ncols=3)
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
    below.set(xlabel="sim time (s)", ylabel="wall time (µs)", yscale="log", xlim=(0, None))
    below.set_title("What each instant took")
    below.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=5, markerscale=3, fontsize=9)
    return save(figure, out, "timeline.png")


def cell(out: Path) -> Path | None:
    """What the cell looked like at three instants: the log is opened at each of them."""
    if offscreen_missing() is not None:
        return None
    renderer, frames = Renderer("single_threaded"), []
    with open_run(out / "run.world") as run:
        moments = [at for at in MOMENTS_S if at * 1e9 <= run.end_ns]
        for at in moments:
            arm = run.at(at).scene.subsystems["arm"]
            eye = OffscreenCamera(renderer, arm.model, width=720, height=540, camera="overview")
            eye.capture(arm.data, round(at * 1e9))
            renderer.end_frame()
            renderer.block_until_complete()
            frames += eye.take_frames()
            eye.close()
    renderer.close()
    figure, row = panels(1, len(moments), (4.2 * len(moments), 3.4), squeeze=False)
    for panel, at, frame in zip(row[0], moments, frames, strict=True):
        panel.imshow(frame.pixels)
        panel.set_axis_off()
        panel.set_title(f"{at:g} s")
    return save(figure, out, "cell.png")

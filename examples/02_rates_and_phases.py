"""Rates and phases: two runners, five phases, and the order in which everything happens.

At 0 and 100 ms both runners step, and their work is interleaved: first by phase, then by
priority. In between each steps alone.

    python examples/02_rates_and_phases.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from mainspring import Phase, Scene

WORK = [
    # name, runner, phase, priority
    ("sensor", "Robot", Phase.ACQUISITION, 0),
    ("controller", "Robot", Phase.CONTROL, -200),
    ("recorder", "Capture", Phase.CONTROL, 0),
    ("solver", "Robot", Phase.PHYSICS, 0),
    ("checks", "Capture", Phase.VALIDATION, 0),
    ("telemetry", "Capture", Phase.EXPORT, 0),
]


def main(out: Path = Path("out")) -> Path:
    """A tenth of a second, call by call."""
    scene = Scene("rates")
    calls: list[tuple[int, str, str, float]] = []
    for name, runner, phase, priority in WORK:

        def call(context: object, name: str = name, runner: str = runner) -> None:
            calls.append((scene.time.now, name, runner, context.ts))  # type: ignore[attr-defined]

        scene.time.register(call, runner=runner, phase=phase, priority=priority, name=name)
    scene.advance(ns=100_000_001)
    last = None
    for time_ns, name, runner, ts in calls:
        stamp = f"{time_ns / 1e6:8.3f} ms" if time_ns != last else " " * 11
        print(f"{stamp}  {name:<11}{runner:<8} ts = {ts:.4f} s")
        last = time_ns

    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    colours = {"Robot": "#1f6f8b", "Capture": "#d1495b"}
    instants = sorted({time_ns for time_ns, *_ in calls})
    figure, axes = plt.subplots(figsize=(9, 3.8), layout="constrained")
    for column, time_ns in enumerate(instants):
        here = [entry for entry in calls if entry[0] == time_ns]
        for row, (_, name, runner, _) in enumerate(here):
            axes.text(
                column, -row, name, ha="center", va="center", color="white", fontsize=8,
                bbox={"boxstyle": "round", "facecolor": colours[runner], "edgecolor": "none"},
            )  # fmt: skip
    axes.set(
        xlim=(-0.6, len(instants) - 0.4), ylim=(-len(WORK) + 0.3, 0.7), yticks=[],
        xticks=range(len(instants)), xticklabels=[f"{t / 1e6:.3g} ms" for t in instants],
        title="One cycle of Robot (50 Hz, blue) and Capture (30 Hz, red), each column an instant",
    )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "02_rates_and_phases.png"
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return picture


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))

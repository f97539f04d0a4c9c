"""Rates and phases: two runners, five phases, and the order in which everything happens.

At 0 and 100 ms both runners step, and their work is interleaved: first by phase, then by
priority. In between each steps alone.

    python examples/02_rates_and_phases.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from drawing import BLUE, RED, panels, save

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

    return draw(out, calls)


def draw(out: Path, calls: list[tuple[int, str, str, float]]) -> Path:
    """A column for each instant, a band for each phase; the numbers are the order of the calls."""
    colours = {"Robot": BLUE, "Capture": RED}
    phases = {name: phase for name, _, phase, _ in WORK}
    instants = sorted({time_ns for time_ns, *_ in calls})
    figure, panel = panels(1, 1, (11, 4.6))
    for row in range(0, 5, 2):
        panel.axhspan(-row - 0.5, -row + 0.5, color="#f1f3f4", zorder=0)
    for column, time_ns in enumerate(instants):
        here = [entry for entry in calls if entry[0] == time_ns]
        if len({runner for _, _, runner, _ in here}) > 1:
            panel.axvspan(column - 0.46, column + 0.46, color="#f6dfa4", alpha=0.6, zorder=1)
        for number, (_, name, runner, _) in enumerate(here, 1):
            phase = phases[name]
            shared = [other for other, its in phases.items() if its == phase]
            lower = 0.24 * (len(shared) - 1) - 0.48 * shared.index(name)
            panel.text(
                column, lower - int(phase), f"{number}  {name}", ha="center", va="center",
                color="white", fontsize=8.5,
                bbox={"boxstyle": "round,pad=0.35", "facecolor": colours[runner], "edgecolor": "none"},
            )  # fmt: skip
    panel.set(
        xlim=(-0.55, len(instants) - 0.45), ylim=(-4.5, 0.5), yticks=range(0, -5, -1),
        yticklabels=[str(phase).capitalize() for phase in Phase], xticks=range(len(instants)),
        xticklabels=[f"{time_ns / 1e6:.3g} ms" for time_ns in instants],
    )  # fmt: skip
    panel.grid(False)
    panel.tick_params(length=0)
    panel.set_title("Robot, 50 Hz (blue), and Capture, 30 Hz (red); shared steps in yellow")
    return save(figure, out, "02_rates_and_phases.png")


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))

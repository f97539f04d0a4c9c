"""Plots of recordings: channels over sim time, as PNG, SVG or PDF.

A channel is named like a column of a table: `/arm/q` for all its numbers, `/arm/q.value[2]`
for one. Lines of one unit share a panel, and without a unit those of one group of fields; the
panels share the time axis. What changes in steps, an integer or a truth, is drawn in steps.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mainspring.capture._errors import CaptureError, ChannelError
from mainspring.capture._lines import Line, read_lines, thinned
from mainspring.capture._outputs import Outputs
from mainspring.capture._reader import Recording, split_path
from mainspring.errors import MissingExtraError

__all__ = ["plot"]

_SUFFIXES = (".png", ".svg", ".pdf")
_COLORS = (
    "#2f6db3", "#dd7f2b", "#3f9a4d", "#c2403f", "#7d5ba6",
    "#8a6248", "#cf6fae", "#6f7782", "#a8a02a", "#2aa3b5",
)  # fmt: skip
_LEGEND_ROWS = 12
_POINTS = 1 << 13
"""More are not told apart on the widest panel, and would swell an SVG."""
_MARKERS_BELOW = 60
"""With fewer points than this each is marked, so that the rate can be seen."""
_ROWS, _PANELS = 12, 160
"""So many panels stand below one another before they form columns; so many fit at all."""
_UNITS = ((7200e9, 3600e9, "h"), (300e9, 60e9, "min"), (0.2e9, 1e9, "s"), (0.2e6, 1e6, "ms"))
"""From how much sim time on its axis has which unit; µs below all of them."""


def plot(
    recording: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    channels: Sequence[str] = (),
    title: str | None = None,
    start_seconds: float | None = None,
    end_seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Draw channels of a recording into `out`; returns the labels of what was drawn.

    Without `channels`, everything numeric is drawn. `progress` is told (done, total) bytes.
    """
    target = Path(out)
    with Recording(recording) as opened:
        if target.suffix not in _SUFFIXES:
            raise CaptureError(
                f"a plot cannot be written as {target.name!r}", hint="use .png, .svg or .pdf"
            )
        wanted = list(dict.fromkeys(channels or opened.topics))
        found = read_lines(
            opened,
            [split_path(name, opened.topics) for name in wanted] if channels else
            [(topic, "") for topic in wanted],
            start_ns=_ns(start_seconds),
            end_ns=_ns(end_seconds),
            progress=None if progress is None else lambda done: progress(done, opened.size),
        )  # fmt: skip
        truncated = opened.truncated
    # Asked for twice, drawn once.
    lines = list({line.label: line for some in found for line in some}.values())
    if not lines and not (start_seconds is None and end_seconds is None):
        raise CaptureError(f"{os.fspath(recording)} has nothing to plot in that time")
    for name, some in zip(wanted, found, strict=True):
        if channels and not some:
            raise ChannelError(
                f"channel {name!r} has nothing numeric to plot",
                hint="images, texts and tables are not drawn; a number in a table is, by its path",
            )
    if not lines:
        raise CaptureError(
            f"{os.fspath(recording)} has nothing to plot by itself",
            hint="a number in a table is drawn by its path: /robots.rows[0].position[2]",
        )
    heading = title or Path(recording).name
    if truncated:
        heading += " (cut off: what is there is drawn)"
    _draw(lines, target, heading)
    return [line.label for line in lines]


def _ns(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


def _draw(lines: list[Line], target: Path, title: str) -> None:
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plotting", "capture") from None
    panels = _panels(lines)
    if len(panels) > _PANELS:
        raise CaptureError(
            f"these {len(lines)} lines make {len(panels)} panels, more than can be looked at",
            hint="name some of the channels, or give channels a unit: those of one share a panel",
        )
    across = -(-len(panels) // _ROWS) if len(panels) <= 4 * _ROWS else 4
    down = -(-len(panels) // across)
    begin, end = _span(lines)
    size, unit = next(
        ((size, unit) for least, size, unit in _UNITS if end - begin >= least),
        (1e3, "µs") if end > begin else (1e9, "s"),
    )
    margin = 0.01 * (end - begin) or 1e9
    heights = [
        max(_height(panels[i][1]) for i in range(row, len(panels), down)) for row in range(down)
    ]
    wide, high = (11.0 if across == 1 else 7.5 * across), 0.9 + sum(heights)
    # Fitting every label costs the square of the panels; many are given the same room instead.
    fitted = len(panels) <= 2 * _ROWS
    # Our own figure, never pyplot: nothing global is touched, and no display is looked for.
    with matplotlib.rc_context({"svg.hashsalt": "mainspring", "font.size": 9}), Outputs() as files:
        figure = Figure(figsize=(wide, high), layout="constrained" if fitted else None)
        FigureCanvasAgg(figure)
        figure.suptitle(_literal(title), fontsize=13, fontweight="bold")
        if not fitted:
            figure.suptitle(_literal(title), y=1 - 0.15 / high, fontsize=13, fontweight="bold")
            figure.subplots_adjust(
                left=0.8 / wide, right=1 - 1.5 / wide, wspace=0.45,
                bottom=0.6 / high, top=1 - 0.7 / high, hspace=0.4,
            )  # fmt: skip
        grid = figure.subplots(down, across, squeeze=False, gridspec_kw={"height_ratios": heights})
        # order: down the first column, then down the next
        axes = grid.T.reshape(-1)
        for number, (name, members) in enumerate(panels):
            panel = axes[number]
            _draw_panel(panel, name, members, size)
            panel.set_xlim((begin - margin) / size, (end + margin) / size)
            if number % down == down - 1 or number == len(panels) - 1:
                panel.set_xlabel(f"sim time [{unit}]")
            else:
                panel.tick_params(labelbottom=False)
        for panel in axes[len(panels) :]:
            panel.remove()
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        figure.savefig(
            files.add(target),
            format=target.suffix[1:],
            dpi=130,
            metadata=metadata.get(target.suffix, {"Software": None}),
        )


def _span(lines: list[Line]) -> tuple[float, float]:
    times = [line.times_ns for line in lines if len(line.times_ns)]
    return float(min(t[0] for t in times)), float(max(t[-1] for t in times))


def _height(members: list[Line]) -> float:
    """A panel's height in inches."""
    return 0.9 if all(line.kind == "bool" for line in members) else 2.2


def _draw_panel(panel: Any, name: str, members: list[Line], time_size: float) -> None:
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    many = len(members) > len(_COLORS)
    for number, line in enumerate(members):
        times, values = thinned(line.times_ns, line.values, _POINTS)
        few = len(times) < _MARKERS_BELOW
        panel.plot(
            times / time_size,
            values,
            label=line.label,
            color=colormaps["viridis"](number / (len(members) - 1)) if many else _COLORS[number],
            linewidth=0.9 if many else 1.3,
            drawstyle="default" if line.kind == "float" else "steps-post",
            marker="o" if few else None,
            markersize=3,
        )
    unit = members[0].unit
    panel.set_title(_literal(name), fontsize=9, loc="left")
    if unit:
        panel.set_ylabel(_literal(unit))
    if all(line.kind == "bool" for line in members):
        panel.set_ylim(-0.15, 1.15)
        panel.set_yticks([0, 1], ["false", "true"])
    else:
        panel.yaxis.set_major_locator(
            MaxNLocator(nbins=5, integer=all(line.kind != "float" for line in members))
        )
        panel.ticklabel_format(axis="y", useOffset=_offset(members), scilimits=(-3, 6))
    panel.grid(color="#e4e8ec")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    if len(members) > 1:
        _legend(panel, members)


def _legend(panel: Any, members: list[Line]) -> None:
    """What each line is, as far as it differs from the others; of many, some of them."""
    handles = panel.get_lines()
    names = _differences([_shown(line) for line in members])
    title = None
    if len(names) > _LEGEND_ROWS:
        title = f"{_LEGEND_ROWS - 2} of {len(names)} lines"
        chosen = np.linspace(0, len(names) - 1, _LEGEND_ROWS - 2).round().astype(int).tolist()
        handles, names = [handles[i] for i in chosen], [names[i] for i in chosen]
    panel.legend(
        handles, [_literal(name) for name in names], loc="upper left", bbox_to_anchor=(1.005, 1.0),
        borderaxespad=0, fontsize=8, frameon=False, title=title, title_fontsize=8,
        alignment="left",
    )  # fmt: skip


def _offset(members: list[Line]) -> bool:
    """Whether the values differ so little that the axis had better count from one of them."""
    finite = [v[np.isfinite(v)] for v in (line.values for line in members)]
    finite = [v for v in finite if len(v)]
    if not finite:
        return False
    low, high = min(float(v.min()) for v in finite), max(float(v.max()) for v in finite)
    return max(abs(low), abs(high)) > 1e5 * (high - low) > 0


def _panels(lines: list[Line]) -> list[tuple[str, list[Line]]]:
    """Lines that share an axis, and what they have in common as its title."""
    panels: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        key = ("unit", line.unit) if line.unit else ("field", line.topic, *_family(line))
        panels.setdefault(key, []).append(line)
    return [(_common(members), members) for members in panels.values()]


def _family(line: Line) -> tuple[str, ...]:
    """Fields that are drawn together where no unit says so: items of an array, x, y and z."""
    path = line.path.partition("[")[0] if line.path.endswith("]") else line.path
    group, _, name = path.rpartition(".")
    return (group, "*") if name in ("w", "x", "y", "z") else (path, line.kind)


def _shown(line: Line) -> str:
    """A line's label, without the `value` that a channel of one thing has for a field."""
    path = line.path.removeprefix("value")
    return line.topic + (path if path.startswith("[") else f".{path}" if path else "")


def _common(members: list[Line]) -> str:
    """A title for lines that are drawn together."""
    shown = [_shown(line) for line in members]
    if len(shown) == 1:
        return shown[0]
    prefix = _beginning(shown)
    cut = max(prefix.rfind(c) for c in "/.[")
    if len({line.topic for line in members}) == 1 and len(prefix) >= len(members[0].topic):
        cut = max(cut, len(members[0].topic))
    return prefix[: max(cut, 0)].rstrip("/.[") or "several channels"


def _differences(names: list[str]) -> list[str]:
    """The names without what all begin with, up to a mark that parts words."""
    prefix = _beginning(names)
    cut = max(prefix.rfind(c) for c in "/.[")
    if cut <= 0:
        return names
    return [name[cut:] if name[cut] == "[" else name[cut + 1 :] for name in names]


def _beginning(names: list[str]) -> str:
    """What all names begin with."""
    first, last = min(names), max(names)  # in the order of the alphabet: they differ most
    same = next((i for i, c in enumerate(first) if last[i : i + 1] != c), len(first))
    return first[:same]


def _literal(text: str) -> str:
    """Text that matplotlib takes as it is."""
    return text.replace("$", r"\$")

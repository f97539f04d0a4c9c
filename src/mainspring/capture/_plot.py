"""Plots of recordings: channels over sim time, as PNG, SVG or PDF.

A channel is named like a column of a table: `/arm/q` for all its numbers, `/arm/q.value[2]`
for one. Channels of one unit share a panel; the panels share the time axis.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mainspring.capture._errors import CaptureError, ChannelError
from mainspring.capture._reader import ChannelInfo, Recording, Series, split_path
from mainspring.capture._table import column_name, plan_of
from mainspring.errors import MissingExtraError

__all__ = ["Line", "lines_of", "plot"]

_SUFFIXES = (".png", ".svg", ".pdf")
_LEGEND_ROWS = 14
_MARKERS_BELOW = 60
"""With fewer points than this each is marked, so that the rate can be seen."""


class Line:
    """One line of a plot."""

    def __init__(
        self, label: str, unit: str, times_ns: np.ndarray[Any, Any], values: np.ndarray[Any, Any]
    ) -> None:
        self.label = label
        self.unit = unit
        self.times_ns = times_ns
        self.values = values


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
    if target.suffix not in _SUFFIXES:
        raise CaptureError(
            f"a plot cannot be written as {target.name!r}", hint="use .png, .svg or .pdf"
        )
    lines: list[Line] = []
    with Recording(recording) as opened:
        wanted = list(channels) or opened.topics
        chosen = [split_path(name, opened.topics) for name in wanted]
        read = opened.read_many(
            [topic for topic, _ in chosen],
            progress=None if progress is None else lambda done: progress(done, opened.size),
        )
        for name, (topic, path) in zip(wanted, chosen, strict=True):
            found = lines_of(read[topic], path)
            if not found and channels:
                raise ChannelError(
                    f"channel {name!r} has nothing numeric to plot",
                    hint="images, texts and tables are not drawn",
                )
            lines += found
        truncated = opened.truncated
    lines = [_window(line, start_seconds, end_seconds) for line in lines]
    if not any(len(line.times_ns) for line in lines):
        raise CaptureError(f"{os.fspath(recording)} has nothing to plot in that time")
    heading = title or Path(recording).name
    if truncated:
        heading += " (cut off: what is there is drawn)"
    _draw(lines, target, heading)
    return [line.label for line in lines]


def lines_of(series: Series, path: str = "") -> list[Line]:
    """The lines of a channel: of one field, of the items of an array, or of all its numbers."""
    channel = series.channel
    lines = []
    for one in _paths(series, path) if len(series) else []:
        values = series[one]
        if values.dtype.kind in "biuf":
            label = column_name(channel.topic, one)
            lines.append(Line(label, channel.unit, series.times_ns, values.astype(float)))
    if path and len(series) and not lines:
        series[path]  # says which fields there are, where it is none
    return lines


def _paths(series: Series, path: str) -> list[str]:
    """Every numeric field at or below `path`, arrays item by item."""
    found: list[str] = []
    for name, code, count in _columns(series.channel, series):
        if code in ("s", "json", "bytes") or name.endswith(("timestamp.sec", "timestamp.nsec")):
            continue
        found += [f"{name}[{i}]" for i in range(count)] if count else [name]
    if not path:
        return found
    below = [one for one in found if one == path or re.match(re.escape(path) + r"[.\[]", one)]
    return below or [path]


def _columns(channel: ChannelInfo, series: Series) -> tuple[tuple[str, str, int], ...]:
    import msgspec

    if channel.columns:
        return channel.columns
    if channel.message_encoding != "json":
        return ()
    return plan_of(channel, msgspec.json.encode(series.values[0])).columns


def _window(line: Line, start: float | None, end: float | None) -> Line:
    keep = np.ones(len(line.times_ns), bool)
    if start is not None:
        keep &= line.times_ns >= start * 1e9
    if end is not None:
        keep &= line.times_ns <= end * 1e9
    return Line(line.label, line.unit, line.times_ns[keep], line.values[keep])


def _draw(lines: list[Line], target: Path, title: str) -> None:
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plotting", "capture") from None
    panels = _panels(lines)
    # Our own figure, never pyplot: nothing global is touched, and no display is looked for.
    with matplotlib.rc_context({"svg.hashsalt": "mainspring", "font.size": 9}):
        figure = Figure(figsize=(11, 1.1 + 2.5 * len(panels)), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(title, fontsize=13, fontweight="bold")
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for panel, (name, members) in zip(axes, panels, strict=True):
            _draw_panel(panel, name, members)
        axes[-1].set_xlabel("sim time [s]")
        metadata = {".svg": {"Date": None}, ".png": {"Software": None}}.get(target.suffix)
        if target.suffix == ".pdf":
            metadata = {"CreationDate": None}
        figure.savefig(target, dpi=130, metadata=metadata)


def _draw_panel(panel: Any, name: str, members: list[Line]) -> None:
    import matplotlib

    colors = matplotlib.colormaps["tab10" if len(members) <= 10 else "viridis"]
    for number, line in enumerate(members):
        color = colors(number if len(members) <= 10 else number / (len(members) - 1))
        few = len(line.times_ns) < _MARKERS_BELOW
        panel.plot(
            line.times_ns / 1e9,
            line.values,
            label=line.label.replace("$", r"\$"),
            color=color,
            linewidth=1.2,
            marker="o" if few else None,
            markersize=3,
        )
    panel.set_ylabel(name.replace("$", r"\$"))
    panel.grid(alpha=0.3)
    panel.margins(x=0.01)
    panel.ticklabel_format(axis="y", useOffset=False, style="plain") if _plain(members) else None
    if len(members) > 1:
        handles, labels = panel.get_legend_handles_labels()
        if len(handles) > _LEGEND_ROWS:
            left_out = len(handles) - _LEGEND_ROWS
            handles, labels = handles[:_LEGEND_ROWS], labels[:_LEGEND_ROWS]
            labels[-1] += f"  … and {left_out} more"
        panel.legend(
            handles, labels, loc="upper left", bbox_to_anchor=(1.005, 1.0), borderaxespad=0,
            fontsize=8, frameon=False,
        )  # fmt: skip
    else:
        panel.set_title(members[0].label.replace("$", r"\$"), fontsize=9, loc="left")


def _plain(members: list[Line]) -> bool:
    """Whether the values read well without powers of ten."""
    finite = [v[np.isfinite(v)] for v in (line.values for line in members)]
    most = max((float(np.abs(v).max()) for v in finite if len(v)), default=1.0)
    return most == 0 or 1e-3 <= most < 1e6


def _panels(lines: list[Line]) -> list[tuple[str, list[Line]]]:
    """Lines that share an axis: those of one unit; without one, those of one channel."""
    panels: dict[str, list[Line]] = {}
    for line in lines:
        panels.setdefault(line.unit or line.label.partition("[")[0], []).append(line)
    return [
        (f"[{members[0].unit}]" if members[0].unit else _field(members[0].label), members)
        for members in panels.values()
    ]


def _field(label: str) -> str:
    name = label.partition("[")[0]
    return name.rpartition(".")[2] or name

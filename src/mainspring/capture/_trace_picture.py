"""A trace at a glance: where wall time went, what was late, the worst instant, who took it.

From above to below: the whole run in columns, each column's time split by phase; under it, a
red bar for what was late; the worst instant enlarged, callback by callback; and the callbacks
by what they took in all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mainspring.capture._picture import Picture

if TYPE_CHECKING:
    from mainspring.capture._trace import Trace

__all__ = ["trace_picture"]

_COLORS = {
    "inputs": "#8d6cab",
    "Acquisition": "#4c78a8",
    "Control": "#59a14f",
    "Physics": "#e0743c",
    "Validation": "#d8ad2b",
    "Export": "#499a96",
    "free update": "#9c755f",
    "engine": "#b8c2cc",
}
_LATE = "#d0323a"
_GIVEN_UP = "#f0a0a4"
_FAINT = "#6b7785"
_GRID = "#e4e8ec"
_WIDTH, _LEFT, _RIGHT = 1200, 70, 24
_INNER = _WIDTH - _LEFT - _RIGHT
_COLUMNS = 240
_ROWS = 12
_BARS, _BAR = 530, 200
"""Where the bars of the table of callbacks begin, and how long the longest is."""
_NUMBERS = (820, 900, 980, 1075, 1176)
"""Where its columns of numbers end."""


def trace_picture(trace: Trace) -> Picture:
    """Draw a trace."""
    callbacks = trace.by_cost()[:_ROWS]
    left_out = len(trace.callbacks) > _ROWS
    height = 560 + 24 * (max(len(callbacks), 1) + left_out)
    picture = Picture(_WIDTH, height, f"Where time went in {trace.name}")
    _head(picture, trace)
    _overview(picture, trace, top=120, height=150)
    _lateness(picture, trace, top=300, height=50)
    _worst(picture, trace, top=410, height=60)
    _table(picture, trace, top=530)
    return picture


def _head(picture: Picture, trace: Trace) -> None:
    sim, wall = trace.sim_end_ns - trace.sim_begin_ns, trace.wall_ns
    factor = f" (×{_three_digits(sim / wall)})" if wall and sim else ""
    facts = [
        f"{_duration(sim)} simulated in {_duration(wall)}{factor}",
        _counted(len(trace.instants), "instant"),
    ]
    if trace.frames:
        facts.append(_counted(len(trace.frames), "frame"))
    if trace.dropped:
        facts.append(f"{trace.dropped} spans beyond the limit left out")
    told = _verdict(trace)
    picture.text(_LEFT, 58, ", ".join(facts), size=13, color=_FAINT)
    # On the line of the facts, or above it where both do not fit.
    beside = 7.2 * len(", ".join(facts)) + 8.6 * len(told) < _INNER
    room = 90 if beside else 90 - int(8.6 * len(told) / 11.5)
    heading = _short(f"Where time went in {trace.name}", max(room, 20))
    picture.text(_LEFT, 36, heading, size=20, bold=True)
    picture.text(
        _WIDTH - _RIGHT,
        58 if beside else 36,
        told or ("nothing was late" if trace.paced else "nothing would be late in real time"),
        size=13,
        color=_LATE if told else "#3b7d3a",
        anchor="end",
        bold=True,
    )
    x: float = _LEFT
    for kind, color in _COLORS.items():
        picture.rectangle(x, 76, 12, 12, color)
        picture.text(x + 17, 86, kind, size=12)
        x += 17 + 7.2 * len(kind) + 22


def _verdict(trace: Trace) -> str:
    """What was late, in words; nothing when nothing was."""
    late = trace.late()
    said = []
    if late:
        word = "late" if trace.paced else "would be late in real time"
        worst = _duration(max(by for _, by in late))
        said.append(f"{_counted(len(late), 'instant')} {word}, the worst by {worst}")
    for word, given_up in (
        ("forgiven", sum(frame.forgiven_ns for frame in trace.frames)),
        ("skipped", sum(frame.skipped_ns for frame in trace.frames)),
    ):
        if given_up:
            said.append(f"{_duration(given_up)} {word}")
    return "; ".join(said)


def _overview(picture: Picture, trace: Trace, *, top: float, height: float) -> None:
    """Columns of wall time; the rest of a column is waiting or the program around the run."""
    wall = max(trace.wall_ns, 1)
    column_ns = wall / _COLUMNS
    shares = [dict.fromkeys(_COLORS, 0.0) for _ in range(_COLUMNS)]

    def spread(kind: str, begin_ns: float, end_ns: float, sign: float = 1.0) -> None:
        first = max(int(begin_ns / column_ns), 0)
        last = min(int(end_ns / column_ns), _COLUMNS - 1)
        for column in range(first, last + 1):
            inside = min(end_ns, (column + 1) * column_ns) - max(begin_ns, column * column_ns)
            shares[column][kind] += sign * max(inside, 0.0) / column_ns

    for one in trace.instants:
        spread("engine", one.begin_ns, one.end_ns)
    for span in trace.spans:
        spread(span.kind, span.begin_ns, span.end_ns)
        if span.kind != "free update":
            spread("engine", span.begin_ns, span.end_ns, -1.0)
    bottom = top + height
    for part in (0.0, 0.5, 1.0):
        y = bottom - part * height
        picture.line(_LEFT, y, _WIDTH - _RIGHT, y, _GRID)
        picture.text(_LEFT - 8, y + 4, f"{part:.0%}", size=11, color=_FAINT, anchor="end")
    width = _INNER / _COLUMNS
    for column, parts in enumerate(shares):
        y = bottom
        for kind, color in _COLORS.items():
            share = min(max(parts[kind], 0.0), 1.0) * height
            y = max(y - share, top)
            picture.rectangle(
                _LEFT + column * width,
                y,
                width + 0.15,
                share,
                color,
                title=f"{kind} {parts[kind]:.0%}",
            )
    picture.text(_LEFT, top - 8, "share of wall time", size=12, bold=True)
    _time_axis(picture, wall, bottom)


def _time_axis(picture: Picture, wall_ns: int, y: float) -> None:
    step = _round_step(wall_ns / 8)
    ticks = int(wall_ns // step)
    for tick in range(ticks + 1):
        x = _LEFT + tick * step / wall_ns * _INNER
        picture.line(x, y, x, y + 4, _FAINT)
        near_the_end = x > _WIDTH - _RIGHT - 30
        picture.text(
            x, y + 17, _duration(tick * step) if tick else "0", size=11, color=_FAINT,
            anchor="end" if near_the_end else "middle",
        )  # fmt: skip


def _lateness(picture: Picture, trace: Trace, *, top: float, height: float) -> None:
    """Bars for late instants, and paler ones for the time that a frame forgave or skipped."""
    what = "late" if trace.paced else "longer than the time to the next instant"
    picture.text(_LEFT, top + 12, what, size=12, bold=True)
    bottom = top + height + 14
    picture.line(_LEFT, bottom, _WIDTH - _RIGHT, bottom, _FAINT)
    late = [(one.begin_ns, by) for one, by in trace.late()]
    given_up = [
        (frame.begin_ns, frame.forgiven_ns + frame.skipped_ns)
        for frame in trace.frames
        if frame.forgiven_ns + frame.skipped_ns
    ]
    if given_up:
        x = _LEFT + 12 + 7.6 * len(what)
        picture.rectangle(x, top + 3, 10, 10, _GIVEN_UP)
        picture.text(x + 15, top + 12, "given up by a frame (forgiven or skipped)", size=12)
    if not late and not given_up:
        picture.text(_LEFT + 12 + 7.6 * len(what), top + 12, "none", size=12, color=_FAINT)
        return
    most = max(by for _, by in late + given_up)
    width = _INNER / _COLUMNS
    for found, color in ((given_up, _GIVEN_UP), (late, _LATE)):
        columns: dict[int, int] = {}
        for begin_ns, by in found:
            column = min(int(begin_ns / max(trace.wall_ns, 1) * _COLUMNS), _COLUMNS - 1)
            columns[column] = max(columns.get(column, 0), by)
        for column, by in columns.items():
            bar = max(by / most * (height - 6), 2.0)
            x = _LEFT + column * width
            picture.rectangle(x, bottom - bar, width, bar, color, title=_duration(by))
    picture.text(
        _LEFT - 8, bottom - height + 14, _duration(most), size=11, color=_LATE, anchor="end"
    )


def _worst(picture: Picture, trace: Trace, *, top: float, height: float) -> None:
    """The instant that took longest, callback by callback."""
    if not trace.instants:
        picture.text(_LEFT, top + 10, "no instant was seen", size=12, bold=True)
        return
    index = max(
        range(len(trace.instants)),
        key=lambda i: trace.instants[i].end_ns - trace.instants[i].begin_ns,
    )
    one = trace.instants[index]
    length = max(one.end_ns - one.begin_ns, 1)
    picture.text(
        _LEFT, top - 8,
        f"the longest instant, at sim time {one.sim_ns / 1e9:.9f} s: {_duration(length)}",
        size=12, bold=True,
    )  # fmt: skip
    picture.rectangle(_LEFT, top, _INNER, height, _COLORS["engine"], title="engine")
    for span in trace.spans_of(index):
        x = _LEFT + (span.begin_ns - one.begin_ns) / length * _INNER
        width = (span.end_ns - span.begin_ns) / length * _INNER
        took = _duration(span.end_ns - span.begin_ns)
        told = f"{span.name} ({span.runner}, {span.kind}): {took}"
        picture.rectangle(x, top, width, height, _COLORS[span.kind], title=told)
        picture.line(x, top, x, top + height, "#ffffff")
        room = int((width - 10) / 7.8)
        if room >= 5:
            name = _short(span.name, room)
            picture.text(x + 6, top + 26, name, size=12, color="#ffffff", bold=True)
        if room >= len(took):
            picture.text(x + 6, top + 44, took, size=11, color="#ffffff")


def _table(picture: Picture, trace: Trace, *, top: float) -> None:
    rows = trace.by_cost()
    total = sum(row.total_ns for row in rows)
    busy = sum(one.end_ns - one.begin_ns for one in trace.instants)
    picture.text(_LEFT, top - 12, "callbacks, by what they took in all", size=12, bold=True)
    for x, name in zip(_NUMBERS, ("total", "share", "calls", "mean", "longest"), strict=True):
        picture.text(x, top - 12, name, size=11, color=_FAINT, anchor="end")
    if not rows:
        picture.text(_LEFT, top + 14, "no callback ran", size=12, color=_FAINT)
    most = rows[0].total_ns if rows else 1
    for number, row in enumerate(rows[:_ROWS]):
        y = top + 24 * number
        picture.rectangle(
            _BARS, y, _BAR * row.total_ns / max(most, 1), 16, _COLORS[row.kind], title=row.name
        )
        picture.text(_LEFT, y + 12, _short(row.name, 36), size=12)
        place = f"{_short(row.runner, 20)} {row.kind}".strip()
        picture.text(_BARS - 10, y + 12, place, size=10, color=_FAINT, anchor="end")
        numbers = (
            _duration(row.total_ns),
            f"{row.total_ns / max(total, busy, 1):.1%}",
            str(row.calls),
            _duration(row.total_ns / row.calls),
            _duration(row.max_ns),
        )
        for x, text in zip(_NUMBERS, numbers, strict=True):
            picture.text(x, y + 12, text, size=12, anchor="end")
    if len(rows) > _ROWS:
        rest = sum(row.total_ns for row in rows[_ROWS:])
        picture.text(
            _LEFT,
            top + 24 * _ROWS + 12,
            f"and {len(rows) - _ROWS} more, {_duration(rest)} together",
            size=12,
            color=_FAINT,
        )


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(max(rough, 1)))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough)


def _short(text: str, room: int) -> str:
    """`text` in `room` characters: without its middle, because names differ at their ends."""
    if len(text) <= room:
        return text
    tail = max(room - 1, 1) // 2
    return text[: max(room - 1 - tail, 1)] + "…" + (text[-tail:] if room > 3 else "")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _duration(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= 0.9995 * size:
            return f"{_three_digits(ns / size)} {unit}"
    return f"{ns:.0f} ns"

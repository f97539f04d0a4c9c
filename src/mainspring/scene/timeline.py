"""Pictures of the shared timeline: who steps when, and where runners meet."""

from __future__ import annotations

import math
from html import escape

from mainspring.clock import Instant, TimeManager

__all__ = ["draw_svg", "draw_text", "one_cycle_ns"]

_MOST_SHOWN = 2_000


def one_cycle_ns(time: TimeManager) -> int:
    """From now until all runners meet again, included; at most ten seconds."""
    rates = [runner.rate.hertz for runner in time.runners]
    # The beat of several rates is the greatest rate that divides them all.
    above = math.gcd(*(rate.numerator for rate in rates))
    below = math.lcm(*(rate.denominator for rate in rates))
    beat_ns = 1_000_000_000 * below // above
    return min(beat_ns, 10_000_000_000) + 1


def _instants(time: TimeManager, span_ns: int) -> tuple[list[Instant], int]:
    """The instants to show, and the span they fill when there are too many for it."""
    found: list[Instant] = []
    for instant in time.boundaries(time.now + span_ns):
        if len(found) == _MOST_SHOWN:
            return found, instant.time_ns - time.now
        found.append(instant)
    return found, span_ns


def _milliseconds(time_ns: int) -> str:
    return f"{time_ns / 1e6:.3f}".rstrip("0").rstrip(".")


def draw_text(time: TimeManager, span_ns: int) -> str:
    """A line an instant: its time, a mark for each runner due, and their names; shared ones are
    starred."""
    instants, shown_ns = _instants(time, span_ns)
    names = [runner.name for runner in time.runners]
    width = max((len(_milliseconds(i.time_ns)) for i in instants), default=1)
    lines = [f"{'ms':>{width}}  {'  '.join(names)}"]
    for instant in instants:
        marks = "  ".join(
            ("●" if name in instant.runners else "·").center(len(name)) for name in names
        )
        shared = "  * shared" if instant.shared else ""
        lines.append(f"{_milliseconds(instant.time_ns):>{width}}  {marks}{shared}".rstrip())
    if shown_ns < span_ns:
        lines.append(f"... and more: the first {_MOST_SHOWN} instants are shown")
    return "\n".join(lines)


def draw_svg(time: TimeManager, span_ns: int) -> str:
    """The timeline as a picture: a lane a runner, shared instants joined and in red."""
    instants, span_ns = _instants(time, span_ns)
    runners = list(time.runners)
    left, top, lane, width = 170, 56, 44, 900
    height = top + lane * len(runners) + 40
    start, span = time.now, max(span_ns - 1, 1)

    def x(time_ns: int) -> float:
        return round(left + (time_ns - start) / span * width, 2)

    ink, shared_ink, grid = "#24344d", "#e8492f", "#d5dbe5"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 40}" height="{height}" '
        f'viewBox="0 0 {left + width + 40} {height}" font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="16" y="26" font-size="16" fill="{ink}">Shared timeline, '
        f"{_milliseconds(start)} to {_milliseconds(start + span)} ms</text>",
    ]
    for row, runner in enumerate(runners):
        y = top + lane * row + lane // 2
        out.append(
            f'<text x="16" y="{y + 4}" fill="{ink}">{escape(runner.name)} · {runner.rate}</text>'
            f'<line x1="{left}" y1="{y}" x2="{left + width}" y2="{y}" stroke="{grid}"/>'
        )
    shown = [instant for instant in instants if instant.runners]
    shortest_ns = 1e9 / float(max(runner.rate.hertz for runner in runners))
    radius = min(5.0, max(1.5, shortest_ns / span * width / 3))
    for instant in shown:
        place, color = x(instant.time_ns), shared_ink if instant.shared else ink
        ys = [
            top + lane * row + lane // 2
            for row, runner in enumerate(runners)
            if runner.name in instant.runners
        ]
        if instant.shared:
            out.append(
                f'<line x1="{place}" y1="{ys[0]}" x2="{place}" y2="{ys[-1]}" stroke="{color}" '
                'stroke-width="2"/>'
            )
        out += [f'<circle cx="{place}" cy="{y}" r="{radius:g}" fill="{color}"/>' for y in ys]
    # Where not every time fits, those at which most runners meet are told first.
    taken: list[tuple[float, float]] = []
    for instant in sorted(shown, key=lambda i: -len(i.runners)):
        place, color = x(instant.time_ns), shared_ink if instant.shared else ink
        label = _milliseconds(round(instant.time_ns / 1e5) * 100_000)
        low, high = place - 4 * len(label) - 4, place + 4 * len(label) + 4
        if all(high <= begun or low >= ended for begun, ended in taken):
            taken.append((low, high))
            out.append(
                f'<text x="{place}" y="{height - 18}" text-anchor="middle" fill="{color}">'
                f"{label}</text>"
            )
    return "\n".join([*out, "</svg>"]) + "\n"

"""Pictures made of rectangles, lines and text: SVG by hand, PNG by matplotlib.

A picture is a list of shapes in pixels from the upper left corner. SVG needs no library, so a
trace can be drawn wherever mainspring runs; PNG draws the same shapes with matplotlib.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, Literal

import msgspec

from mainspring.errors import MissingExtraError

__all__ = ["Picture"]

Anchor = Literal["start", "middle", "end"]
_FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"


class _Rectangle(msgspec.Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float
    fill: str
    title: str


class _Line(msgspec.Struct, frozen=True):
    x1: float
    y1: float
    x2: float
    y2: float
    color: str
    width: float


class _Text(msgspec.Struct, frozen=True):
    x: float
    y: float
    text: str
    size: float
    color: str
    anchor: Anchor
    bold: bool


class Picture:
    """A drawing of a fixed size."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width = width
        self.height = height
        self.title = title
        self._shapes: list[_Rectangle | _Line | _Text] = []

    def rectangle(
        self, x: float, y: float, width: float, height: float, fill: str, *, title: str = ""
    ) -> None:
        """A filled rectangle; `title` shows where the viewer has a pointer."""
        if width > 0 and height > 0:
            self._shapes.append(_Rectangle(x, y, width, height, fill, title))

    def line(
        self, x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1.0
    ) -> None:
        self._shapes.append(_Line(x1, y1, x2, y2, color, width))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 12,
        color: str = "#1f2933",
        anchor: Anchor = "start",
        bold: bool = False,
    ) -> None:
        """A line of text whose baseline is at `y`."""
        self._shapes.append(_Text(x, y, text, size, color, anchor, bold))

    def save(self, path: Path, kind: str) -> None:
        """Write it as an `.svg` or a `.png`."""
        if kind == ".png":
            self._save_png(path)
        else:
            path.write_text(self.svg(), encoding="utf-8")

    def svg(self) -> str:
        """The picture as an SVG document."""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" font-family="{_FONT}">',
            f"<title>{escape(self.title)}</title>",
            f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>',
        ]
        parts.extend(_svg_of(shape) for shape in self._shapes)
        parts.append("</svg>\n")
        return "\n".join(parts)

    def _save_png(self, path: Path) -> None:
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
            from matplotlib.patches import Rectangle
        except ImportError:
            raise MissingExtraError("drawing PNG pictures", "capture") from None
        dpi = 100
        size = (self.width / dpi, self.height / dpi)
        figure = Figure(figsize=size, dpi=dpi, facecolor="white")
        figure.set_layout_engine("none")  # whatever the user's own settings are
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, self.width)
        axes.set_ylim(self.height, 0)
        axes.axis("off")
        points = 72 / dpi  # sizes are in pixels, matplotlib's in points
        anchors = {"start": "left", "middle": "center", "end": "right"}
        for shape in self._shapes:
            if isinstance(shape, _Rectangle):
                axes.add_patch(
                    Rectangle((shape.x, shape.y), shape.width, shape.height, color=shape.fill, lw=0)
                )
            elif isinstance(shape, _Line):
                xs, ys = (shape.x1, shape.x2), (shape.y1, shape.y2)
                axes.plot(xs, ys, color=shape.color, lw=shape.width * points)
            else:
                axes.text(
                    shape.x,
                    shape.y,
                    shape.text.replace("$", r"\$"),
                    fontsize=shape.size * points,
                    color=shape.color,
                    ha=anchors[shape.anchor],
                    va="baseline",
                    weight="bold" if shape.bold else "normal",
                )
        # order: as the shapes were drawn, also where they are of different kinds
        for rank, artist in enumerate(_in_order(axes, self._shapes)):
            artist.set_zorder(rank + 1)
        figure.savefig(path, format="png", dpi=dpi, metadata={"Software": None})


def _in_order(axes: Any, shapes: list[Any]) -> list[Any]:
    kinds: dict[Any, Any] = {
        _Rectangle: iter(axes.patches),
        _Line: iter(axes.lines),
        _Text: iter(axes.texts),
    }
    return [next(kinds[type(shape)]) for shape in shapes]


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _svg_of(shape: Any) -> str:
    n = _number
    if isinstance(shape, _Rectangle):
        place = (
            f'x="{n(shape.x)}" y="{n(shape.y)}" width="{n(shape.width)}" height="{n(shape.height)}"'
        )
        if shape.title:
            return f'<rect {place} fill="{shape.fill}"><title>{escape(shape.title)}</title></rect>'
        return f'<rect {place} fill="{shape.fill}"/>'
    if isinstance(shape, _Line):
        return (
            f'<line x1="{n(shape.x1)}" y1="{n(shape.y1)}" x2="{n(shape.x2)}" y2="{n(shape.y2)}" '
            f'stroke="{shape.color}" stroke-width="{n(shape.width)}"/>'
        )
    weight = ' font-weight="bold"' if shape.bold else ""
    anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
    return (
        f'<text x="{n(shape.x)}" y="{n(shape.y)}" font-size="{n(shape.size)}" '
        f'fill="{shape.color}"{anchor}{weight}>{escape(shape.text)}</text>'
    )

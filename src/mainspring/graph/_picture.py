"""Descriptions as SVG pictures, with a small layered layout of our own.

Nodes stand in rows by rank, as they are evaluated. Within a row they are moved towards the mean
place of what they are connected to, downwards and upwards in turn, and never overlap. An edge over
several rows goes through a place kept free for it in each. A node with graphs inside is a box that
holds their pictures. The same description always gives the same bytes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from mainspring.graph._description import GraphDescription, NodeDescription
from mainspring.graph._draw import caption, edge_label, feedbacks

__all__ = ["to_svg"]

_CHAR, _LINE, _PAD, _GAP_X, _GAP_Y, _MARGIN = 7.0, 17.0, 10.0, 22.0, 56.0, 16.0
_SWEEPS = 8
_COLOURS = {
    "source": ("#e6f5e9", "#3f8f54"),
    "sink": ("#fdeedd", "#c07a2b"),
    "nested": ("#f4effc", "#7a5bb5"),
    "stub": ("#f0f0f0", "#888888"),
    "out": ("#f0f0f0", "#888888"),
}
_PLAIN = ("#eaf1fb", "#4470ad")


@dataclass(eq=False)
class _Box:
    """Something with a place in a row: a node, the result, or a bend of an edge."""

    row: int
    width: float = 0.0
    height: float = 0.0
    node: NodeDescription | None = None
    title: str = ""
    below: str = ""
    kind: str = "bend"
    inside: list[_Drawing] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    up: list[_Box] = field(default_factory=list)
    down: list[_Box] = field(default_factory=list)

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass
class _Edge:
    boxes: list[_Box]
    label: str
    active: bool
    twin: int


@dataclass
class _Drawing:
    name: str
    width: float
    height: float
    parts: list[str]


def to_svg(graph: GraphDescription) -> str:
    """A picture of the graph."""
    drawing = _draw(graph)
    width, height = drawing.width + 2 * _MARGIN, drawing.height + 2 * _MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12">'
    )
    style = (
        "<defs><marker id='tip' viewBox='0 0 8 8' refX='7.5' refY='4' markerWidth='7' "
        "markerHeight='7' orient='auto-start-reverse'><path d='M0 0.8 L7.5 4 L0 7.2 z' "
        "fill='#667'/></marker></defs>"
    )
    title = f"<title>{escape(graph.name)}</title>"
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    body = f'<g transform="translate({_MARGIN:g} {_MARGIN:g})">'
    return "\n".join([head, title, style, ground, body, *drawing.parts, "</g>", "</svg>"]) + "\n"


def _draw(graph: GraphDescription) -> _Drawing:
    if not graph.nodes:
        return _Drawing(graph.name, 40, 20, [])
    boxes = [_box(node) for node in graph.nodes]
    lowest = min(box.row for box in boxes)
    for box in boxes:
        box.row -= lowest  # push sources have a rank before all others
    everything: list[_Box] = list(boxes)
    edges: list[_Edge] = []
    for node in graph.nodes:
        for item in node.inputs:
            label = edge_label(node, item, graph.nodes[item.source])
            edges.append(
                _connect(boxes[item.source], boxes[node.id], label, item.active, everything)
            )
    if graph.output is not None:
        text = repr(graph.output_type)
        out = _Box(boxes[graph.output].row + 1, _wide(text), _LINE + _PAD, None, text, "", "out")
        everything.append(out)
        edges.append(_connect(boxes[graph.output], out, "", True, everything))
    rows = _arrange(everything)
    width = max(box.x + box.width for box in everything)
    parts = [_edge(edge) for edge in edges]
    back = [(boxes[a], boxes[b]) for a, b in feedbacks(graph)]
    for at, (taker, giver) in enumerate(back):
        width = max(width, taker.x + taker.width, giver.x + giver.width) + (12 if at else 30)
        parts.append(_back(taker, giver, width - 10))
    for box in everything:
        if box.kind != "bend":
            parts += _shape(box)
    height = max(row[0].y + max(box.height for box in row) for row in rows)
    return _Drawing(graph.name, width, height, parts)


def _wide(text: str) -> float:
    return len(text) * _CHAR + 2 * _PAD


def _box(node: NodeDescription) -> _Box:
    title, below = caption(node)
    kind = node.kind if node.kind in _COLOURS else "compute"
    box = _Box(node.rank, 0, 0, node, title, below, "nested" if node.nested else kind)
    box.inside = [_draw(inner) for inner in node.nested]
    lines = 2 if below else 1
    box.width = max(_wide(title), _wide(below))
    box.height = lines * _LINE + _PAD
    if box.inside:
        inner = sum(d.width + 2 * _PAD for d in box.inside) + _PAD * (len(box.inside) + 1)
        box.width = max(box.width, inner, *(_wide(d.name) + 2 * _PAD for d in box.inside))
        box.height += max(d.height for d in box.inside) + _LINE + 3 * _PAD
    return box


def _connect(source: _Box, target: _Box, label: str, active: bool, everything: list[_Box]) -> _Edge:
    twin = sum(box is source for box in target.up)
    way = [source]
    for row in range(source.row + 1, target.row):
        bend = _Box(row, 2.0)
        everything.append(bend)
        way.append(bend)
    way.append(target)
    for above, under in itertools.pairwise(way):
        above.down.append(under)
        under.up.append(above)
    return _Edge(way, label, active, twin)


def _arrange(boxes: list[_Box]) -> list[list[_Box]]:
    count = max(box.row for box in boxes) + 1
    rows: list[list[_Box]] = [[] for _ in range(count)]
    for box in boxes:
        rows[box.row].append(box)
    rows = [row for row in rows if row]
    for row in rows:
        _place(row, {})
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for row in rows if downwards else reversed(rows):
            wanted = {}
            for box in row:
                near = box.up if downwards else box.down
                if near:
                    wanted[id(box)] = sum(other.middle for other in near) / len(near)
            # order: the mean place of the neighbours, then the order before (the sort is stable)
            row.sort(key=lambda box: wanted.get(id(box), box.middle))
            _place(row, wanted)
    left = min(box.x for box in boxes)
    y = 0.0
    for row in rows:
        for box in row:
            box.x -= left
            box.y = y
        tallest = max(box.height for box in row)
        for box in row:
            if box.kind == "bend":
                box.height = tallest  # straight past whatever stands beside it
        y += tallest + _GAP_Y
    return rows


def _place(row: list[_Box], wanted: dict[int, float]) -> None:
    """Put each box where it wants to be; those that would overlap share the way apart."""
    groups: list[tuple[float, list[_Box], float]] = []  # where it begins, its boxes, its width
    for box in row:
        middle = wanted.get(id(box), box.middle if wanted else 0.0)
        start, members, width = middle - box.width / 2, [box], box.width
        weight = 1
        while groups and groups[-1][0] + groups[-1][2] + _GAP_X > start:
            before, others, wide = groups.pop()
            n = len(others)
            both = (before * n + (start - wide - _GAP_X) * weight) / (n + weight)
            start, members, width = both, others + members, wide + _GAP_X + width
            weight += n
        groups.append((start, members, width))
    for start, members, _ in groups:
        x = start
        for box in members:
            box.x = x
            x += box.width + _GAP_X


def _port(box: _Box, others: list[_Box], at: int) -> float:
    """Where an edge meets a box: side by side, in the order of the other ends."""
    order = sorted(range(len(others)), key=lambda i: (others[i].middle, i))
    return box.x + box.width * (order.index(at) + 1) / (len(others) + 1)


def _nth(boxes: list[_Box], wanted: _Box, n: int) -> int:
    return [i for i, box in enumerate(boxes) if box is wanted][n]


def _edge(edge: _Edge) -> str:
    way = edge.boxes
    source, target = way[0], way[-1]
    begin = _port(source, source.down, source.down.index(way[1]))
    end = _port(target, target.up, target.up.index(way[-2]))
    if edge.twin:  # several edges between the same two boxes stand side by side
        end = _port(target, target.up, _nth(target.up, source, edge.twin))
        begin = _port(source, source.down, _nth(source.down, target, edge.twin))
    points = [(begin, source.y + source.height)]
    for bend in way[1:-1]:
        points += [(bend.middle, bend.y), (bend.middle, bend.y + bend.height)]
    points.append((end, target.y - 1))
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for at, ((x0, y0), (x1, y1)) in enumerate(itertools.pairwise(points)):
        if at % 2:
            path += f" L{x1:.1f} {y1:.1f}"
            continue
        half = (y1 - y0) / 2
        path += f" C{x0:.1f} {y0 + half:.1f} {x1:.1f} {y1 - half:.1f} {x1:.1f} {y1:.1f}"
    dash = "" if edge.active else ' stroke-dasharray="5 3"'
    drawn = f'<path d="{path}" fill="none" stroke="#667" stroke-width="1.2"{dash} marker-end="url(#tip)"/>'
    if edge.label:
        x, y = points[-1]
        drawn += (
            f'\n<text x="{x + 4:.1f}" y="{y - 10:.1f}" font-size="10" fill="#556" '
            f'paint-order="stroke" stroke="#ffffff" stroke-width="3">{escape(edge.label)}</text>'
        )
    return drawn


def _back(taker: _Box, giver: _Box, x: float) -> str:
    x0, y0 = taker.x + taker.width, taker.y + taker.height / 2
    x1, y1 = giver.x + giver.width + 1, giver.y + giver.height / 2
    path = f"M{x0:.1f} {y0:.1f} L{x - 8:.1f} {y0:.1f} Q{x:.1f} {y0:.1f} {x:.1f} {y0 - 8:.1f} "
    path += f"L{x:.1f} {y1 + 8:.1f} Q{x:.1f} {y1:.1f} {x - 8:.1f} {y1:.1f} L{x1:.1f} {y1:.1f}"
    return (
        f'<path d="{path}" fill="none" stroke="#667" stroke-width="1.2" stroke-dasharray="2 3" '
        'marker-end="url(#tip)"/>'
    )


def _shape(box: _Box) -> list[str]:
    fill, line = _COLOURS.get(box.kind, _PLAIN)
    radius = 14 if box.kind in ("source", "out", "stub") else 4
    parts = [
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{radius}" fill="{fill}" stroke="{line}"/>'
    ]
    if box.node is not None:
        about = " > ".join((*box.node.path, box.node.site)) or box.node.code
        parts[0] = parts[0][:-2] + f"><title>{escape(about)}</title></rect>"
    middle, y = box.middle, box.y + _PAD / 2 + 13
    text = '<text x="{:.1f}" y="{:.1f}" text-anchor="middle"{}>{}</text>'
    weight = ' font-weight="bold"' if box.node is not None else ' fill="#444"'
    parts.append(text.format(middle, y, weight, escape(box.title)))
    if box.below:
        y += _LINE
        parts.append(text.format(middle, y, ' fill="#444"', escape(box.below)))
    x = box.x + _PAD
    for drawing in box.inside:
        top = y + _PAD
        wide = max(drawing.width + 2 * _PAD, _wide(drawing.name))
        parts.append(
            f'<rect x="{x:.1f}" y="{top:.1f}" width="{wide:.1f}" '
            f'height="{drawing.height + _LINE + 2 * _PAD:.1f}" rx="4" fill="#ffffff" '
            f'stroke="{line}" stroke-dasharray="4 3"/>'
        )
        parts.append(
            f'<text x="{x + 6:.1f}" y="{top + 13:.1f}" font-size="10" fill="#666">'
            f"{escape(drawing.name)}</text>"
        )
        parts.append(f'<g transform="translate({x + _PAD:.1f} {top + _LINE + _PAD / 2:.1f})">')
        parts += [*drawing.parts, "</g>"]
        x += wide + _PAD
    return parts

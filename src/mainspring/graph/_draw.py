"""Descriptions as text for other programs to draw: Mermaid and DOT.

Nodes get the names of their paths (`n3`, `n3_g0_n1` for a node of a nested graph), so the text is
the same for the same graph. A passive input is dashed; what a feedback brings back is dotted.
"""

from __future__ import annotations

from collections.abc import Iterator

from mainspring.graph._description import GraphDescription, InputDescription, NodeDescription

__all__ = ["caption", "edge_label", "feedbacks", "to_dot", "to_mermaid"]

_SHAPES = {"source": ('(["', '"])'), "sink": ('[/"', '"/]'), "stub": ('(("', '"))')}
_STEPS = {2**32 - 1: ".error", 2**32 - 2: ".key_set"}


def caption(node: NodeDescription) -> tuple[str, str]:
    """The two lines that stand for a node: what it is, and what it gives."""
    title = node.label or node.name
    shown = [f"{k}={v!r}" for k, v in node.scalars.items() if v is not None and not callable(v)]
    if node.code == "const" and node.params:
        shown = [repr(node.params[0])]
    if shown:
        inside = ", ".join(shown)
        title += f"({inside if len(inside) <= 32 else inside[:31] + '…'})"
    return title, "" if node.output is None else repr(node.output)


def edge_label(node: NodeDescription, item: InputDescription, source: NodeDescription) -> str:
    """What stands at an edge: the input's name, and which part of the source it takes."""
    part = ""
    tp = source.output
    for step in item.path:
        names = list(getattr(tp, "fields", ())) if tp is not None else []
        named = step < len(names)
        part += _STEPS.get(step) or (f".{names[step]}" if named else f"[{step}]")
        inner = tp.children() if tp is not None and step < 2**31 else ()
        tp = inner[step] if named else inner[0] if inner else None
    name = item.name if len(node.inputs) > 1 or part else ""
    return f"{name}: {part}" if name and part else name or part


def feedbacks(graph: GraphDescription) -> Iterator[tuple[int, int]]:
    """The edges that lead to the next cycle: the node that takes, the node that gives."""
    for node in graph.nodes:
        if node.code == "feedback_sink" and node.params:
            yield node.id, node.params[0]


def to_mermaid(graph: GraphDescription) -> str:
    """A flowchart in Mermaid's language."""
    lines = ["flowchart TD"]
    _mermaid(graph, "", "  ", lines)
    return "\n".join(lines) + "\n"


def _mermaid(graph: GraphDescription, prefix: str, pad: str, lines: list[str]) -> None:
    for node in graph.nodes:
        name = f"{prefix}n{node.id}"
        text = "<br/>".join(_escape(line) for line in caption(node) if line)
        left, right = _SHAPES.get(node.kind, ('["', '"]'))
        if node.nested:
            lines.append(f'{pad}subgraph {name}["{text}"]')
            for at, inner in enumerate(node.nested):
                inner_name = f"{name}_g{at}_"
                lines.append(f'{pad}  subgraph {inner_name}["{_escape(inner.name)}"]')
                _mermaid(inner, inner_name, pad + "    ", lines)
                lines.append(f"{pad}  end")
            lines.append(f"{pad}end")
        else:
            lines.append(f"{pad}{name}{left}{text}{right}")
    for node in graph.nodes:
        for item in node.inputs:
            label = _escape(edge_label(node, item, graph.nodes[item.source]))
            arrow = "-->" if item.active else "-.->"
            mark = f'|"{label}"|' if label else ""
            lines.append(f"{pad}{prefix}n{item.source} {arrow}{mark} {prefix}n{node.id}")
    for taker, giver in feedbacks(graph):
        lines.append(f'{pad}{prefix}n{taker} -. "next cycle" .-> {prefix}n{giver}')
    if graph.output is not None:
        lines.append(f'{pad}{prefix}out(("{_escape(repr(graph.output_type))}"))')
        lines.append(f"{pad}{prefix}n{graph.output} --> {prefix}out")


def _escape(text: str) -> str:
    for found, instead in (
        ("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;"), ("\n", " "),
    ):  # fmt: skip
        text = text.replace(found, instead)
    return text


def to_dot(graph: GraphDescription) -> str:
    """A digraph in Graphviz's language."""
    lines = [
        f"digraph {_quote(graph.name)} {{",
        "  compound=true; rankdir=TB;",
        '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=10];',
    ]
    _dot(graph, "", "  ", lines)
    lines.append("}")
    return "\n".join(lines) + "\n"


_FILLS = {"source": "#e3f4e6", "sink": "#fdecd9", "nested": "#efe8fb", "stub": "#eeeeee"}


def _dot(graph: GraphDescription, prefix: str, pad: str, lines: list[str]) -> None:
    for node in graph.nodes:
        name = f"{prefix}n{node.id}"
        text = _quote("\n".join(line for line in caption(node) if line))
        fill = _FILLS.get(node.kind, "white")
        lines.append(f'{pad}{name} [label={text}, fillcolor="{fill}"];')
        for at, inner in enumerate(node.nested):
            inner_name = f"{name}_g{at}_"
            lines.append(f"{pad}subgraph cluster_{inner_name} {{")
            lines.append(f"{pad}  label={_quote(f'{node.label or node.name}: {inner.name}')};")
            _dot(inner, inner_name, pad + "  ", lines)
            lines.append(f"{pad}}}")
            if inner.nodes:
                first = f"{inner_name}n0"
                lines.append(
                    f"{pad}{name} -> {first} "
                    f"[style=dotted, arrowhead=none, lhead=cluster_{inner_name}];"
                )
    for node in graph.nodes:
        for item in node.inputs:
            label = edge_label(node, item, graph.nodes[item.source])
            options = [f"label={_quote(label)}"] if label else []
            options += [] if item.active else ["style=dashed"]
            tail = f" [{', '.join(options)}]" if options else ""
            lines.append(f"{pad}{prefix}n{item.source} -> {prefix}n{node.id}{tail};")
    for taker, giver in feedbacks(graph):
        lines.append(
            f"{pad}{prefix}n{taker} -> {prefix}n{giver} "
            '[style=dotted, constraint=false, label="next cycle"];'
        )
    if graph.output is not None:
        lines.append(f"{pad}{prefix}out [label={_quote(repr(graph.output_type))}, shape=oval];")
        lines.append(f"{pad}{prefix}n{graph.output} -> {prefix}out;")


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'

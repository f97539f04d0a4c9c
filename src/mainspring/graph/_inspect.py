"""Looking at any node of a running graph, by path.

A path is what `Inspector.paths()` lists and errors and traces show: `add[3]`, or
`map_(f)[2]{'key'}.double[1]` for a node of a nested graph. An index alone (`3`, `2.'key'.1`) does
as well, and so does a label that only one node has. What comes back is plain data, taken at that
moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mainspring.errors import nearest
from mainspring.graph._errors import GraphError
from mainspring.graph._watch import node_path

__all__ = ["InputInspection", "Inspector", "NodeInspection"]

_FOREVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class InputInspection:
    """One input of a node, at one moment."""

    name: str
    source: str
    valid: bool
    modified: bool
    value: Any
    delta_value: Any
    last_modified_time: Any


@dataclass(frozen=True, slots=True)
class NodeInspection:
    """One node of a running graph, at one moment."""

    path: str
    name: str
    label: str
    kind: str
    started: bool
    inputs: tuple[InputInspection, ...]
    has_output: bool
    valid: bool
    value: Any
    delta_value: Any
    last_modified_time: Any
    error: Any
    state: Any
    next_scheduled_ns: int | None
    nested: tuple[str, ...]
    site: str
    scalars: dict[str, Any]

    def __str__(self) -> str:
        lines = [f"{self.path}  ({self.kind}, wired at {self.site or 'unknown'})"]
        for item in self.inputs:
            mark = "*" if item.modified else " "
            shown = repr(item.value) if item.valid else "<not valid>"
            lines.append(f"  {mark}{item.name} = {shown}  from {item.source}")
        if self.has_output:
            shown = repr(self.value) if self.valid else "<not valid>"
            lines.append(f"   output = {shown}  last {self.last_modified_time}")
        if self.state is not None:
            lines.append(f"   state = {self.state!r}")
        if self.error is not None:
            lines.append(f"   error = {self.error!r}")
        if self.next_scheduled_ns is not None:
            lines.append(f"   next scheduled at {self.next_scheduled_ns} ns")
        return "\n".join(lines)


class Inspector:
    """Looks into a `RunningGraph` (or into the graph a node was given)."""

    def __init__(self, running: Any) -> None:
        kernel = getattr(running, "kernel", None)
        self._root = running if kernel is None else kernel.root

    def nodes(self) -> Iterator[Any]:
        """Every node, nested ones after the node they run in."""
        yield from _walk(self._root)

    def paths(self) -> list[str]:
        """The path of every node there is now."""
        return [node_path(node) for node in self.nodes()]

    def find(self, path: str) -> Any:
        """The node at a path."""
        by_label = []
        for node in self.nodes():
            full = node_path(node)
            if full == path or path == _numbers(node):
                return node
            if node.label == path or node.name == path:
                by_label.append(node)
        if len(by_label) == 1:
            return by_label[0]
        if by_label:
            raise GraphError(
                f"{len(by_label)} nodes are called {path!r}",
                hint="one of " + ", ".join(node_path(node) for node in by_label[:8]),
            )
        raise GraphError(f"there is no node {path!r} now", hint=nearest(path, self.paths()))

    def __getitem__(self, path: str) -> NodeInspection:
        return self.look(self.find(path))

    def look(self, node: Any) -> NodeInspection:
        """A node as plain data."""
        about = node.description
        siblings = node.graph.nodes
        inputs = []
        for item, view in zip(about.inputs, node.input_views, strict=True):
            inputs.append(
                InputInspection(
                    item.name,
                    node_path(siblings[item.source]),
                    view.valid,
                    view.valid and view.modified,
                    view.value if view.valid else None,
                    view.delta_value if view.valid and view.modified else None,
                    view.last_modified_time if view.valid else None,
                )
            )
        out, error, when = node.output, node.error_output, node.next_scheduled_ns
        valid = out is not None and out.valid
        return NodeInspection(
            path=node_path(node),
            name=node.name,
            label=node.label,
            kind=about.kind,
            started=node.started,
            inputs=tuple(inputs),
            has_output=out is not None,
            valid=valid,
            value=out.value if valid else None,
            delta_value=out.delta_value if valid and out.modified else None,
            last_modified_time=out.last_modified_time if valid else None,
            error=error.value if error is not None and error.valid else None,
            state=node.state,
            next_scheduled_ns=None if when == _FOREVER else when,
            nested=tuple(str(g.key) if g.key is not None else g.label for g in node.nested_graphs),
            site=about.site,
            scalars=dict(about.scalars),
        )


def _walk(graph: Any) -> Iterator[Any]:
    for node in graph.nodes:
        yield node
        for inner in node.nested_graphs:
            yield from _walk(inner)


def _numbers(node: Any) -> str:
    parent = node.graph.parent_node
    own = str(node.node_ndx)
    if parent is None:
        return own
    key = node.graph.key
    return f"{_numbers(parent)}{'' if key is None else f'.{key!r}'}.{own}"

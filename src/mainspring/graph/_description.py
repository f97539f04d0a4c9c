"""What wiring ends in: a plain, immutable description of a graph.

A description holds no running state and knows nothing of how it will be run; `instantiate`
turns it into the kernel's template, and other back ends read it as well. Nodes are listed in
rank order (rank, then id), so a node's place in `nodes` is its index in the running graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from mainspring._kernel import graph as _k
from mainspring.graph._errors import GraphError
from mainspring.graph._types import TsMeta

__all__ = ["GraphDescription", "InputDescription", "NodeDescription", "instantiate"]

NOTHING: Mapping[str, Any] = MappingProxyType({})


class InputDescription(msgspec.Struct, frozen=True):
    """One input of a node: where it comes from and what it takes to evaluate the node."""

    name: str
    source: int
    path: tuple[int, ...] = ()
    type: Any = None
    active: bool = True
    need: int = 1
    """0: may be invalid, 1: must be valid, 2: everything in it must be valid."""


class NodeDescription(msgspec.Struct, frozen=True):
    """One node. `code` is the kernel's name of its implementation."""

    id: int
    name: str
    code: str
    kind: str
    """source, compute, sink, nested or structure."""
    inputs: tuple[InputDescription, ...] = ()
    output: Any = None
    label: str = ""
    rank: int = 0
    scalars: Mapping[str, Any] = NOTHING
    params: tuple[Any, ...] = ()
    plan: Mapping[str, Any] | None = None
    payload: Any = None
    nested: tuple[GraphDescription, ...] = ()
    link: bool = False
    error: Any = None
    error_depth: int = 1
    error_values: bool = False
    path: tuple[str, ...] = ()
    """The graphs it was wired in, outermost first."""
    site: str = ""
    """The file and line that wired it."""
    function: Any = None
    """The Python function behind it, if there is one."""

    def __repr__(self) -> str:
        return f"<node {self.id} {self.name}>"


class GraphDescription(msgspec.Struct, frozen=True):
    """A graph: nodes in rank order, which of them are its inputs, and which is its output."""

    name: str
    nodes: tuple[NodeDescription, ...] = ()
    stubs: tuple[int, ...] = ()
    output: int | None = None
    output_path: tuple[int, ...] = ()
    output_type: Any = None
    missing: tuple[str, ...] = ()
    """What a loaded description could only name: with any of it, it does not run."""

    def to_json(self, indent: int | None = 1) -> str:
        """All of it as JSON."""
        from mainspring.graph._save import to_json

        return to_json(self, indent)

    @staticmethod
    def from_json(text: str | bytes) -> GraphDescription:
        """What `to_json` wrote."""
        from mainspring.graph._save import from_json

        return from_json(text)

    def to_mermaid(self) -> str:
        """A flowchart in Mermaid's language."""
        from mainspring.graph._draw import to_mermaid

        return to_mermaid(self)

    def to_dot(self) -> str:
        """A digraph in Graphviz's language."""
        from mainspring.graph._draw import to_dot

        return to_dot(self)

    def to_svg(self) -> str:
        """A picture, laid out by rank."""
        from mainspring.graph._picture import to_svg

        return to_svg(self)

    def __str__(self) -> str:
        lines = [f"graph {self.name}"]
        for node in self.nodes:
            inputs = ", ".join(
                f"{i.name}={i.source}" + "".join(f".{step}" for step in i.path) for i in node.inputs
            )
            out = "" if node.output is None else f" -> {node.output!r}"
            label = f" {node.label!r}" if node.label else ""
            lines.append(f"  {node.id:>4} {node.name}{label}({inputs}){out}")
            for inner in node.nested:
                lines += ["       " + line for line in str(inner).splitlines()]
        if self.output is not None:
            lines.append(f"  returns {self.output}")
        return "\n".join(lines)


def instantiate(description: GraphDescription) -> Any:
    """The kernel's template of a description."""
    if description.missing:
        raise GraphError(
            f"the loaded graph {description.name!r} cannot run, because this was not found: "
            + "; ".join(description.missing),
            hint="functions and classes are found again when they stand at the top of a module "
            "that can be imported",
        )
    template = _k.Template()
    add = template.add_node
    plans: dict[int, int] = {}
    for node in description.nodes:
        plan = None
        if node.plan is not None:  # nodes wired alike have one between them
            plan = plans.get(id(node.plan))
            if plan is None:
                plan = plans[id(node.plan)] = template.add_plan(node.code, _kernel_plan(node.plan))
        add(
            node.code,
            node,
            node.name,
            node.label,
            None if node.output is None else node.output.kernel(),
            node.link,
            [
                (i.source, i.path, i.active, i.need, None if i.type is None else i.type.kernel())
                for i in node.inputs
            ],
            list(node.params),
            plan,
            node.payload,
            [instantiate(inner) for inner in node.nested],
            None if node.error is None else node.error.kernel(),
            node.error_depth,
            node.error_values,
        )
    template.finish(
        description.name, list(description.stubs), description.output, list(description.output_path)
    )
    return template


def _kernel_plan(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v.kernel() if isinstance(v, TsMeta) else v for k, v in plan.items()}

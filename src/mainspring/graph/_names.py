"""Public names that stand on what the other modules made."""

from __future__ import annotations

import datetime as _dt
from typing import Any, cast

from mainspring._kernel import graph as _k
from mainspring.graph._graph_functions import GraphFunction
from mainspring.graph._injectables import EvaluationEngineApi, Node
from mainspring.graph._python_nodes import GeneratorNode, PythonNode
from mainspring.graph._run import EvaluationMode
from mainspring.graph._signature import ArgumentError, Signature, WiringNodeType, gather

__all__ = [
    "GraphWiringNodeClass",
    "PythonGeneratorWiringNodeClass",
    "PythonWiringNodeClass",
    "TimeSeriesReference",
    "WiringNodeType",
    "extract_kwargs",
    "utc_now",
]

# What decorated functions are.
PythonWiringNodeClass = PythonNode
PythonGeneratorWiringNodeClass = GeneratorNode
GraphWiringNodeClass = GraphFunction


def extract_kwargs(signature: Signature, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments of a call by name, defaults included; a call that cannot be is a SyntaxError."""
    try:
        return gather(signature, args, kwargs)
    except ArgumentError as problem:
        raise SyntaxError(str(problem)) from None


class TimeSeriesReference:
    """Values of `REF` inputs and outputs: to be kept, compared and given on."""

    def __new__(cls, *args: Any) -> Any:
        raise TypeError("use TimeSeriesReference.make()")

    @staticmethod
    def make(ts: Any = None) -> Any:
        """A reference to a time series, or the empty one."""
        return _k.make_reference(ts)

    @staticmethod
    def is_instance(value: Any) -> bool:
        """Is this a reference?"""
        return isinstance(value, _k.Reference)


def utc_now() -> _dt.datetime:
    """The wall clock, in UTC and without a time zone, as graphs keep times."""
    return cast(_dt.datetime, _k.to_datetime(_k.wall_clock_ns()))


_TYPES = {"sink": WiringNodeType.SINK_NODE, "source": WiringNodeType.PULL_SOURCE_NODE}


def _node_type(node: Any) -> WiringNodeType:
    if node.description.code == "push":
        return WiringNodeType.PUSH_SOURCE_NODE
    return _TYPES.get(node.description.kind, WiringNodeType.COMPUTE_NODE)


def _inputs(node: Any) -> dict[str, Any]:
    names = [item.name for item in node.description.inputs]
    return dict(zip(names, node.input_views, strict=True))


def _scalars(node: Any) -> dict[str, Any]:
    return dict(node.description.scalars)


def _evaluation_mode(api: Any) -> EvaluationMode:
    return EvaluationMode.REAL_TIME if api.is_realtime else EvaluationMode.SIMULATION


# What the kernel's classes have beside what the kernel knows.
for _owner, _name, _read, _doc in (
    (Node, "node_type", _node_type, "What the node is to its graph."),
    (Node, "inputs", _inputs, "The node's inputs by name."),
    (Node, "input", _inputs, "The node's inputs by name."),
    (Node, "scalars", _scalars, "What the node was wired with besides inputs."),
    (EvaluationEngineApi, "evaluation_mode", _evaluation_mode, "How time goes in this run."),
):
    setattr(_owner, _name, property(_read, doc=_doc))

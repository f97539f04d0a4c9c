"""The nodes of a scene's graphs, as steps of a traced instant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mainspring.graph import EvaluationLifeCycleObserver, GraphSubsystem
from mainspring.graph._watch import node_path

__all__ = ["watch_graphs"]


def watch_graphs(scene: Any, tell: Callable[[str, str, Any], object]) -> Callable[[], None]:
    """Call `tell(part, path, output)` for every node that is evaluated, until the returned
    function is called. `output` is what the node put out in this cycle, None when it did not tick."""
    graphs = [
        (name, part.running)
        for name, part in scene.parts.items()
        if isinstance(part, GraphSubsystem)
    ]
    for name, running in graphs:
        running.observe([_NodeWatch(tell, name)])

    def stop() -> None:
        for _, running in graphs:
            running.observe([])

    return stop


class _NodeWatch(EvaluationLifeCycleObserver):
    def __init__(self, tell: Callable[[str, str, Any], object], part: str) -> None:
        self._tell = tell
        self._part = part

    def on_after_node_evaluation(self, node: Any) -> None:
        output = node.output if node.has_output else None
        value = None
        if output is not None and output.valid and output.modified:
            value = output.delta_value
        self._tell(self._part, node_path(node), value)

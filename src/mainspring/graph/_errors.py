"""What can go wrong with a graph, while it is wired and while it runs.

    GraphError
    ├── WiringError                      found before anything runs
    │   ├── ParseError                   a declaration cannot be understood
    │   ├── IncorrectTypeBinding         a port does not fit the input it is given to
    │   ├── RequirementsNotMetWiringError  an overload's `requires` said no
    │   └── NoOverloadError, AmbiguousOverloadError
    ├── ScheduleError                    a time that cannot be scheduled
    └── NodeException                    a node failed and nobody caught it

`WiringError` and `NodeException` are `RuntimeError`s as well, as they are in hgraph.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from mainspring.errors import MainspringError

__all__ = [
    "AmbiguousOverloadError",
    "GraphError",
    "IncorrectTypeBinding",
    "NoOverloadError",
    "NodeException",
    "ParseError",
    "RequirementsNotMetWiringError",
    "ScheduleError",
    "WiringError",
    "call_site",
]


class GraphError(MainspringError, RuntimeError):
    """The root of what graphs raise."""


class WiringError(GraphError):
    """The graph cannot be built; nothing has run."""


class ParseError(WiringError, TypeError):
    """A node, graph or operator is declared in a way that cannot be understood."""


class IncorrectTypeBinding(WiringError, TypeError):
    """A port or value does not fit the input it is given to."""


class RequirementsNotMetWiringError(WiringError):
    """The `requires` of a node refused the call."""


class NoOverloadError(WiringError, TypeError):
    """No overload of an operator takes these arguments."""


class AmbiguousOverloadError(WiringError):
    """Two overloads of an operator fit equally well."""


class ScheduleError(GraphError):
    """A time lies outside what can be scheduled."""


class NodeException(GraphError):
    """A node failed while the graph ran. `error` is the `NodeError` that tells about it."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.error = error

    def __getattr__(self, name: str) -> Any:
        if name == "error":
            raise AttributeError(name)
        return getattr(self.error, name)


_OWN = __name__.rpartition(".")[0]


def call_site() -> str:
    """The file and line outside this package from which wiring was entered."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not (module == _OWN or module.startswith(_OWN + ".")):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return "<unknown>"

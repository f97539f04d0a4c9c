"""What can go wrong with a graph, while it is wired and while it runs.

    GraphError
    ├── WiringError                      found before anything runs
    │   ├── ParseError                   a declaration cannot be understood
    │   ├── IncorrectTypeBinding         a port does not fit the input it is given to
    │   │   └── StructureError           a part does not fit what it is to be a part of
    │   ├── RequirementsNotMetWiringError  an overload's `requires` said no
    │   └── NoOverloadError, AmbiguousOverloadError
    ├── ScheduleError                    a time that cannot be scheduled
    └── NodeException                    a node failed and nobody caught it

`WiringError` and `NodeException` are `RuntimeError`s as well, as they are in hgraph.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType
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
    "StructureError",
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


class StructureError(IncorrectTypeBinding, ValueError):
    """A part does not fit the bundle or list it is put into."""


class RequirementsNotMetWiringError(WiringError):
    """The `requires` of a node refused the call."""


class NoOverloadError(WiringError, TypeError, ValueError):
    """No overload of an operator takes these arguments: too many, of the wrong type, or not alike."""


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
_own_files: dict[str, bool] = {}  # by the name of a source file: is it this package's?


def call_site(known: dict[tuple[int, int], tuple[CodeType, str]]) -> str:
    """The file and line outside this package from which wiring was entered.

    `known` keeps what was found by the place in the code, so that a loop that wires a thousand nodes
    asks once: telling the line of a place takes longer than making the node.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        own = _own_files.get(code.co_filename)
        if own is None:
            module = frame.f_globals.get("__name__", "")
            own = module == _OWN or module.startswith(_OWN + ".")
            _own_files[code.co_filename] = own
        if not own:
            place = (id(code), frame.f_lasti)
            found = known.get(place)
            if found is None:  # the code is kept with it: an id is good as long as its object lives
                found = known[place] = (code, f"{code.co_filename}:{frame.f_lineno}")
            return found[1]
        frame = frame.f_back
    return "<unknown>"

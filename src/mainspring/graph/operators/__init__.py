"""The operators: what can be wired between time series without writing a node.

    >>> from mainspring.graph import TS, graph, mean, run_graph, const
    >>> @graph
    ... def main() -> TS[float]:
    ...     return mean(const(1.0), const(4.0))
    >>> [value for _, value in run_graph(main)]
    [2.5]

An operator is a name (``_names.py``); modules by subject overload it for the types it makes sense for. What
works on unboxed numbers is the kernel's (``_native.py``, ``_running.py``); where the choice is between whole
time series, the kernel binds links (``_choice.py``); the rest are Python nodes. ``docs/reference/operators.md``
lists all of them.
"""

from mainspring.graph.operators import (
    _access,
    _arrays,
    _bundles,
    _choice,
    _dates,
    _dicts,
    _lists,
    _mappings,
    _names,
    _native,
    _ports,
    _running,
    _scalars,
    _sets,
    _sinks,
    _statistics,
    _stream,
    _text,
    _window,
)
from mainspring.graph.operators._aliases import accumulate, average, drop_dups
from mainspring.graph.operators._calls import (
    cast_,
    collect,
    combine,
    convert,
    downcast_,
    downcast_ref,
    emit,
)
from mainspring.graph.operators._dicts import filter_by
from mainspring.graph.operators._enums import CmpResult, DivideByZero
from mainspring.graph.operators._names import *  # noqa: F403
from mainspring.graph.operators._names import __all__ as _operator_names
from mainspring.graph.operators._schemas import BoolResult, KeyValue, WindowResult
from mainspring.graph.operators._sinks import DebugContext
from mainspring.graph.operators._sources import zero
from mainspring.graph.operators._statistics import center_of_mass_to_alpha, span_to_alpha

# Importing a module is what adds its overloads.
_MODULES = (
    _names, _native, _running, _scalars, _text, _dates, _access, _lists, _sets, _dicts, _mappings, _ports, _choice, _stream,
    _statistics, _bundles, _window, _arrays, _sinks,
)  # fmt: skip

__all__ = [
    *_operator_names,
    "BoolResult",
    "CmpResult",
    "DebugContext",
    "DivideByZero",
    "KeyValue",
    "WindowResult",
    "accumulate",
    "average",
    "cast_",
    "center_of_mass_to_alpha",
    "collect",
    "combine",
    "convert",
    "downcast_",
    "downcast_ref",
    "drop_dups",
    "emit",
    "filter_by",
    "span_to_alpha",
    "zero",
]

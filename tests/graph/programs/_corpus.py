"""The corpus of shared programs: load one for a library, run its cases, and write down what came out.

A program is a module under ``programs/`` that imports its names ``from lib import ...``. Loading it for a
library replaces that one import, which is all that moving a program from hgraph to mainspring may take. The
module holds functions named ``case_*`` (no arguments; what they return is compared) and ``table_*``, which
yield ``(name, thunk)`` pairs.

Outcomes are text: ``canonical`` writes a value so that two libraries with different classes for the same
thing (a set delta, a frozen dictionary) agree, and an error is the name of its kind. Nothing here imports
pytest, mainspring or hgraph, so ``tools/record_programs.py`` runs it in an environment that has the oracle
alone.
"""

from __future__ import annotations

import datetime
import enum
import importlib
import inspect
import linecache
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

# The kinds of error both libraries promise, the most telling first. A failing node is a RuntimeError in both.
ERROR_KINDS = (
    "WiringError",
    "TypeError",
    "ValueError",
    "KeyError",
    "AttributeError",
    "RuntimeError",
)


def program_names() -> list[str]:
    """Return the names of all programs, sorted."""
    return sorted(path.stem for path in HERE.glob("p_*.py"))


def load(name: str, library: str) -> types.ModuleType:
    """Return program ``name`` as a module whose ``lib`` is ``library``."""
    path = HERE / f"{name}.py"
    source = path.read_text()
    shim = _Shim.of(library)
    text = re.sub(r"\bfrom lib import\b", f"from {shim.__name__} import", source)
    module = types.ModuleType(f"{name}__{library.replace('.', '_')}")
    module.__file__ = str(path)
    # A file name of its own for each library: the two texts differ in a line, and node sources are shown.
    filename = f"<{name} for {library}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    sys.modules[module.__name__] = module  # where annotations in quotes are looked up
    module.__dict__["ticks"] = _ticks_for(shim)
    exec(compile(text, filename, "exec", dont_inherit=True), module.__dict__)
    return module


class _Shim(types.ModuleType):
    """A library seen through its public names; one it lacks fails the cases that use it, not the program."""

    @classmethod
    def of(cls, library: str) -> _Shim:
        name = f"_lib_{library.replace('.', '_')}"
        if name not in sys.modules:
            shim = cls(name)
            shim.__dict__["_library"] = importlib.import_module(library)
            sys.modules[name] = shim
        return sys.modules[name]  # type: ignore[return-value]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._library, name, None) or _Missing(name)


class _Missing:
    def __init__(self, name: str) -> None:
        self.__name__ = self.name = name

    def __getitem__(self, item: object) -> _Missing:
        return self

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise NotImplementedError(f"the library has no {self.name}")

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return ()

    def __getattr__(self, name: str) -> _Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def _ticks_for(lib: Any) -> Callable[..., Any]:
    def ticks(function: Callable[..., Any], inputs: Any, *vectors: Any, **options: Any) -> Any:
        """Wire ``function`` in a graph with inputs of the given types and return its ticks."""
        names = [f"in_{index}" for index in range(len(inputs))]
        namespace: dict[str, Any] = {
            f"t_{name}": tp for name, tp in zip(names, inputs, strict=True)
        }
        namespace["function"] = function
        arguments = ", ".join(f"{name}: t_{name}" for name in names)
        exec(
            compile(
                f"def program({arguments}):\n    return function({', '.join(names)})\n",
                "<ticks>",
                "exec",
            ),
            namespace,
        )
        return lib.eval_node(lib.graph(namespace["program"]), *vectors, **options)

    return ticks


def cases(module: types.ModuleType) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield every case of a loaded program as ``(name, thunk)``, in the order they are written."""
    for key, value in list(vars(module).items()):
        if not inspect.isfunction(value):
            continue
        if key.startswith("case_"):
            yield key.removeprefix("case_"), value
        elif key.startswith("table_"):
            for name, thunk in value():
                yield f"{key.removeprefix('table_')}[{name}]", thunk


def canonical(value: Any) -> str:
    """Write ``value`` as text that does not depend on which library made it, nor on any hash order."""
    kind = type(value).__name__
    if value is None or (
        isinstance(value, bool | int | float | str | bytes) and not isinstance(value, enum.Enum)
    ):
        return repr(value)
    if isinstance(value, enum.Enum):
        return f"{kind.lstrip('_')}.{value.name}"
    if kind in {"_Removed", "_RemovedIfExists", "Sentinel"} or repr(value) in {
        "REMOVE",
        "REMOVE_IF_EXISTS",
    }:
        inner = getattr(value, "item", None)
        return f"Removed({canonical(inner)})" if inner is not None else repr(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time | datetime.timedelta):
        return repr(value).replace("datetime.", "")
    if _is_set_delta(value):
        added = sorted(canonical(item) for item in _field(value, "added"))
        removed = sorted(canonical(item) for item in _field(value, "removed"))
        return f"SetDelta(+[{', '.join(added)}], -[{', '.join(removed)}])"
    if isinstance(value, Mapping):
        pairs = sorted((canonical(key), canonical(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if isinstance(value, Set):
        return (
            "{" + ", ".join(sorted(canonical(item) for item in value)) + "}" if value else "set()"
        )
    if isinstance(value, tuple):
        inner_text = ", ".join(canonical(item) for item in value)
        return f"({inner_text},)" if len(value) == 1 else f"({inner_text})"
    if isinstance(value, list):
        return "[" + ", ".join(canonical(item) for item in value) + "]"
    if kind == "ndarray":
        return f"array({canonical(value.tolist())})"
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return canonical(value.item())
    if isinstance(value, type):
        return f"<type {value.__name__}>"
    fields = getattr(type(value), "__dataclass_fields__", None) or getattr(
        value, "__meta_data_schema__", None
    )
    if fields:
        text = ", ".join(f"{name}={canonical(getattr(value, name, None))}" for name in fields)
        return f"{kind}({text})"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _is_set_delta(value: Any) -> bool:
    return hasattr(value, "added") and hasattr(value, "removed") and not hasattr(value, "modified")


def _field(value: Any, name: str) -> Any:
    field = getattr(value, name)
    return field() if callable(field) else field


def outcome(thunk: Callable[[], Any]) -> str:
    """Run a case and return what came of it: its value, or ``error: `` and the kinds the error is."""
    try:
        return canonical(thunk())
    except Exception as error:
        return f"error: {kind_of(error)}"


def agrees(thunk: Callable[[], Any], expected: str) -> str | None:
    """Run a case and return None when it comes out as expected, else what came out.

    An error agrees with a kind when it is of it: a refused call may be a ``WiringError`` and a
    ``TypeError`` at once.
    """
    try:
        found = canonical(thunk())
    except Exception as error:
        kinds = {cls.__name__ for cls in type(error).__mro__}
        if expected.startswith("error: ") and expected.removeprefix("error: ") in kinds:
            return None
        return f"error: {kind_of(error)} ({error})"
    return None if found == expected else found


def kind_of(error: BaseException) -> str:
    """Name the most telling of the kinds both libraries promise that ``error`` is."""
    names = [cls.__name__ for cls in type(error).__mro__]
    if "NodeException" in names:
        return "RuntimeError"
    for kind in ERROR_KINDS:
        if kind in names:
            return kind
    return names[0]

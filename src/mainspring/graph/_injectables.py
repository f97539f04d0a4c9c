"""What a node's function may ask for besides its inputs, by annotating a parameter.

`STATE` and `RECORDABLE_STATE` keep things between evaluations; `SCHEDULER`, `CLOCK`, `LOGGER`,
`EvaluationEngineApi`, `NODE`, `Traits` and `GlobalState` look at the running engine; a parameter
named `_output` (or annotated `TS_OUT[...]`) is the node's own output.
"""

from __future__ import annotations

import copy
import functools
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mainspring._kernel import graph as _k
from mainspring.graph._errors import GraphError
from mainspring.graph._types import DefaultMark, TSBm, TsMeta, schema_fields

EvaluationClock = _k.Clock
CLOCK = EvaluationClock
SCHEDULER = _k.Scheduler
EvaluationEngineApi = _k.EngineApi
NODE = _k.Node
Node = _k.Node
Graph = _k.Graph
LOGGER = logging.Logger

_PLAIN = (bool, int, float, str, bytes, tuple, list, dict, set, frozenset)


class STATE:
    """What a node keeps between evaluations: attributes, readable as items too.

    `STATE[T]` wraps one instance of `T`: its attributes are the state's, `value` is the instance
    (where it has no attribute of that name).
    """

    __slots__ = ("__dict__", "__weakref__", "_seen")

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __class_getitem__(cls, item: Any) -> Any:
        return StateMark(item)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def __delitem__(self, name: str) -> None:
        del self.__dict__[name]

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __len__(self) -> int:
        return len(self.__dict__)

    def keys(self) -> Any:
        return self.__dict__.keys()

    def values(self) -> Any:
        return self.__dict__.values()

    def items(self) -> Any:
        return self.__dict__.items()

    def get(self, name: str, default: Any = None) -> Any:
        return self.__dict__.get(name, default)

    @property
    def as_schema(self) -> Any:
        return self

    def is_updated(self) -> bool:
        """Has an attribute changed since the start, or since `reset_updated`?"""
        seen = getattr(self, "_seen", {})
        now = self.__dict__
        return seen.keys() != now.keys() or any(seen[name] is not now[name] for name in now)

    def reset_updated(self) -> None:
        """Take the attributes as they are for what has been seen."""
        object.__setattr__(self, "_seen", dict(self.__dict__))

    def __repr__(self) -> str:
        return f"STATE({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, STATE) and self.__dict__ == other.__dict__

    __hash__ = object.__hash__


class TypedState(STATE):
    """The state made by `STATE[T]`."""

    def __init__(self, value: Any) -> None:
        self.__dict__["value"] = value

    def __getattr__(self, name: str) -> Any:
        if name == "value" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__dict__["value"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        held = self.__dict__.get("value")
        if isinstance(held, _PLAIN) or held is None:
            object.__setattr__(self, name, value)
        elif name == "value" and not hasattr(held, "value"):
            self.__dict__["value"] = value
        else:
            setattr(held, name, value)

    def __getitem__(self, name: Any) -> Any:
        held = self.__dict__["value"]
        return held[name] if isinstance(held, (tuple, list, dict)) else getattr(self, name)

    def __repr__(self) -> str:
        return f"STATE({self.__dict__['value']!r})"


def typed_state(value: Any) -> TypedState:
    """The state that wraps `value`, whose own attributes come before those of a state."""
    own: tuple[str, ...] = ()
    if not isinstance(value, _PLAIN):
        own = tuple(n for n in _STATE_NAMES if hasattr(value, n))
    return _typed_class(own)(value)


_STATE_NAMES = ("value", "keys", "values", "items", "get", "as_schema")


@functools.cache
def _typed_class(own: tuple[str, ...]) -> type[TypedState]:
    """A typed state that hands these names on to what it holds."""
    if not own:
        return TypedState
    return type("TypedState", (TypedState,), {name: _handed_on(name) for name in own})


def _handed_on(name: str) -> property:
    def get(state: TypedState) -> Any:
        return getattr(state.__dict__["value"], name)

    def put(state: TypedState, value: Any) -> None:
        setattr(state.__dict__["value"], name, value)

    return property(get, put)


class StateParts(tuple[Any, ...]):
    """The states of a node that has several."""

    __slots__ = ()

    @classmethod
    def of(cls, *makers: Callable[[], Any]) -> StateParts:
        """What each maker makes."""
        return cls(maker() for maker in makers)


@dataclass(frozen=True)
class StateMark:
    """The annotation `STATE[T]`."""

    type: Any


class RECORDABLE_STATE:
    """State that is saved and recorded: `RECORDABLE_STATE[Schema]` with a bundle schema."""

    def __class_getitem__(cls, item: Any) -> Any:
        return RecordableMark(item)


@dataclass(frozen=True)
class RecordableMark:
    """The annotation `RECORDABLE_STATE[Schema]`."""

    type: Any


class _Yielding:
    """A property that gives way to a field of its name."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self.read = read

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else self.read(owner)


def recorded(state: RecordableState) -> dict[str, Any]:
    """The values that the fields of a recordable state have."""
    return {name: field.value for name, field in vars(state).items() if field.valid}


class RecordableState:
    """The fields of a recordable state; each is written and read through `value`."""

    def __init__(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.__dict__[name] = RecordableField()

    value = _Yielding(recorded)

    as_schema = _Yielding(lambda state: state)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name].value = value

    def keys(self) -> Any:
        return self.__dict__.keys()

    def items(self) -> Any:
        return self.__dict__.items()

    def values(self) -> Any:
        return self.__dict__.values()

    def __repr__(self) -> str:
        return f"RECORDABLE_STATE({recorded(self)!r})"


class RecordableField:
    """One field of a recordable state."""

    def __init__(self) -> None:
        self._value: Any = None
        self.valid = False

    @property
    def value(self) -> Any:
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._value = value
        self.valid = value is not None

    def apply_result(self, value: Any) -> None:
        self.value = value

    @property
    def delta_value(self) -> Any:
        return self._value

    def __repr__(self) -> str:
        return f"{self._value!r}"


class Traits:
    """Values attached to a graph, looked up from the inside out."""

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        self._values = dict(values or {})

    def get_trait(self, name: str) -> Any:
        """The trait, or an error."""
        return self._values[name]

    def get_trait_or(self, name: str, default: Any = None) -> Any:
        """The trait, or the default."""
        return self._values.get(name, default)

    def set_traits(self, **values: Any) -> None:
        """Set traits."""
        self._values.update(values)


@dataclass(frozen=True)
class OutMark:
    """An annotation `TS_OUT[...]`."""

    type: Any


class _OutAnnotation:
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __getitem__(self, item: Any) -> Any:
        return OutMark(item)

    def __repr__(self) -> str:
        return self.kind


TS_OUT = _OutAnnotation("TS_OUT")
TSB_OUT = _OutAnnotation("TSB_OUT")
TSD_OUT = _OutAnnotation("TSD_OUT")
TSL_OUT = _OutAnnotation("TSL_OUT")
TSS_OUT = _OutAnnotation("TSS_OUT")
TSW_OUT = _OutAnnotation("TSW_OUT")
REF_OUT = _OutAnnotation("REF_OUT")


class GlobalState:
    """Values shared by everything in one run: `with GlobalState(a=1): run_graph(...)`.

    Inside the graph it is injected, or found with `GlobalState.instance()`. One is in force at a
    time in a thread: what is shared is said where the run is started, and not in layers.
    """

    def __init__(self, **values: Any) -> None:
        self.__dict__["_values"] = dict(values)

    def __enter__(self) -> GlobalState:
        if _in_force.state is not None:
            raise GraphError(
                "a GlobalState is in force already, and they are not nested",
                hint="set values on the one in force: GlobalState.instance()[...] = ...",
            )
        _in_force.state = self
        return self

    def __exit__(self, *exc: object) -> None:
        _in_force.state = None

    @classmethod
    def instance(cls) -> GlobalState:
        """The state in force."""
        if _in_force.state is None:
            raise GraphError(
                "no GlobalState is in force",
                hint="in a node or graph ask for it, `state: GlobalState = None`; "
                "outside put one in force, `with GlobalState():`",
            )
        return _in_force.state

    @classmethod
    def has_instance(cls) -> bool:
        """Is one in force?"""
        return _in_force.state is not None

    @classmethod
    def reset(cls) -> None:
        """Forget the one in force."""
        _in_force.state = None

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def get(self, name: str, default: Any = None) -> Any:
        return self._values.get(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        return self._values.pop(name, *default)

    def setdefault(self, name: str, default: Any = None) -> Any:
        return self._values.setdefault(name, default)

    def keys(self) -> Any:
        return self._values.keys()

    def values(self) -> Any:
        return self._values.values()

    def items(self) -> Any:
        return self._values.items()

    def __repr__(self) -> str:
        return f"GlobalState({self._values!r})"


class _InForce(threading.local):
    """The state in force in this thread."""

    state: GlobalState | None = None


_in_force = _InForce()


@contextmanager
def in_force(state: GlobalState) -> Iterator[GlobalState]:
    """Put a run's own state in force, in the place of any other."""
    before = _in_force.state
    _in_force.state = state
    try:
        yield state
    finally:
        _in_force.state = before


@contextmanager
def state_of_run() -> Iterator[GlobalState]:
    """The state in force, or one for this run alone."""
    with in_force(_in_force.state or GlobalState()) as state:
        yield state


class GlobalContext:
    """`with GlobalContext(state):` puts a `GlobalState` in force."""

    def __init__(self, state: GlobalState | None = None, **values: Any) -> None:
        self._state = state if state is not None else GlobalState(**values)

    def __enter__(self) -> GlobalState:
        return self._state.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._state.__exit__(*exc)


def injected(annotation: Any, name: str) -> str | None:
    """What kind of injectable a parameter is, or None."""
    if isinstance(annotation, DefaultMark):
        annotation = annotation.type
    if annotation is STATE or isinstance(annotation, StateMark):
        return "state"
    if annotation is RECORDABLE_STATE or isinstance(annotation, RecordableMark):
        return "recordable_state"
    if isinstance(annotation, (OutMark, _OutAnnotation)) or (
        name == "_output" and not isinstance(annotation, TsMeta)
    ):
        return "output"
    if name == "_output":
        return "output"
    for kind, found in (
        ("scheduler", SCHEDULER),
        ("clock", EvaluationClock),
        ("engine_api", EvaluationEngineApi),
        ("node", NODE),
        ("logger", LOGGER),
        ("global_state", GlobalState),
        ("traits", Traits),
    ):
        if annotation is found:
            return kind
    return None


class RunLogging:
    """What the nodes of a run log to: a logger, and a formatter told each node's path."""

    def __init__(self, logger: Any = None, level: Any = None, formatter: Any = None) -> None:
        self._logger = logging.getLogger("mainspring.graph") if logger is None else logger
        self._formatter = formatter
        if level is not None:
            self._logger.setLevel(level)

    def of(self, path: tuple[str, ...]) -> Any:
        """The logger of the node at a path."""
        if self._formatter is None:
            return self._logger
        return _NodeLogger(self._logger, self._formatter, ".".join(path))


class _NodeLogger(logging.Logger):
    """A run's logger as one node has it: the formatter writes the lines, and is told the path."""

    def __init__(self, run: logging.Logger, formatter: Callable[..., Any], path: str) -> None:
        super().__init__(run.name)
        self.parent, self.manager = run, run.manager
        self._run, self._formatter, self._path = run, formatter, path

    def _log(
        self,
        level: int,
        msg: object,
        args: Any,
        exc_info: Any = None,
        extra: Any = None,
        stack_info: bool = False,
        stacklevel: int = 1,
    ) -> None:
        self._formatter(
            level, msg, args, exc_info, extra, stack_info, stacklevel,
            node_path=self._path, __orig_log__=self._run._log,
        )  # fmt: skip


@dataclass(frozen=True)
class StateMaker:
    """Makes the state of a new instance of a node. Unlike a closure it can be saved and compared."""

    make: Callable[..., Any]
    args: tuple[Any, ...]

    def __call__(self) -> Any:
        return self.make(*self.args)


def state_factory(annotation: Any, default: Any) -> Callable[[], Any]:
    """What makes the state of a new instance of a node."""
    if isinstance(annotation, RecordableMark):
        schema = annotation.type.schema if isinstance(annotation.type, TSBm) else annotation.type
        return StateMaker(RecordableState, (tuple(schema_fields(schema)),))
    if isinstance(annotation, StateMark):
        if default is not None:
            return StateMaker(_typed_copy, (default,))
        return StateMaker(_typed_new, (annotation.type,))
    if isinstance(default, STATE):
        return StateMaker(copy.deepcopy, (default,))
    return STATE


def _typed_copy(default: Any) -> TypedState:
    return typed_state(copy.deepcopy(default))


def _typed_new(kind: Any) -> TypedState:
    try:
        return typed_state(kind())
    except TypeError:
        return typed_state(kind.__new__(kind))

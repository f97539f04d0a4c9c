"""Recording time series in memory, replaying them, comparing them.

    >>> from mainspring.graph import TS, GlobalState, graph
    >>> from mainspring.graph.test import eval_node
    >>> @graph
    ... def first(ts: TS[int]):
    ...     record(ts, "prices")
    >>> @graph
    ... def second() -> TS[int]:
    ...     return replay("prices", TS[int])
    >>> with GlobalState():
    ...     eval_node(first, [1, None, 3])
    ...     eval_node(second)
    [1, None, 3]

Recordings live in the `GlobalState` in force, as lists of `(time, change)`, under an id and a key.
The id is what is given, that of the `RecordReplayContext` wired in, or a common one.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any

from mainspring.graph._annotations import EvaluationClock, EvaluationEngineApi
from mainspring.graph._decorators import generator, graph, operator, sink_node
from mainspring.graph._errors import GraphError
from mainspring.graph._injectables import GlobalState
from mainspring.graph._run import MIN_TD
from mainspring.graph._types import OUT, TIME_SERIES_TYPE

__all__ = [
    "RecordReplayContext",
    "RecordReplayEnum",
    "compare",
    "get_recorded_value",
    "record",
    "replay",
    "replay_const",
    "set_replay_values",
]

_DEFAULT_ID = "nodes.record"
_COMPARISON = "__COMPARE__"


class RecordReplayEnum(enum.IntFlag):
    """What a graph that can be recorded does."""

    RECORD = 1
    REPLAY = 2
    COMPARE = 4
    REPLAY_OUTPUT = 8
    RESET = 16
    RECOVER = 32


class RecordReplayContext:
    """`with RecordReplayContext(recordable_id="run"):` gives what is wired inside its id."""

    _stack: list[RecordReplayContext] = []

    def __init__(
        self,
        mode: RecordReplayEnum = RecordReplayEnum.RECORD,
        recordable_id: str | None = None,
    ) -> None:
        self.mode = mode
        self.recordable_id = recordable_id

    def __enter__(self) -> RecordReplayContext:
        RecordReplayContext._stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        RecordReplayContext._stack.remove(self)

    @classmethod
    def instance(cls) -> RecordReplayContext | None:
        """The one in force, or None."""
        return cls._stack[-1] if cls._stack else None


def _place(key: str, recordable_id: str | None) -> str:
    if not recordable_id:
        context = RecordReplayContext.instance()
        recordable_id = (context and context.recordable_id) or _DEFAULT_ID
    return f":memory:{recordable_id}.{key}"


@operator
def record(ts: TIME_SERIES_TYPE, key: str = "out", recordable_id: str | None = None) -> None:
    """Record every change of a time series."""


@graph(overloads=record)
def _record_in_memory(
    ts: TIME_SERIES_TYPE, key: str = "out", recordable_id: str | None = None, **_: object
) -> None:
    _recorded(ts, place=_place(key, recordable_id))


@operator
def compare(lhs: TIME_SERIES_TYPE, rhs: TIME_SERIES_TYPE, recordable_id: str | None = None) -> None:
    """Record, whenever either ticks, whether the two have the same value."""


@graph(overloads=compare)
def _compare_in_memory(
    lhs: TIME_SERIES_TYPE, rhs: TIME_SERIES_TYPE, recordable_id: str | None = None, **_: object
) -> None:
    _compared(lhs, rhs, place=_place(_COMPARISON, recordable_id))


class _Replay:
    """`replay(key, tp)` or `replay[tp](key)`: a source that ticks what was recorded."""

    def __init__(self, name: str, tp: Any = None) -> None:
        self.__name__ = name
        self.__doc__ = _REPLAYS[name]
        self._tp = tp

    def __getitem__(self, tp: Any) -> _Replay:
        return _Replay(self.__name__, tp.stop if isinstance(tp, slice) else tp)

    def __call__(
        self, key: str = "out", tp: Any = None, recordable_id: str | None = None, **_: Any
    ) -> Any:
        tp = tp or self._tp
        if tp is None:
            raise GraphError(
                f"{self.__name__}({key!r}) needs the type of what it gives",
                hint=f"{self.__name__}({key!r}, TS[int])",
            )
        made = _replayed if self.__name__ == "replay" else _replayed_const
        return made[OUT:tp](place=_place(key, recordable_id))

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


_REPLAYS = {
    "replay": "Tick what was recorded under a key, at the times it was recorded at.",
    "replay_const": "Tick once, at the start, what the recording had come to by then.",
}
replay = _Replay("replay")
replay_const = _Replay("replay_const")


def get_recorded_value(key: str = "out", recordable_id: str | None = None) -> list[Any]:
    """What was recorded: `[(time, change), ...]`."""
    return list(_found(GlobalState.instance(), _place(key, recordable_id)))


def set_replay_values(key: str, values: Iterable[Any], recordable_id: str | None = None) -> None:
    """Give `replay` what to tick: pairs of time and change, or one change for each cycle."""
    GlobalState.instance()[_place(key, recordable_id)] = list(values)


def _found(state: GlobalState, place: str) -> Sequence[Any]:
    if place not in state:
        known = [p.removeprefix(":memory:") for p in state if str(p).startswith(":memory:")]
        raise GraphError(
            f"nothing was recorded as {place.removeprefix(':memory:')!r}",
            hint="there is " + (", ".join(known) or "no recording at all"),
        )
    found: Sequence[Any] = state[place]
    return found


@sink_node
def _recorded(
    ts: TIME_SERIES_TYPE, place: str, clock: EvaluationClock = None, shared: GlobalState = None
) -> None:
    shared[place].append((clock.evaluation_time, ts.delta_value))


@_recorded.start
def _recorded_start(place: str, shared: GlobalState) -> None:
    shared[place] = []


@sink_node(valid=())
def _compared(
    lhs: TIME_SERIES_TYPE,
    rhs: TIME_SERIES_TYPE,
    place: str,
    clock: EvaluationClock = None,
    shared: GlobalState = None,
) -> None:
    same = lhs.valid == rhs.valid and (not lhs.valid or bool(lhs.value == rhs.value))
    shared[place].append((clock.evaluation_time, same))


@_compared.start
def _compared_start(place: str, shared: GlobalState) -> None:
    shared[place] = []


def _ticks(state: GlobalState, place: str, start: Any) -> Iterable[tuple[Any, Any]]:
    for i, item in enumerate(_found(state, place)):
        if isinstance(item, tuple) and len(item) == 2 and hasattr(item[0], "microsecond"):
            yield item
        elif item is not None:
            yield start + i * MIN_TD, item


@generator
def _replayed(place: str, api: EvaluationEngineApi = None, shared: GlobalState = None) -> OUT:
    for time, change in _ticks(shared, place, api.start_time):
        if time >= api.start_time:
            yield time, change


@generator
def _replayed_const(place: str, api: EvaluationEngineApi = None, shared: GlobalState = None) -> OUT:
    found = None
    for time, change in _ticks(shared, place, api.start_time):
        if time > api.start_time:
            break
        found = _merged(found, change)
    if found is not None:
        yield api.start_time, found


def _merged(before: Any, change: Any) -> Any:
    """A value after a change: what came under other keys stays."""
    if not (isinstance(before, dict) and isinstance(change, dict)):
        return change
    from mainspring.graph._sentinels import REMOVE, REMOVE_IF_EXISTS

    merged = {k: v for k, v in before.items() if k not in change}
    gone = (REMOVE, REMOVE_IF_EXISTS)
    merged |= {
        k: _merged(before.get(k), v) for k, v in change.items() if not any(v is g for g in gone)
    }
    return merged

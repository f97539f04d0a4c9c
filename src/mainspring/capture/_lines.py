"""From a recording to lines that can be drawn: the numbers of its channels over time.

The promise: one pass over the file, in memory that does not grow with it. A line of more than
`LIMIT` points is thinned by keeping the least and the greatest of every few, so no peak is
lost; shorter ones are the recorded values. A field that a message lacks is a gap of its line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from mainspring.capture._errors import ChannelError
from mainspring.capture._reader import NON_FINITE, Batch, ChannelInfo, Recording, path_getter
from mainspring.capture._table import column_name
from mainspring.errors import nearest

__all__ = ["LIMIT", "Line", "read_lines", "thinned"]

Kind = Literal["bool", "int", "float"]
LIMIT = 1 << 16
_NONE = np.empty(0)


class Line:
    """One number over time."""

    def __init__(self, topic: str, path: str, unit: str) -> None:
        self.topic = topic
        self.path = path
        self.unit = unit
        self.kind: Kind = "bool"
        """What every value was so far: a bool, a bool or an int, or any number."""
        self._times: list[np.ndarray[Any, Any]] = []
        self._values: list[np.ndarray[Any, Any]] = []
        self._count = 0

    @property
    def label(self) -> str:
        """The line's name as a column of a table: `/arm/q.value[2]`."""
        return column_name(self.topic, self.path)

    @property
    def times_ns(self) -> np.ndarray[Any, Any]:
        return self._points()[0]

    @property
    def values(self) -> np.ndarray[Any, Any]:
        """As float64; NaN where there is a gap."""
        return self._points()[1]

    def add(self, times_ns: np.ndarray[Any, Any], values: np.ndarray[Any, Any], kind: Kind) -> None:
        if kind == "float" or (kind == "int" and self.kind == "bool"):
            self.kind = kind
        self._times.append(times_ns)
        self._values.append(values)
        self._count += len(values)
        if self._count > LIMIT:
            times_ns, values = thinned(*self._points(), LIMIT // 2)
            self._times, self._values, self._count = [times_ns], [values], len(values)

    def _points(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Times and values in the order of time."""
        times = np.concatenate([_NONE.astype(np.int64), *self._times])
        values = np.concatenate([_NONE, *self._values])
        if len(times) > 1 and (np.diff(times) < 0).any():
            order = np.argsort(times, kind="stable")
            times, values = times[order], values[order]
        self._times, self._values = [times], [values]
        return times, values


def thinned(
    times_ns: np.ndarray[Any, Any], values: np.ndarray[Any, Any], most: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """At most about `most` of the points: of every few that follow one another the least and the greatest."""
    group = 2 * math.ceil(len(values) / most)
    if group <= 2:
        return times_ns, values
    whole = len(values) // group * group
    rows = values[:whole].reshape(-1, group)
    gaps = np.isnan(rows)
    low = np.where(gaps, np.inf, rows).argmin(axis=1)
    high = np.where(gaps, -np.inf, rows).argmax(axis=1)
    first, last = np.minimum(low, high), np.maximum(low, high)
    flat = first == last  # all are equal, or none is a number: its ends say it all
    first, last = np.where(flat, 0, first), np.where(flat, group - 1, last)
    starts = np.arange(0, whole, group)
    keep = np.stack([starts + first, starts + last], axis=1).reshape(-1)
    keep = np.concatenate([keep, np.arange(whole, len(values))])
    return times_ns[keep], values[keep]


def read_lines(
    recording: Recording,
    wanted: Sequence[tuple[str, str]],
    *,
    start_ns: int | None = None,
    end_ns: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[list[Line]]:
    """For each (topic, field path) its lines; all the numbers of the channel where the path is empty."""
    readers = [_Reader(topic, path) for topic, path in wanted]
    for batches in recording.batches({topic for topic, _ in wanted}, progress=progress):
        for batch in batches:
            interested = [r for r in readers if r.topic == batch.channel.topic]
            inside = np.ones(len(batch.times_ns), bool)
            if start_ns is not None:
                inside &= batch.times_ns >= start_ns
            if end_ns is not None:
                inside &= batch.times_ns <= end_ns
            if not inside.all():
                rows = np.flatnonzero(inside).tolist()
                messages = [batch.messages[row] for row in rows]
                batch = Batch(batch.channel, batch.times_ns[inside], messages)
            if batch.channel.message_encoding != "json" or not batch.messages:
                continue
            decoded = batch.decode()
            for reader in interested:
                reader.read(batch.channel, batch.times_ns, decoded)
    return [reader.finish() for reader in readers]


class _Reader:
    """Collects the lines of one wanted channel or field."""

    def __init__(self, topic: str, path: str) -> None:
        self.topic = topic
        self._path = path
        self._lines: dict[str, Line] = {}
        self._fields: dict[str, None] = {}
        """What a message has, to name it where the path is wrong."""
        self._messages = 0
        self._there = 0
        """How many messages had what is asked for, whether or not it was a number."""

    def read(
        self, channel: ChannelInfo, times_ns: np.ndarray[Any, Any], messages: list[Any]
    ) -> None:
        self._messages += len(messages)
        columns = self._declared(channel)
        if columns:
            self._there += len(messages)
            for path, code, count in columns:
                self._read_column(channel, times_ns, messages, path, code, count)
        else:
            self._read_any(channel, times_ns, messages)

    def finish(self) -> list[Line]:
        """The lines; an error where the path names nothing that the channel has."""
        if self._path and self._messages and not self._there:
            raise ChannelError(
                f"channel {self.topic!r} has no field {self._path!r}",
                hint=nearest(self._path, list(self._fields)),
            )
        # A text that happens to be "NaN" is a number only beside numbers.
        return [line for line in self._lines.values() if not isinstance(line, _Names)]

    def _declared(self, channel: ChannelInfo) -> list[tuple[str, str, int]]:
        """Those of the channel's declared fields that are asked for."""
        found = []
        for path, code, count in channel.columns:
            self._fields.setdefault(path)
            if path == self._path or path.startswith(self._path + ".") or not self._path:
                found.append((path, code, count))
        return found

    def _line(self, channel: ChannelInfo, path: str) -> Line:
        line = self._lines.get(path)
        if line is None:
            line = self._lines[path] = Line(self.topic, path, channel.unit)
        return line

    def _line_after(self, names: Line | None, channel: ChannelInfo, path: str) -> Line:
        """A line that goes on where there were only names of numbers, if there were any."""
        line = Line(self.topic, path, channel.unit)
        if names is not None:
            line.add(names.times_ns, names.values, "float")
        return line

    def _read_column(
        self,
        channel: ChannelInfo,
        times_ns: np.ndarray[Any, Any],
        messages: list[Any],
        path: str,
        code: str,
        count: int,
    ) -> None:
        getter = path_getter(path)
        values = [getter(message) for message in messages]
        kind: Kind = "bool" if code == "?" else "float" if code in "df" else "int"
        if code == "n":
            types = set(map(type, values))
            kind = "bool" if types <= {bool} else "int" if types <= {int, bool} else "float"
        table = _floats(values)
        if not count:
            self._line(channel, path).add(times_ns, table, kind)
        for item in range(count):
            self._line(channel, f"{path}[{item}]").add(times_ns, table[:, item], kind)

    def _read_any(
        self, channel: ChannelInfo, times_ns: np.ndarray[Any, Any], messages: list[Any]
    ) -> None:
        getter = path_getter(self._path)
        found: dict[str, list[Any]] = {}
        for row, message in enumerate(messages):
            if self._messages <= len(messages) and isinstance(message, dict):
                self._fields.update(dict.fromkeys(message))
            try:
                node = getter(message)
            except (KeyError, IndexError, TypeError):
                continue
            self._there += 1
            for path, value in _leaves(node, self._path, deep=bool(self._path)):
                if path not in found:
                    found[path] = [None] * len(messages)
                found[path][row] = value
        for path in (*self._lines, *(path for path in found if path not in self._lines)):
            values = found.get(path, [None] * len(messages))
            types = {type(value) for value in values} - {type(None)}
            line = self._lines.get(path)
            if types == {str} and line is None:
                line = self._lines[path] = _Names(self.topic, path, channel.unit)
            elif line is None or (isinstance(line, _Names) and not types <= {str}):
                line = self._lines[path] = self._line_after(line, channel, path)
            kind: Kind = "float" if types else line.kind
            if types and types <= {int, bool}:
                kind = "bool" if types == {bool} else "int"
            line.add(times_ns, _floats(values), kind)


class _Names(Line):
    """A field that was nothing but "NaN" or "Infinity" so far: a text, or a number yet to come."""


def _floats(values: list[Any]) -> np.ndarray[Any, Any]:
    """Numbers as floats, the names of NaN and the infinities, too; None is a gap."""
    try:
        return np.array(values, np.float64)
    except OverflowError:  # an integer of more than three hundred digits
        big = 1 << 1023
        return np.array(
            [max(min(v, big), -big) if type(v) is int else v for v in values], np.float64
        )


def _leaves(node: Any, path: str, *, deep: bool) -> Iterator[tuple[str, Any]]:
    """Every number at or below `node`; lists of objects are entered only where `deep`."""
    if isinstance(node, dict):
        if set(node) == {"sec", "nsec"}:
            return  # a time, which is the line's other axis
        for name, item in node.items():
            yield from _leaves(item, f"{path}.{name}" if path else name, deep=deep)
    elif isinstance(node, list):
        for index, item in enumerate(node):
            if deep or not isinstance(item, (dict, list)):
                yield from _leaves(item, f"{path}[{index}]", deep=deep)
    elif isinstance(node, (bool, int, float)) or node in NON_FINITE:
        yield path, node

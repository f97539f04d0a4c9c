"""Rows of a table that carries no plan, a CSV or somebody else's Parquet, as messages.

The promise: every cell goes into a message, or the table is refused by the name of its column.
Columns of one topic make one message: `/imu.gyro[0]` is an item of the field `gyro` of `/imu`.
A name that begins with neither a slash nor a quote is a field of the file's own channel, unless
it has a topic in front: `imu.gyro`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mainspring.capture._errors import RecordingFormatError
from mainspring.capture._layout import encode_json, json_layout
from mainspring.capture._reader import ChannelInfo
from mainspring.capture._table import parse_column

__all__ = ["MISSING", "TIME", "RowReader", "clock_of", "nanoseconds"]

MISSING: Any = object()
"""What an empty cell holds."""

TIME = "time_ns"
_CLOCKS = (TIME, "timestamp_ns", "timestamp", "time", "t")
_INDEX = re.compile(r"\[(\d+)\]$")


def clock_of(names: Sequence[str], path: Path) -> int:
    """Which column holds the times."""
    for clock in _CLOCKS:
        if clock in names:
            return names.index(clock)
    raise RecordingFormatError(
        f"{path} has no column of times",
        hint=f"name it {TIME!r} and fill it with nanoseconds, or 'time' with seconds as floats",
    )


def nanoseconds(value: Any) -> int:
    """A time as a table spells it: whole nanoseconds, or seconds as a float. Raises `ValueError`."""
    if type(value) is float and math.isfinite(value):
        value = round(value * 1e9)
    if type(value) is not int:
        raise ValueError(f"{value!r} is no time: neither nanoseconds nor seconds as a float")
    if not 0 <= value < 1 << 63:
        raise ValueError(f"{value} is no time that a recording can hold: 0 to 2^63 - 1 nanoseconds")
    return value


class RowReader:
    """Turns rows of cells, named by their columns, into messages."""

    def __init__(self, names: Sequence[str], *, default_topic: str, where: str) -> None:
        self._channels: dict[str, ChannelInfo] = {}
        self._topics: dict[str, list[tuple[int, tuple[str, ...], int]]] = {}
        """Of each topic its columns: position, names of the fields, place in an array or -1."""
        taken: dict[tuple[str, ...], str] = {}
        for position, name in enumerate(names):
            topic, path = parse_column(name)
            if not name.startswith(("/", '"')) and (not path or path.startswith("[")):
                topic, path = default_topic, name
            index = _INDEX.search(path)
            fields = tuple((path[: index.start()] if index else path).split("."))
            if index and fields == ("",):
                fields = ("value",)
            place = int(index[1]) if index else -1
            _claim(taken, (topic, *fields, *((str(place),) if index else ())), name, where)
            self._topics.setdefault(topic, []).append((position, fields, place))

    def messages(
        self, time_ns: int, row: Sequence[Any]
    ) -> Iterator[tuple[int, ChannelInfo, bytes]]:
        for topic, columns in self._topics.items():
            cells = [(fields, place, row[at]) for at, fields, place in columns]
            if all(value is MISSING for _, _, value in cells):
                continue
            message = _message(cells)
            if topic not in self._channels:
                layout = json_layout(message)
                name = "mainspring." + ".".join(re.findall(r"\w+", topic))
                self._channels[topic] = ChannelInfo(
                    0, topic, "json", name, "jsonschema", layout.schema(name), {}
                )
            yield time_ns, self._channels[topic], encode_json(message)


def _claim(
    taken: dict[tuple[str, ...], str], place: tuple[str, ...], name: str, where: str
) -> None:
    """Give a column its place in the messages; two that want the same one are refused."""
    for other, owner in taken.items():
        short = min(len(other), len(place))
        if other[:short] == place[:short]:
            raise RecordingFormatError(
                f"{where}: the columns {owner!r} and {name!r} are the same field of a message",
                hint="give each column a name of its own",
            )
    taken[place] = name


def _message(cells: list[tuple[tuple[str, ...], int, Any]]) -> Any:
    if len(cells) == 1 and cells[0][0] == ("",):
        whole = cells[0][2]
        return whole if isinstance(whole, dict) else {"value": whole}
    message: dict[str, Any] = {}
    for fields, place, value in cells:
        if value is MISSING:
            continue
        node = message
        for name in fields[:-1]:
            node = node.setdefault(name, {})
        if place < 0:
            node[fields[-1] or "value"] = value
        else:
            items = node.setdefault(fields[-1], [])
            items += [None] * (place - len(items))
            items.append(value)
    return message

"""Tables as CSV.

Numbers are written so that they read back equal, and a whole float keeps its `.0`. A cell is
JSON where it can be read as JSON, and text where not; text that looks like JSON is quoted,
so what comes back is what was there. The first column, `time_ns`, is the time.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mainspring.capture._errors import RecordingFormatError
from mainspring.capture._reader import ChannelInfo
from mainspring.capture._rows import MISSING, TIME, RowReader, clock_of, nanoseconds
from mainspring.capture._table import Plan

__all__ = ["CsvTable", "read_messages"]

_NON_FINITE = {"NaN": math.nan, "nan": math.nan, "Infinity": math.inf, "inf": math.inf,
               "-Infinity": -math.inf, "-inf": -math.inf}  # fmt: skip


class CsvTable:
    """Writes one CSV file."""

    def __init__(self, path: Path, plans: Sequence[Plan]) -> None:
        header = [TIME]
        self._first: list[int] = []
        for plan in plans:
            self._first.append(len(header))
            for name, (_, _, count) in zip(plan.names(), plan.columns, strict=True):
                header += [f"{name}[{i}]" for i in range(count)] if count else [name]
        self._plans = plans
        self._width = len(header)
        self._file = open(path, "w", newline="", encoding="utf-8")  # noqa: SIM115
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(header)

    def write(self, times_ns: Any, parts: Sequence[tuple[int, list[Any], Any]]) -> None:
        columns: list[Any] = [times_ns.tolist()] + [None] * (self._width - 1)
        for index, values, where in parts:
            at = self._first[index]
            places = where.tolist()
            for value, (_, code, count) in zip(values, self._plans[index].columns, strict=True):
                for cells in _cells(value, code, count):
                    columns[at] = [cells[place] if place >= 0 else "" for place in places]
                    at += 1
        blank = [""] * len(times_ns)
        self._writer.writerows(
            zip(*(blank if column is None else column for column in columns), strict=True)
        )

    def close(self) -> None:
        self._file.close()


def _cells(value: Any, code: str, count: int) -> list[list[str]]:
    """The texts of a field's columns: one, or one for each item of an array."""
    if code == "json":
        return [value]
    if code == "bytes":
        return [[base64.b64encode(item).decode() for item in value]]
    if code == "s":
        return [[_text(item) for item in value]]
    columns = [value[:, i] for i in range(count)] if count else [value]
    return [[_number(item, code) for item in column.tolist()] if code != "f" else
            [_float32(item) for item in column] for column in columns]  # fmt: skip


def _number(value: Any, code: str) -> str:
    if code == "?":
        return "true" if value else "false"
    if code in "df":
        if value - value == 0.0:
            return repr(value)
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return str(value)


def _float32(value: Any) -> str:
    return _number(float(str(value)), "f")


def _text(value: str) -> str:
    plain = value != "" and value not in _NON_FINITE and value == value.strip()
    if plain:
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            # "\r" would be read as the end of a line by half of the world's readers
            return value if "\r" not in value and "\0" not in value else json.dumps(value)
    return json.dumps(value)


def _parse(cell: str) -> Any:
    if cell in _NON_FINITE:
        # As the message spells it, because JSON has no number for it.
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(cell, cell)
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def read_messages(
    path: Path, progress: Callable[[float], None]
) -> Iterator[tuple[int, ChannelInfo, bytes]]:
    """Time, channel and encoded message of every row, in the order of the file."""
    size = max(path.stat().st_size, 1)
    csv.field_size_limit(1 << 30)
    # Spreadsheets put a byte order mark in front.
    with open(path, "rb") as raw, io.TextIOWrapper(raw, newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        try:
            for number, item in enumerate(_messages(path, rows)):
                yield item
                if number % 4096 == 0:
                    progress(raw.tell() / size)
        except (csv.Error, UnicodeDecodeError) as error:
            raise RecordingFormatError(f"{path} line {rows.line_num}: {error}") from None


def _messages(path: Path, rows: Any) -> Iterator[tuple[int, ChannelInfo, bytes]]:
    header = next(rows, None) or []
    clock = clock_of(header, path)
    others = [name for position, name in enumerate(header) if position != clock]
    reader = RowReader(others, default_topic="/" + path.stem, where=str(path))
    for row in rows:
        if not row:
            continue  # an empty line
        if len(row) != len(header):
            raise RecordingFormatError(
                f"{path} line {rows.line_num}: {len(row)} cells where the header has {len(header)}"
            )
        try:
            time_ns = nanoseconds(_parse(row[clock]))
        except ValueError as error:
            raise RecordingFormatError(f"{path} line {rows.line_num}: {error}") from None
        cells = [
            MISSING if cell == "" else _parse(cell)
            for position, cell in enumerate(row)
            if position != clock
        ]
        yield from reader.messages(time_ns, cells)

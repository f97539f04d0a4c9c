"""Tables as Parquet files, by pyarrow.

The channels a table was made from stand in the file's metadata under `mainspring`, so that it
can become a recording again; any reader of Parquet may ignore them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mainspring.capture._errors import RecordingFormatError
from mainspring.capture._reader import ChannelInfo
from mainspring.capture._rows import MISSING, TIME, RowReader, clock_of, nanoseconds
from mainspring.capture._table import Plan, assemble, plan_from_json, plan_to_json
from mainspring.errors import MissingExtraError

__all__ = ["ParquetTable", "read_description", "read_messages"]

_KEY = b"mainspring"
_CELLS = 1 << 17
_TYPES = {
    "d": "float64", "f": "float32", "q": "int64", "i": "int32", "h": "int16", "b": "int8",
    "Q": "uint64", "I": "uint32", "H": "uint16", "B": "uint8", "?": "bool_",
    "s": "string", "json": "string", "bytes": "binary",
}  # fmt: skip


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet", "capture") from None
    return pyarrow, pyarrow.parquet


class ParquetTable:
    """Writes one Parquet file."""

    def __init__(
        self, path: Path, plans: Sequence[Plan], described: dict[str, dict[str, str]]
    ) -> None:
        pa, parquet = _arrow()
        self._plans = plans
        fields = [pa.field(TIME, pa.int64(), nullable=False)]
        self._first: list[int] = []
        for plan in plans:
            self._first.append(len(fields))
            for name, (_, code, count) in zip(plan.names(), plan.columns, strict=True):
                kind = getattr(pa, _TYPES[code])()
                fields.append(pa.field(name, pa.list_(kind, count) if count else kind))
        about = msgspec.json.encode(
            {"version": 1, "channels": [plan_to_json(p) for p in plans], "recording": described}
        )
        self._schema = pa.schema(fields, metadata={_KEY: about})
        self._writer = parquet.ParquetWriter(path, self._schema, compression="zstd")

    def write(self, times_ns: Any, parts: Sequence[tuple[int, list[Any], Any]]) -> None:
        pa, _ = _arrow()
        rows = len(times_ns)
        columns: list[Any] = [pa.array(times_ns, pa.int64())]
        columns += [None] * (len(self._schema) - 1)
        for index, values, where in parts:
            places = pa.array(where, pa.int64(), mask=where < 0)
            for offset, value in enumerate(values):
                field = self._schema.field(self._first[index] + offset)
                columns[self._first[index] + offset] = _array(pa, value, field.type).take(places)
        for position, column in enumerate(columns):
            if column is None:
                columns[position] = pa.nulls(rows, self._schema.field(position).type)
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def _array(pa: Any, value: Any, kind: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 2:
        flat = pa.array(value.reshape(-1), kind.value_type)
        return pa.FixedSizeListArray.from_arrays(flat, type=kind)
    return pa.array(value, kind, from_pandas=False)


def read_description(path: Path) -> dict[str, dict[str, str]]:
    """What the recording said about itself that the table was made from."""
    with _opened(path) as file:
        about = (file.schema_arrow.metadata or {}).get(_KEY)
        return {} if about is None else dict(msgspec.json.decode(about).get("recording", {}))


def _opened(path: Path) -> Any:
    pa, parquet = _arrow()
    try:
        return parquet.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise RecordingFormatError(f"{path} is not a whole Parquet file: {error}") from None


def read_messages(
    path: Path, progress: Callable[[float], None]
) -> Iterator[tuple[int, ChannelInfo, bytes]]:
    """Time, channel and encoded message of every row, in the order of the file."""
    with _opened(path) as file:
        schema = file.schema_arrow
        described = (schema.metadata or {}).get(_KEY)
        if described is None:
            yield from _foreign(path, file, progress)
            return
        plans = [plan_from_json(item) for item in msgspec.json.decode(described)["channels"]]
        done, total = 0, max(file.metadata.num_rows, 1)
        for batch in file.iter_batches(_rows_at_once(file)):
            yield from _rows_of(batch, plans)
            done += batch.num_rows
            progress(done / total)


def _rows_at_once(file: Any) -> int:
    """So many that their messages take some megabytes, however many columns there are."""
    return max(_CELLS // len(file.schema_arrow.names), 64)


def _rows_of(batch: Any, plans: list[Plan]) -> Iterator[tuple[int, ChannelInfo, bytes]]:
    times = batch.column(TIME).to_numpy()
    found: list[tuple[np.ndarray[Any, Any], ChannelInfo, list[bytes]]] = []
    for plan in plans:
        columns = [batch.column(name) for name in plan.names()]
        present = columns[0].is_valid()
        rows = np.flatnonzero(present.to_numpy(zero_copy_only=False))
        if not len(rows):
            continue
        values = [
            _values(column.filter(present), code, count)
            for column, (_, code, count) in zip(columns, plan.columns, strict=True)
        ]
        found.append((rows, plan.channel, assemble(plan, values, times[rows])))
    # order: row, then the order of the columns
    rows = np.concatenate([rows for rows, _, _ in found]) if found else np.empty(0, np.int64)
    owners = np.concatenate([np.full(len(r), i) for i, (r, _, _) in enumerate(found)] or [rows])
    inner = np.concatenate([np.arange(len(r)) for r, _, _ in found] or [rows])
    order = np.lexsort((owners, rows))
    listed = times.tolist()
    for row, owner, at in zip(
        rows[order].tolist(), owners[order].tolist(), inner[order].tolist(), strict=True
    ):
        _, channel, messages = found[owner]
        yield listed[row], channel, messages[at]


def _values(column: Any, code: str, count: int) -> Any:
    if code in ("s", "json", "bytes"):
        return column.to_pylist()
    if count:
        return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, count)
    return column.to_numpy(zero_copy_only=False)


def _foreign(
    path: Path, file: Any, progress: Callable[[float], None]
) -> Iterator[tuple[int, ChannelInfo, bytes]]:
    """A Parquet file that we did not write: its columns are fields, its time column is found."""
    names = file.schema_arrow.names
    clock = clock_of(names, path)
    others = [name for position, name in enumerate(names) if position != clock]
    reader = RowReader(others, default_topic="/" + path.stem, where=str(path))
    done, total = 0, max(file.metadata.num_rows, 1)
    for batch in file.iter_batches(_rows_at_once(file)):
        times = _times_ns(batch.column(clock), names[clock], path)
        columns = [
            [MISSING if cell is None else cell for cell in batch.column(position).to_pylist()]
            for position in range(len(names))
            if position != clock
        ]
        rows = zip(*columns, strict=True) if columns else ([] for _ in times)
        for time_ns, row in zip(times, rows, strict=True):
            yield from reader.messages(time_ns, row)
        done += batch.num_rows
        progress(done / total)


def _times_ns(column: Any, name: str, path: Path) -> list[int]:
    pa, _ = _arrow()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ns", column.type.tz)).cast(pa.int64())
    try:
        return [nanoseconds(value) for value in column.to_pylist()]
    except ValueError as error:
        raise RecordingFormatError(f"{path}, column {name!r}: {error}") from None

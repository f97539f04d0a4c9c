"""Conversion between MCAP, Parquet and CSV.

The promise: what goes to Parquet and back is the same messages: topics, times, schemas and
values. CSV keeps topics, times and values; it has no place for schemas, so those are found
again from the values. Everything is read and written piece by piece, whatever the size.

A name that ends in `.parquet` or `.csv` is one table: a row for each moment, a column for
each field (`/arm/q.value`), empty where a channel has no message at that moment. Any other
name is a folder with one table for each channel.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from mainspring.capture import _csv, _parquet
from mainspring.capture._errors import CaptureError
from mainspring.capture._mcap_writer import McapWriter
from mainspring.capture._outputs import Outputs
from mainspring.capture._reader import Batch, ChannelInfo, Recording, split_path
from mainspring.capture._table import Demotion, Misfit, Plan, extract, plan_of

__all__ = ["ConvertReport", "convert"]

Format = Literal["mcap", "parquet", "csv"]
_SUFFIXES: dict[str, Format] = {".mcap": "mcap", ".parquet": "parquet", ".csv": "csv"}
_ROWS = 65_536
"""Rows of one channel that are gathered before they are written."""


class ConvertReport:
    """What a conversion did."""

    def __init__(self, files: Sequence[Path], messages: int, truncated: str | None) -> None:
        self.files = tuple(files)
        self.messages = messages
        self.truncated = truncated
        """Why the source ended too early, if it did; what stands before is converted."""


class TableWriter(Protocol):
    """Writes rows; columns come as `extract` gives them, `rows` says where they belong."""

    def write(self, times_ns: Any, parts: Sequence[tuple[int, list[Any], Any]]) -> None: ...

    def close(self) -> None: ...


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    channels: Sequence[str] = (),
    to: Format | None = None,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ConvertReport:
    """Convert `source` to what `target` is named after.

    `channels` chooses topics, all when empty. `to` is needed where the target is a folder and
    is Parquet when not given. `progress` is told (done, total) in bytes of the source.
    """
    source, target = Path(source), Path(target)
    kind = _format_of_source(source)
    if not source.exists():
        raise CaptureError(f"{source} does not exist")
    goal = to or _SUFFIXES.get(target.suffix) or ("mcap" if kind != "mcap" else "parquet")
    if (kind == "mcap") == (goal == "mcap"):
        raise CaptureError(
            f"there is nothing to convert from {kind} to {goal}",
            hint="one side is an .mcap file, the other Parquet or CSV",
        )
    if target.exists() and not overwrite and not (target.is_dir() and not any(target.iterdir())):
        raise CaptureError(f"{target} exists already", hint="choose another name, or overwrite")
    if goal == "mcap":
        return _to_mcap(source, target, kind, channels, overwrite, progress)
    with Recording(source) as recording:
        topics = _chosen(recording.channels, channels)
        demotions: dict[str, Demotion] = {}
        while True:
            try:
                return _from_mcap(recording, target, goal, topics, demotions, progress)
            except Misfit as misfit:
                again = demotions.get(misfit.topic, "")
                # order of retreat: as declared, as floats, as JSON text
                demotions[misfit.topic] = "json" if again else misfit.demotion


def _format_of_source(source: Path) -> Format:
    if source.is_dir():
        found = {_SUFFIXES[file.suffix] for file in _tables(source)}
        if len(found) == 1:
            return found.pop()
        raise CaptureError(
            f"{source} holds {'several kinds of tables' if found else 'no table'}",
            hint="a folder to convert holds .parquet files or .csv files",
        )
    if source.suffix in _SUFFIXES:
        return _SUFFIXES[source.suffix]
    raise CaptureError(f"{source} is of no known kind", hint="use .mcap, .parquet or .csv")


def _tables(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix in (".parquet", ".csv"))


def _chosen(channels: Sequence[ChannelInfo], wanted: Sequence[str]) -> list[str]:
    topics = [channel.topic for channel in channels]
    if not wanted:
        return list(dict.fromkeys(topics))
    return list(dict.fromkeys(split_path(name, topics)[0] for name in wanted))


def _from_mcap(
    recording: Recording,
    target: Path,
    goal: Format,
    topics: list[str],
    demotions: dict[str, Demotion],
    progress: Callable[[int, int], None] | None,
) -> ConvertReport:
    plans = _plans(recording, topics, demotions, stamps=goal == "csv")
    single = target.suffix in _SUFFIXES
    described = recording.metadata
    writers: list[tuple[TableWriter, list[Plan]]] = []
    messages = 0
    with Outputs() as files, ExitStack() as open_files:

        def begin(path: Path, plans: list[Plan]) -> None:
            partial = files.add(path)
            writer: TableWriter = (
                _parquet.ParquetTable(partial, plans, described)
                if goal == "parquet"
                else _csv.CsvTable(partial, plans)
            )
            open_files.callback(writer.close)
            writers.append((writer, plans))

        if single:
            begin(target, plans)
        else:
            files.folder(target)
            for plan in plans:
                begin(_file_for(target, plan.channel.topic, goal, files.files), [plan])
            _check_folder(target, files.files)
        for gathered in _gather(recording, topics, progress):
            messages += sum(len(batch.messages) for batch in gathered)
            for writer, owned in writers:
                _write_rows(writer, owned, gathered)
    return ConvertReport(files.files, messages, recording.truncated)


def _check_folder(folder: Path, files: Sequence[Path]) -> None:
    """Refuse a folder with tables of something else, which would be read as channels of this."""
    for other in _tables(folder):
        if other not in files:
            raise CaptureError(
                f"{folder} holds {other.name}, which is not of this recording",
                hint="delete it, or choose another folder",
            )


def _plans(
    recording: Recording, topics: list[str], demotions: dict[str, Demotion], *, stamps: bool
) -> list[Plan]:
    """One plan a channel, from its first message; channels without one have nothing to say."""
    plans: dict[str, Plan] = {}
    for batches in recording.batches(topics):
        for batch in batches:
            topic = batch.channel.topic
            if topic not in plans:
                plans[topic] = plan_of(
                    batch.channel,
                    batch.messages[0],
                    demotions.get(topic, ""),
                    stamps=stamps,
                )
        if len(plans) == len(topics):
            break
    return [plans[topic] for topic in topics if topic in plans]


def _gather(
    recording: Recording, topics: list[str], progress: Callable[[int, int], None] | None
) -> Iterator[list[Batch]]:
    """Batches joined until they are worth a row group."""
    waiting: dict[str, list[Batch]] = {}
    count = 0

    def tell(done: int) -> None:
        if progress is not None:
            progress(done, recording.size)

    for batches in recording.batches(topics, progress=tell):
        for batch in batches:
            waiting.setdefault(batch.channel.topic, []).append(batch)
            count += len(batch.messages)
        if count >= _ROWS:
            yield [_joined(parts) for parts in waiting.values()]
            waiting, count = {}, 0
    if waiting:
        yield [_joined(parts) for parts in waiting.values()]


def _joined(parts: list[Batch]) -> Batch:
    if len(parts) == 1:
        return parts[0]
    return Batch(
        parts[0].channel,
        np.concatenate([part.times_ns for part in parts]),
        [message for part in parts for message in part.messages],
    )


def _write_rows(writer: TableWriter, plans: list[Plan], batches: list[Batch]) -> None:
    """Put messages of the same moment into the same row."""
    by_topic = {batch.channel.topic: batch for batch in batches}
    found = [
        (index, by_topic[plan.channel.topic])
        for index, plan in enumerate(plans)
        if plan.channel.topic in by_topic
    ]
    if not found:
        return
    keys = []
    for _, batch in found:
        times = batch.times_ns
        if len(times) > 1 and (np.diff(times) < 0).any():
            order = np.argsort(times, kind="stable")
            ranked = times[order]
        else:
            order, ranked = np.arange(len(times)), times
        # A channel may speak twice at one moment: then the moment has two rows.
        first = np.searchsorted(ranked, ranked, side="left")
        keys.append((order, np.stack([ranked, np.arange(len(ranked)) - first], axis=1)))
    rows, inverse = np.unique(np.concatenate([key for _, key in keys]), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    parts: list[tuple[int, list[Any], Any]] = []
    at = 0
    for (index, batch), (order, key) in zip(found, keys, strict=True):
        where = np.full(len(rows), -1, np.int64)
        where[inverse[at : at + len(key)]] = order
        at += len(key)
        parts.append((index, extract(plans[index], batch), where))
    writer.write(rows[:, 0], parts)


def _file_for(folder: Path, topic: str, goal: Format, taken: Iterable[Path]) -> Path:
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", topic.strip("/")) or "channel"
    path, number = folder / f"{stem}.{goal}", 1
    while path in taken:
        number += 1
        path = folder / f"{stem}-{number}.{goal}"
    return path


def _to_mcap(
    source: Path,
    target: Path,
    kind: Format,
    wanted: Sequence[str],
    overwrite: bool,
    progress: Callable[[int, int], None] | None,
) -> ConvertReport:
    files = _tables(source) if source.is_dir() else [source]
    total = sum(file.stat().st_size for file in files)
    open_table = _parquet.read_messages if kind == "parquet" else _csv.read_messages
    done = 0

    def tell(file: Path) -> Callable[[float], None]:
        before = sum(other.stat().st_size for other in files[: files.index(file)])

        def part(share: float) -> None:
            nonlocal done
            done = max(done, before + int(share * file.stat().st_size))
            if progress is not None:
                progress(done, total)

        return part

    import heapq

    # order: time, then the order of the files, then of the rows; heapq.merge is stable
    merged: Iterator[Any] = heapq.merge(
        *(open_table(file, tell(file)) for file in files), key=lambda item: item[0]
    )
    described = _parquet.read_description(files[0]) if kind == "parquet" else {}
    ids: dict[str, int] = {}
    seen: dict[str, None] = {}
    messages = 0
    with Outputs() as outputs, McapWriter(outputs.add(target), overwrite=True) as writer:
        for name, values in described.items():
            writer.metadata(name, values)
        for time_ns, channel, data in merged:
            topic = channel.topic
            seen[topic] = None
            if wanted and topic not in wanted:
                continue
            if topic not in ids:
                ids[topic] = writer.channel(
                    topic,
                    schema_id=writer.schema(
                        channel.schema_name, channel.schema_encoding, channel.schema_data
                    ),
                    message_encoding=channel.message_encoding,
                    metadata=channel.metadata,
                )
            writer.message(ids[topic], time_ns, data)
            messages += 1
        for topic in wanted:
            split_path(topic, list(seen))
    if progress is not None:
        progress(total, total)
    return ConvertReport([target], messages, None)

"""Reading recordings, whole ones and cut-off ones.

The promise: every message of every whole chunk is given back, in the order of the file, and
nothing of a damaged one. A file that ends too early, wherever that is, opens; `truncated`
then says why reading stopped. Times are integer nanoseconds.

    with Recording("run.mcap") as recording:
        series = recording.read("/arm/q")
        series.times_ns, series["value"]

Files of other makers open, too: whatever is JSON is decoded, everything else stays bytes.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np

from mainspring import _kernel
from mainspring.capture._errors import CaptureError, ChannelError, RecordingFormatError
from mainspring.capture._mcap_file import Damage, mcap_module, read_chunks, read_metadata
from mainspring.capture._mcap_records import MAGIC
from mainspring.errors import nearest

__all__ = ["NON_FINITE", "Batch", "ChannelInfo", "Recording", "Series", "split_path"]

Column = tuple[str, str, int]
COLUMNS_KEY = "columns"
NON_FINITE = ("NaN", "Infinity", "-Infinity")
"""How a message spells the numbers that JSON has none for."""


@dataclasses.dataclass(frozen=True)
class ChannelInfo:
    """What a file says about one of its channels."""

    id: int
    topic: str
    message_encoding: str
    schema_name: str
    schema_encoding: str
    schema_data: bytes
    metadata: dict[str, str]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The numeric fields (path, scalar code, count) where our recorder wrote the channel."""
        text = self.metadata.get(COLUMNS_KEY)
        if text is None or self.message_encoding != "json":
            return ()
        try:
            return tuple(msgspec.json.decode(text, type=list[tuple[str, str, int]]))
        except msgspec.MsgspecError:
            return ()

    @property
    def unit(self) -> str:
        return self.metadata.get("unit", "")


def decode_json(data: bytes, channel: ChannelInfo) -> Any:
    """What messages of a channel say."""
    try:
        return msgspec.json.decode(data)
    except msgspec.MsgspecError as error:
        raise RecordingFormatError(
            f"channel {channel.topic!r} says its messages are JSON, and they are not: {error}"
        ) from None


@dataclasses.dataclass(frozen=True)
class Batch:
    """Messages of one channel that stand in one chunk, in the order of the file."""

    channel: ChannelInfo
    times_ns: np.ndarray[Any, np.dtype[np.int64]]
    messages: list[bytes]

    def decode(self) -> list[Any]:
        """The messages as Python values; bytes where the encoding is not JSON."""
        if self.channel.message_encoding != "json":
            return list(self.messages)
        decoded: list[Any] = decode_json(b"[" + b",".join(self.messages) + b"]", self.channel)
        return decoded


@dataclasses.dataclass(frozen=True)
class Series:
    """One channel's messages in the order of the file."""

    channel: ChannelInfo
    times_ns: np.ndarray[Any, np.dtype[np.int64]]
    values: list[Any]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, path: str) -> np.ndarray[Any, Any]:
        """A field as an array: `series["value"]`, `series["pose.position.x"]`, `series["value[2]"]`.

        Of a field that some messages lack, their items are None.
        """
        getter = path_getter(path)
        found: list[Any] = []
        missing = 0
        for value in self.values:
            try:
                found.append(getter(value))
            except (KeyError, IndexError, TypeError):
                found.append(None)
                missing += 1
        if missing and missing == len(found):
            known = [name for name, _, _ in self.channel.columns] or _fields(self.values)
            raise ChannelError(
                f"channel {self.channel.topic!r} has no field {path!r}", hint=nearest(path, known)
            )
        return numeric(found, {n: c for n, c, _ in self.channel.columns}.get(path))


class Recording:
    """An MCAP file open for reading."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._file: IO[bytes] = open(self.path, "rb")  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise CaptureError(f"{self.path} cannot be read: {error.strerror}") from error
        self.size = os.fstat(self._file.fileno()).st_size
        self.truncated: str | None = None
        """Why reading stopped before the end of the file; None for a whole file."""
        self._channels: dict[int, ChannelInfo] | None = None
        magic = self._file.read(8)
        # One that was cut off inside its first eight bytes holds nothing, and nothing wrong.
        if magic != MAGIC[: len(magic)]:
            self._file.close()
            raise RecordingFormatError(
                f"{self.path} is not an MCAP file",
                hint="a recording begins with the bytes 89 4D 43 41 50",
            )

    @property
    def channels(self) -> list[ChannelInfo]:
        """The file's channels in the order of their numbers."""
        if self._channels is None:
            self._channels = self._summary_channels()
        return [self._channels[key] for key in sorted(self._channels)]

    @property
    def topics(self) -> list[str]:
        return [channel.topic for channel in self.channels]

    @property
    def metadata(self) -> dict[str, dict[str, str]]:
        """What the file says about itself; a recorder's: `metadata["mainspring"]["scene"]`."""
        return read_metadata(self._file, self.size)

    def channel(self, topic: str) -> ChannelInfo:
        for channel in self.channels:
            if channel.topic == topic:
                return channel
        raise ChannelError(
            f"{self.path} has no channel {topic!r}", hint=nearest(topic, self.topics)
        )

    def batches(
        self,
        topics: Iterable[str] | None = None,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> Iterator[list[Batch]]:
        """The messages chunk by chunk; `progress` is told how many bytes were read."""
        wanted = None if topics is None else set(topics)
        for channels, data in self._chunks(progress):
            skip = [
                id
                for id, info in channels.items()
                if wanted is not None and info.topic not in wanted
            ]
            yield [
                Batch(_known(channels, id), np.frombuffer(times, np.int64), messages)
                for id, times, messages in _kernel.capture.split_messages(data, skip)
            ]

    def messages(
        self, topics: Iterable[str] | None = None
    ) -> Iterator[tuple[ChannelInfo, int, Any]]:
        """Channel, time and decoded value of every message, in the order of the file."""
        wanted = None if topics is None else set(topics)
        for channels, data in self._chunks(None):
            for id, _, time_ns, _, begin, end in _kernel.capture.scan_messages(data):
                channel = _known(channels, id)
                if wanted is None or channel.topic in wanted:
                    one = Batch(channel, np.array([time_ns]), [data[begin:end]])
                    yield channel, time_ns, one.decode()[0]

    def read(self, topic: str) -> Series:
        """All messages of one channel."""
        return self.read_many([topic])[topic]

    def read_many(
        self,
        topics: Iterable[str],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, Series]:
        """All messages of several channels, in one pass over the file."""
        channels = {topic: self.channel(topic) for topic in topics}
        times: dict[str, list[np.ndarray[Any, np.dtype[np.int64]]]] = {t: [] for t in channels}
        values: dict[str, list[Any]] = {topic: [] for topic in channels}
        for batches in self.batches(channels, progress=progress):
            for batch in batches:
                times[batch.channel.topic].append(batch.times_ns)
                values[batch.channel.topic].extend(batch.decode())
        found = {}
        for topic, channel in channels.items():
            stamps = np.concatenate([np.empty(0, np.int64), *times[topic]])
            if sum(one.topic == topic for one in self.channels) > 1:
                # A file may have several channels of one name: they are told as one, by time.
                order = np.argsort(stamps, kind="stable")
                stamps = stamps[order]
                values[topic] = [values[topic][i] for i in order.tolist()]
            found[topic] = Series(channel, stamps, values[topic])
        return found

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _summary_channels(self) -> dict[int, ChannelInfo]:
        from_summary = self._from_summary()
        if from_summary is not None:
            return from_summary
        found: dict[int, ChannelInfo] = {}
        for _ in self._chunks(None, found):
            pass
        return found

    def _from_summary(self) -> dict[int, ChannelInfo] | None:
        reader = mcap_module("reader")
        self._file.seek(0)
        try:
            summary = reader.make_reader(self._file).get_summary()
        except Exception:  # any damage whatever: the data section is read instead
            return None
        if summary is None or not summary.channels:
            return None
        return {
            id: _info(channel, summary.schemas.get(channel.schema_id))
            for id, channel in summary.channels.items()
        }

    def _chunks(
        self,
        progress: Callable[[int], None] | None,
        channels: dict[int, ChannelInfo] | None = None,
    ) -> Iterator[tuple[dict[int, ChannelInfo], bytes]]:
        """The channels known so far and the records, for every whole chunk."""
        self.truncated = None
        schemas: dict[int, Any] = {}
        channels = {} if channels is None else channels
        try:
            for declared, data in read_chunks(self._file, self.size):
                for record in declared:
                    _learn(record, schemas, channels)
                if data:
                    yield channels, data
                if progress is not None:
                    progress(self._file.tell())
        except Damage as damage:
            # Everything before it was given out.
            self.truncated = str(damage)


_PATH = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def path_getter(path: str) -> Callable[[Any], Any]:
    """A function that takes `pose.position.x` or `value[2]` out of a decoded message."""
    steps: list[str | int] = [name or int(index) for name, index in _PATH.findall(path)]

    def get(value: Any) -> Any:
        for step in steps:
            value = value[step]
        return value

    return get


def split_path(text: str, topics: Sequence[str]) -> tuple[str, str]:
    """`/arm/q.value[0]` as (topic, field path); the field may be missing."""
    matches = [
        topic for topic in topics if text == topic or text.startswith((topic + ".", topic + "["))
    ]
    if not matches:
        raise ChannelError(f"there is no channel {text!r}", hint=nearest(text, topics))
    topic = max(matches, key=len)
    return topic, text[len(topic) :].removeprefix(".")


def numeric(values: list[Any], code: str | None = None) -> np.ndarray[Any, Any]:
    """Decoded values as an array that keeps them: of the declared type, of bools, ints or floats
    where all are, and of objects otherwise."""
    if code is not None and code != "n":
        dtype = np.dtype(np.bool_) if code == "?" else np.dtype(code)
        if dtype.kind != "f":
            return np.array(values, dtype)
        return np.array(values, np.float64).astype(dtype)
    kinds: set[type] = set()
    _gather_kinds(values, kinds)
    try:
        if kinds == {bool}:
            return np.array(values, np.bool_)
        if kinds and kinds <= {int, bool}:
            return _integers(values)
        if kinds <= {int, float, bool}:  # the names of NaN and the infinities are floats here
            return np.array(values, np.float64)
    except ValueError:  # lists of several lengths
        pass
    found = np.empty(len(values), object)
    found[:] = values
    return found


def _gather_kinds(values: list[Any], kinds: set[type]) -> None:
    for value in values:
        if type(value) is list:
            _gather_kinds(value, kinds)
        else:
            kinds.add(float if value in NON_FINITE else type(value))


def _integers(values: list[Any]) -> np.ndarray[Any, Any]:
    for dtype in (np.int64, np.uint64, object):
        try:
            return np.array(values, dtype)
        except OverflowError:
            continue
    raise AssertionError("objects hold every integer")


def _fields(values: list[Any]) -> list[str]:
    """The names of what the messages hold, in the order they first appear."""
    return list(
        dict.fromkeys(name for value in values if isinstance(value, dict) for name in value)
    )


def _info(channel: Any, schema: Any) -> ChannelInfo:
    return ChannelInfo(
        id=channel.id,
        topic=channel.topic,
        message_encoding=channel.message_encoding,
        schema_name="" if schema is None else schema.name,
        schema_encoding="" if schema is None else schema.encoding,
        schema_data=b"" if schema is None else bytes(schema.data),
        metadata=dict(channel.metadata),
    )


def _learn(record: Any, schemas: dict[int, Any], channels: dict[int, ChannelInfo]) -> None:
    if hasattr(record, "topic"):
        channels[record.id] = _info(record, schemas.get(record.schema_id))
    else:
        schemas[record.id] = record


def _known(channels: dict[int, ChannelInfo], id: int) -> ChannelInfo:
    if id not in channels:
        raise RecordingFormatError(
            f"a message belongs to channel {id}, which the file never declares"
        )
    return channels[id]

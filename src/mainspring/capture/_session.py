"""One recording under way: from the values at each step to the chunks of a file.

On the simulation's side a step copies its channels' values onto a tape, and now and then the
tape is handed over. On the other side a thread turns tapes into messages, compresses images
and writes chunks. What lies between them is bounded (see `Pipe`).

order: tapes and images pass in the order they were sampled, so the file's content does not
depend on when a tape was handed over.
"""

from __future__ import annotations

import base64
import dataclasses
import os
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from mainspring import _kernel
from mainspring.capture._channel import Channel, Image
from mainspring.capture._errors import ChannelError, RecordingError
from mainspring.capture._images import encode_image
from mainspring.capture._mcap_writer import Compression, McapWriter, compressor
from mainspring.capture._pipe import Pipe, WhenFull
from mainspring.capture._reader import COLUMNS_KEY
from mainspring.capture._schemas import COMPRESSED_IMAGE, time_json
from mainspring.clock import StepContext

__all__ = ["ChannelGroup", "Session", "Settings"]

# Each tape and each chunk that is handed on makes the threads pass the interpreter to and fro, and
# the run waits for it; few large ones cost it less than many small ones.
_TAPE_BYTES = 1 << 19
_TAPE_SPAN_NS = 500_000_000
"""A tape is handed over at least this often, so that a slow recording reaches the disk too."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a recording is written."""

    compression: Compression = "zstd"
    chunk_bytes: int = 4 << 20
    chunk_span_ns: int = 1_000_000_000
    queue_bytes: int = 64 << 20
    when_full: WhenFull = "wait"
    overwrite: bool = False
    durable: bool = True


@dataclasses.dataclass(frozen=True)
class _Declare:
    """Makes channels known to the writer; they form one row of the tape, in this order."""

    channels: tuple[tuple[str, str, bytes, dict[str, str], tuple[Any, ...]], ...]
    row: bool


@dataclasses.dataclass(frozen=True)
class _Frame:
    topic: str
    time_ns: int
    taken_ns: int
    pixels: np.ndarray[Any, Any]
    image: Image


class ChannelGroup:
    """The channels that are sampled together: one runner, one phase, one priority."""

    def __init__(
        self, session: Session, channels: list[Channel], slow: Callable[[StepContext], None]
    ) -> None:
        self._session = session
        self.beat = _kernel.capture.Beat(session.sampler, slow, session.hand_over)
        """What the clock calls: the kernel while there is only sampling to do, `slow` otherwise."""
        self._images = [channel for channel in channels if channel.image is not None]
        self._waiting = [channel for channel in channels if channel.image is None]
        self._rows: list[int] = []
        self._known_images: set[str] = set()

    def sample(self, time_ns: int) -> None:
        """Copy the present values, with this time."""
        session, beat = self._session, self.beat
        beat.last_ns, beat.until_ns = time_ns, 0
        if session.pipe.failure is not None:
            raise session.pipe.failure
        full = False
        for row in self._rows:
            if session.sampler.sample(row, time_ns):
                full = True
        if self._waiting:
            full = self._begin(time_ns) or full
        if full or time_ns >= session.hand_over_ns:
            session.hand_over(time_ns)
        for channel in self._images:
            self._frame(channel, time_ns)
        if len(self._rows) == 1 and not self._waiting and not self._images:
            beat.row, beat.until_ns = self._rows[0], session.hand_over_ns

    def _begin(self, time_ns: int) -> bool:
        """Sample those of the channels that show their first value now."""
        full = False
        ready: list[Channel] = []
        values: list[Any] = []
        still: list[Channel] = []
        for channel in self._waiting:
            value = channel.fetch()
            if value is None:
                still.append(channel)
                continue
            layout = channel.learn(value)
            ready.append(channel)
            values.append(value if layout.adapt is None else layout.adapt(value))
        if ready:
            row = self._session.declare_row(ready)
            self._rows.append(row)
            full = self._session.sampler.sample_values(row, time_ns, values)
        self._waiting = still
        return full

    def _frame(self, channel: Channel, time_ns: int) -> None:
        pixels = channel.fetch()
        if pixels is None:
            return
        taken_ns = time_ns
        if hasattr(pixels, "time_ns"):  # a sensor's reading: a frame is recorded once
            if pixels.time_ns == channel.last_stamp_ns:
                return
            taken_ns = channel.last_stamp_ns = pixels.time_ns
            pixels = pixels.value
        image = channel.image
        assert image is not None
        array = np.array(pixels)  # a copy: the camera may use its buffer again
        if array.dtype != np.uint8 or not (
            array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (1, 3, 4))
        ):
            raise ChannelError(
                f"channel {channel.topic!r} was given {array.dtype} of shape {array.shape} as an image",
                hint="frames are uint8 of shape (height, width), (height, width, 3) or (height, width, 4)",
            )
        session = self._session
        if channel.topic not in self._known_images:
            self._known_images.add(channel.topic)
            session.put(
                _Declare(
                    ((channel.topic, *COMPRESSED_IMAGE, {**channel.metadata}, ()),), row=False
                ),
                0,
            )
        session.hand_over(time_ns)
        session.put(_Frame(channel.topic, time_ns, taken_ns, array, image), array.nbytes)


class Session:
    """A file being written; made when a run starts, closed when it stops."""

    def __init__(self, path: str | os.PathLike[str], settings: Settings) -> None:
        self.writer = McapWriter(
            path,
            compression=settings.compression,
            chunk_bytes=settings.chunk_bytes,
            chunk_span_ns=settings.chunk_span_ns,
            overwrite=settings.overwrite,
            durable=settings.durable,
        )
        self.sampler = _kernel.capture.Sampler(_TAPE_BYTES, self._mismatch)
        self.pipe = Pipe(
            self._handle,
            name=f"the recording {os.fspath(path)}",
            limit_bytes=settings.queue_bytes,
            when_full=settings.when_full,
            failed=self.sampler.stop,
        )
        self.hand_over_ns = 0
        self._tape_span_ns = min(_TAPE_SPAN_NS, (settings.chunk_span_ns + 1) // 2)
        self._groups: list[list[Channel]] = []
        self._ids: dict[str, int] = {}
        self._closed = False

    def group(self, channels: list[Channel], slow: Callable[[StepContext], None]) -> ChannelGroup:
        return ChannelGroup(self, channels, slow)

    def put(self, item: Any, size: int) -> None:
        self.pipe.put(item, size)

    def describe(self, values: dict[str, str]) -> None:
        """Say what the file is of, before its first message."""
        self.put(values, 0)

    def declare_row(self, channels: list[Channel]) -> int:
        """Tell both sides about channels whose layouts are found; returns the sampler's group."""
        self.hand_over(self.hand_over_ns)
        declared = []
        for channel in channels:
            layout = channel.layout
            assert layout is not None
            name = layout.schema_name or "mainspring" + _schema_suffix(channel.topic)
            metadata = dict(channel.metadata)
            if layout.columns:
                metadata[COLUMNS_KEY] = msgspec.json.encode(layout.columns).decode()
            if len(layout.shape) > 1:
                metadata["shape"] = msgspec.json.encode(layout.shape).decode()
            schema = layout.schema(name)
            declared.append((channel.topic, name, schema, metadata, layout.program))
        self.put(_Declare(tuple(declared), row=True), 0)
        number = len(self._groups)
        self._groups.append(channels)
        return self.sampler.add_group(number, [channel.cell() for channel in channels])

    def hand_over(self, time_ns: int) -> None:
        """Give the tape to the writer."""
        self.hand_over_ns = time_ns + self._tape_span_ns
        if self.sampler.size:
            tape = self.sampler.take()
            self.put(tape, len(tape))

    def flush(self) -> None:
        """Everything sampled so far is in the file when this returns."""
        self.hand_over(self.hand_over_ns)
        self.put("flush", 0)
        self.pipe.drain()

    def close(self) -> None:
        """Write what is left and close the file. Raises what could not be written."""
        if self._closed:
            return
        self._closed = True
        try:
            if self.pipe.failure is None:
                self.pipe.drain()  # the run is over: whatever the policy, there is time to wait
                self.hand_over(self.hand_over_ns)
            self.pipe.close()
            self.writer.close()
        finally:
            self.pipe.end()  # its thread uses the file, so it ends before the file does
            self.writer.abandon()

    # On the writer's thread:

    def _handle(self, item: Any) -> None:
        if isinstance(item, bytes):
            self.writer.write_tape(item)
        elif isinstance(item, _Frame):
            data = {
                "timestamp": time_json(item.taken_ns),
                "frame_id": item.image.frame_id,
                "data": base64.b64encode(encode_image(item.pixels, item.image)).decode(),
                "format": item.image.format,
            }
            self.writer.message(self._ids[item.topic], item.time_ns, msgspec.json.encode(data))
        elif isinstance(item, _Declare):
            ids = []
            for topic, name, schema, metadata, program in item.channels:
                self._ids[topic] = self.writer.channel(
                    topic,
                    schema_id=self.writer.schema(name, "jsonschema", schema),
                    metadata=metadata,
                    program=program,
                )
                ids.append(self._ids[topic])
            if item.row:
                self.writer.group(ids)
        elif isinstance(item, dict):
            self.writer.metadata("mainspring", item)
        else:
            self.writer.flush()

    # On the simulation's thread, from inside the sampler:

    def _mismatch(self, group: int, index: int, value: Any) -> Any:
        channel = self._groups[group][index]
        if value is None:
            raise ChannelError(
                f"channel {channel.topic!r} was given None after it had begun",
                hint="a source that has begun returns a value at every step of its runner",
            )
        layout = channel.layout
        assert layout is not None
        return layout.fit(value, channel.topic)


def _schema_suffix(topic: str) -> str:
    words = "".join(c if c.isalnum() else "." for c in topic)
    return "." + ".".join(word for word in words.split(".") if word)


def unique_path(path: str, number: int) -> str:
    """The name of a recorder's `number`-th file: run.mcap, run-2.mcap, ..."""
    if number == 1:
        return path
    stem, suffix = os.path.splitext(path)
    return f"{stem}-{number}{suffix}"


def check_settings(settings: Settings) -> None:
    """Refuse what would fail only when the run is under way."""
    compressor(settings.compression)
    for name in ("queue_bytes", "chunk_bytes", "chunk_span_ns"):
        value = getattr(settings, name)
        if type(value) is not int or value < 1:
            raise RecordingError(f"a recorder's {name} is a positive whole number, not {value!r}")
    if settings.when_full not in ("wait", "error"):
        raise RecordingError(
            f"unknown when_full {settings.when_full!r}", hint="use 'wait' or 'error'"
        )

"""An MCAP file that is whole up to its last chunk at every moment.

The promise: a chunk and its index go to the system in one piece, one after another, and a
write that fails is taken back before the error is raised, so the file ends with a whole chunk
wherever the program, the disk or the machine stopped. The bytes depend on what was written
and nothing else: no clock, no host, no thread timing.

Why not the writer of the `mcap` package: it builds every message in Python, which holds the
interpreter while the simulation wants to run, and it leaves half a chunk behind when the disk
is full. See docs/decisions for the figures.

One thread at a time may use a writer.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mainspring import _kernel
from mainspring._version import __version__
from mainspring.capture import _mcap_records as records
from mainspring.capture._errors import RecordingError
from mainspring.errors import MissingExtraError

__all__ = ["Compression", "McapWriter", "compressor"]

Compression = Literal["zstd", "lz4", "none"]

_NEVER_NS = 2**62
# A chunk's channels as the kernel tells of them, and as its index names them. They are worked on
# as arrays: a loop over a hundred of them would keep the interpreter from the simulation.
_CHANNEL = np.dtype([("channel", "<u2"), ("offset", "<u8"), ("messages", "<u8")])
_OFFSET = np.dtype([("channel", "<u2"), ("offset", "<u8")])


class McapWriter:
    """Writes schemas, channels and messages into one MCAP file.

    A chunk ends at `chunk_bytes` (uncompressed) or when it spans `chunk_span_ns` of log time.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        compression: Compression = "zstd",
        chunk_bytes: int = 4 << 20,
        chunk_span_ns: int = _NEVER_NS,
        overwrite: bool = False,
        profile: str = "",
        durable: bool = True,
    ) -> None:
        self.path = Path(path)
        self._compression: str = "" if compression == "none" else compression
        self._compress = compressor(compression)
        self._builder = _kernel.capture.ChunkBuilder(chunk_bytes, chunk_span_ns)
        self._durable = durable
        self._schemas: dict[tuple[str, str, bytes], int] = {}
        self._schema_records: list[bytes] = []
        self._channel_records: list[bytes] = []
        self._chunk_indexes: list[bytes] = []
        self._metadata_indexes: list[bytes] = []
        self._counts = np.zeros(1 << 16, np.uint64)
        self._start_ns: int | None = None
        self._end_ns = 0
        self._last_ns: int | None = None
        self._crc = 0
        self._offset = 0
        self._closed = False
        self._failure: RecordingError | None = None
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        flags |= os.O_TRUNC if overwrite else os.O_EXCL
        try:
            self._file = os.open(self.path, flags, 0o666)
        except FileExistsError:
            raise RecordingError(
                f"{self.path} exists already",
                hint="choose another name, or say overwrite=True",
            ) from None
        except OSError as error:
            raise RecordingError(f"{self.path} cannot be created: {error.strerror}") from error
        try:
            self._write(records.MAGIC + records.header(profile, f"mainspring {__version__}"))
        except BaseException:
            os.close(self._file)
            self._closed = True
            raise

    @property
    def durable_ns(self) -> int | None:
        """The log time up to which the file is whole; None before the first chunk."""
        return self._last_ns

    @property
    def size(self) -> int:
        """Bytes in the file so far."""
        return self._offset

    def schema(self, name: str, encoding: str, data: bytes) -> int:
        """Declare a schema, once for equal ones. An empty encoding means none, which is 0."""
        if not name and not encoding and not data:
            return 0
        key = (name, encoding, data)
        if key not in self._schemas:
            number = self._schemas[key] = len(self._schemas) + 1
            record = records.schema(number, name, encoding, data)
            self._schema_records.append(record)
            self._builder.add_record(record)
        return self._schemas[key]

    def channel(
        self,
        topic: str,
        *,
        schema_id: int = 0,
        message_encoding: str = "json",
        metadata: Mapping[str, str] | None = None,
        program: Sequence[tuple[Any, ...]] = (),
    ) -> int:
        """Declare a channel; `program` says how rows of a tape become its messages."""
        number = len(self._channel_records) + 1
        if number > 0xFFFF:
            raise RecordingError("an MCAP file holds at most 65535 channels")
        record = records.channel(number, schema_id, topic, message_encoding, metadata or {})
        self._channel_records.append(record)
        self._builder.add_channel(number, program)
        self._builder.add_record(record)
        return number

    def group(self, channels: Sequence[int]) -> int:
        """Declare the channels of one row of a tape."""
        return self._builder.add_group(list(channels))

    def write_tape(self, tape: bytes) -> None:
        """Encode and write what a sampler put on its tape."""
        at = self._builder.encode(tape)
        while at < len(tape):
            self._end_chunk()
            at = self._builder.encode(tape, at)

    def message(self, channel: int, time_ns: int, data: bytes | memoryview) -> None:
        """Write one encoded message under the channel's next sequence number."""
        if self._builder.full(time_ns):
            self._end_chunk()
        self._builder.add_message(channel, time_ns, data)

    def metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Write a metadata record: names and texts about the file as a whole."""
        self.flush()
        record = records.metadata(name, values)
        self._metadata_indexes.append(records.metadata_index(self._offset, len(record), name))
        self._write(record)

    def flush(self) -> None:
        """End the chunk here and hand it to the system."""
        if self._builder.size:
            self._end_chunk()

    def close(self) -> None:
        """Write what is left and the summary. A second call does nothing."""
        if self._closed:
            return
        try:
            self.flush()
            self._finish()
            if self._durable:
                self._system(lambda: os.fsync(self._file))
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file as it is, whole up to its last chunk and without a summary."""
        if not self._closed:
            self._closed = True
            os.close(self._file)

    def __enter__(self) -> McapWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def _end_chunk(self) -> None:
        data, index, described, start_ns, end_ns = self._builder.take()
        packed = self._compress(data)
        head = records.chunk_head(
            start_ns, end_ns, len(data), zlib.crc32(data), self._compression, len(packed)
        )
        chunk_length = len(head) + len(packed)
        channels = np.frombuffer(described, _CHANNEL)
        offsets = np.empty(len(channels), _OFFSET)
        offsets["channel"] = channels["channel"]
        offsets["offset"] = channels["offset"] + np.uint64(self._offset + chunk_length)
        chunk_index = records.chunk_index(
            start_ns=start_ns,
            end_ns=end_ns,
            chunk_start=self._offset,
            chunk_length=chunk_length,
            index_offsets=offsets.tobytes(),
            index_length=len(index),
            compression=self._compression,
            compressed_size=len(packed),
            size=len(data),
        )
        self._write(head, packed, index)
        self._chunk_indexes.append(chunk_index)
        if len(channels):
            self._counts[channels["channel"]] += channels["messages"]
            self._start_ns = start_ns if self._start_ns is None else min(self._start_ns, start_ns)
            self._end_ns = max(self._end_ns, end_ns)
            self._last_ns = self._end_ns

    def _finish(self) -> None:
        end = records.data_end(self._crc)
        start = self._offset + len(end)
        seen = np.flatnonzero(self._counts)
        counts = dict(zip(seen.tolist(), self._counts[seen].tolist(), strict=True))
        statistics = records.statistics(
            schemas=len(self._schema_records),
            channels=len(self._channel_records),
            metadata=len(self._metadata_indexes),
            chunks=len(self._chunk_indexes),
            start_ns=self._start_ns or 0,
            end_ns=self._end_ns,
            counts=counts,
        )
        summary, offsets = records.groups(
            [
                (records.SCHEMA, b"".join(self._schema_records)),
                (records.CHANNEL, b"".join(self._channel_records)),
                (records.STATISTICS, statistics),
                (records.CHUNK_INDEX, b"".join(self._chunk_indexes)),
                (records.METADATA_INDEX, b"".join(self._metadata_indexes)),
            ],
            start,
        )
        offsets_start = start + len(summary)
        body = summary + offsets
        crc = zlib.crc32(body + records.footer_prefix(start, offsets_start))
        self._write(end + body + records.footer(start, offsets_start, crc) + records.MAGIC)

    def _write(self, *parts: bytes | memoryview) -> None:
        """Append the parts whole, or leave the file as it was and raise."""
        total = sum(len(part) for part in parts)

        if self._failure is not None:
            raise self._failure  # what follows a chunk that is lost would be behind a gap

        def put() -> None:
            done = os.writev(self._file, parts)
            if done < total:  # a full disk takes what fits; the next write says so
                rest = memoryview(b"".join(parts))[done:]
                while rest:
                    rest = rest[os.write(self._file, rest) :]

        self._system(put)
        for part in parts:
            self._crc = zlib.crc32(part, self._crc)
        self._offset += total

    def _system(self, call: Callable[[], None]) -> None:
        if self._closed:
            raise RecordingError(f"{self.path} is closed")
        try:
            call()
        except OSError as error:
            # A disk that is gone takes no truncation either; what was whole on it still is.
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._offset)
            whole = (
                "holds no message yet"
                if self._last_ns is None
                else f"is whole up to {self._last_ns / 1e9:.9f} s"
            )
            self._failure = RecordingError(
                f"{self.path} cannot be written: {error.strerror}; the file {whole}",
                hint="make room and record again; nothing that is in the file is lost",
            )
            raise self._failure from error


def compressor(name: str) -> Callable[[memoryview], bytes | memoryview]:
    """What packs a chunk; an unknown name, or one whose package is missing, is told at once."""
    if name == "none":
        return lambda data: data
    try:
        if name == "zstd":
            import zstandard

            return zstandard.ZstdCompressor(level=1).compress
        if name == "lz4":
            import lz4.frame

            return lambda data: bytes(lz4.frame.compress(data, store_size=False))
    except ImportError:
        raise MissingExtraError(f"writing MCAP with {name} compression", "capture") from None
    raise RecordingError(f"unknown compression {name!r}", hint="use 'zstd', 'lz4' or 'none'")

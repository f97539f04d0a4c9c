"""The records of an MCAP file from its beginning to its end, or to where it is damaged.

The `mcap` package knows what stands in a record; which record begins where is looked up here,
because its stream reader takes every index apart, which nobody who reads a file through needs,
and ends a cut-off file in one of a dozen exceptions.
"""

from __future__ import annotations

import importlib
import io
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any

from mainspring import _kernel
from mainspring.capture import _mcap_records as kinds
from mainspring.capture._errors import RecordingFormatError
from mainspring.errors import MissingExtraError

__all__ = ["Damage", "mcap_module", "read_chunks", "read_metadata"]

_HEAD = struct.Struct("<BQ")
_LOOSE_BYTES = 1 << 20
_CONTENT = frozenset((kinds.SCHEMA, kinds.CHANNEL, kinds.MESSAGE, kinds.CHUNK))


class Damage(Exception):
    """The file is whole up to here; says what is wrong after that."""


def mcap_module(name: str) -> Any:
    """A module of the `mcap` package, or the install command."""
    try:
        return importlib.import_module(f"mcap.{name}")
    except ImportError:
        raise MissingExtraError("reading MCAP files", "capture") from None


def read_chunks(file: IO[bytes], size: int) -> Iterator[tuple[list[Any], bytes]]:
    """For every whole chunk the schemas and channels it declares, and its records.

    Raises `Damage` where the file stops being whole. Messages of a file that has no chunks
    come as if they were chunks.
    """
    parsers = mcap_module("records")
    file.seek(len(kinds.MAGIC))
    loose: list[bytes] = []
    loose_bytes = 0
    while True:
        at = file.tell()
        try:
            opcode, content = _next_record(file, at, size, _CONTENT)
            if opcode == kinds.FOOTER:
                break
            if opcode in (kinds.SCHEMA, kinds.CHANNEL):
                yield [_declaration(opcode, content)], b""
            elif opcode == kinds.MESSAGE:
                loose.append(_HEAD.pack(opcode, len(content)) + content)
                loose_bytes += len(content)
            elif opcode == kinds.CHUNK:
                data = _inflate(parsers.Chunk.read(_stream(content)), at)
                yield _declarations(data), data
        except Damage:
            if loose:
                yield [], b"".join(loose)
            raise
        except MissingExtraError:
            raise
        except Exception as error:  # a record whose content is not what it should be
            raise Damage(f"the record at byte {at} cannot be read: {error}") from error
        if loose_bytes > _LOOSE_BYTES:
            yield [], b"".join(loose)
            loose, loose_bytes = [], 0
    if loose:
        yield [], b"".join(loose)


def read_metadata(file: IO[bytes], size: int) -> dict[str, dict[str, str]]:
    """What the file says about itself, by name, as far as it is whole; chunks are passed over."""
    parsers = mcap_module("records")
    file.seek(len(kinds.MAGIC))
    found: dict[str, dict[str, str]] = {}
    try:
        while True:
            opcode, content = _next_record(file, file.tell(), size, frozenset((kinds.METADATA,)))
            if opcode == kinds.FOOTER:
                return found
            if opcode == kinds.METADATA:
                record = parsers.Metadata.read(_stream(content))
                found[record.name] = dict(record.metadata)
    except Damage:
        return found
    except Exception as error:
        raise RecordingFormatError(
            f"{file.name} has metadata that cannot be read: {error}"
        ) from error


def _next_record(file: IO[bytes], at: int, size: int, wanted: frozenset[int]) -> tuple[int, bytes]:
    """Its kind and its content; the content is empty where the kind is not wanted."""
    head = file.read(_HEAD.size)
    if not head:
        raise Damage(f"the file ends after {at} bytes, without a footer")
    if len(head) < _HEAD.size:
        raise Damage(f"the file ends inside the record at byte {at}")
    opcode, length = _HEAD.unpack(head)
    end = at + _HEAD.size + length
    if end > size:
        raise Damage(f"the file ends inside the record at byte {at}")
    if opcode in wanted:
        return opcode, file.read(length)
    file.seek(end)
    if opcode == kinds.FOOTER and file.read(len(kinds.MAGIC)) != kinds.MAGIC:
        raise Damage(f"the file ends inside its footer, at byte {at}")
    return opcode, b""


def _inflate(chunk: Any, at: int) -> bytes:
    stream, _ = mcap_module("stream_reader").get_chunk_data_stream(chunk)
    data: bytes = stream.read(chunk.uncompressed_size)
    if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise Damage(f"the chunk at byte {at} has another checksum than its content")
    return data


def _declarations(data: bytes) -> list[Any]:
    found = []
    for at in _kernel.capture.find_declarations(data):
        opcode, length = _HEAD.unpack_from(data, at)
        found.append(_declaration(opcode, data[at + _HEAD.size : at + _HEAD.size + length]))
    return found


def _declaration(opcode: int, content: bytes) -> Any:
    parsers = mcap_module("records")
    kind = parsers.Schema if opcode == kinds.SCHEMA else parsers.Channel
    return kind.read(_stream(content))


def _stream(content: bytes) -> Any:
    return mcap_module("data_stream").ReadDataStream(io.BytesIO(content))

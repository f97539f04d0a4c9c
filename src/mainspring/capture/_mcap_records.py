"""The records of an MCAP file as bytes, after the specification at https://mcap.dev/spec.

Writing only: files are read with the `mcap` package, except where it stops at damage.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

__all__ = [
    "MAGIC",
    "channel",
    "chunk_head",
    "chunk_index",
    "data_end",
    "footer",
    "header",
    "metadata",
    "metadata_index",
    "schema",
    "statistics",
    "summary_offset",
]

MAGIC = b"\x89MCAP0\r\n"

HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
STATISTICS, METADATA, METADATA_INDEX, SUMMARY_OFFSET, DATA_END = range(0x0B, 0x10)


def _record(opcode: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack("<BQ", opcode, len(body)) + body


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def _texts(values: Mapping[str, str]) -> bytes:
    data = b"".join(_text(key) + _text(item) for key, item in values.items())
    return struct.pack("<I", len(data)) + data


def header(profile: str, library: str) -> bytes:
    return _record(HEADER, _text(profile), _text(library))


def schema(id: int, name: str, encoding: str, data: bytes) -> bytes:
    return _record(
        SCHEMA,
        struct.pack("<H", id),
        _text(name),
        _text(encoding),
        struct.pack("<I", len(data)),
        data,
    )


def channel(
    id: int, schema_id: int, topic: str, message_encoding: str, metadata: Mapping[str, str]
) -> bytes:
    return _record(
        CHANNEL,
        struct.pack("<HH", id, schema_id),
        _text(topic),
        _text(message_encoding),
        _texts(metadata),
    )


def chunk_head(
    start_ns: int, end_ns: int, size: int, crc: int, compression: str, packed_size: int
) -> bytes:
    """A chunk record up to its data, so that the data need not be copied to stand behind it."""
    head = struct.pack("<QQQI", start_ns, end_ns, size, crc) + _text(compression)
    head += struct.pack("<Q", packed_size)
    return struct.pack("<BQ", CHUNK, len(head) + packed_size) + head


def chunk_index(
    *,
    start_ns: int,
    end_ns: int,
    chunk_start: int,
    chunk_length: int,
    index_offsets: bytes,
    index_length: int,
    compression: str,
    compressed_size: int,
    size: int,
) -> bytes:
    """`index_offsets` are packed pairs: the channel's number (u16), where its index begins (u64)."""
    return _record(
        CHUNK_INDEX,
        struct.pack("<QQQQI", start_ns, end_ns, chunk_start, chunk_length, len(index_offsets)),
        index_offsets,
        struct.pack("<Q", index_length),
        _text(compression),
        struct.pack("<QQ", compressed_size, size),
    )


def metadata(name: str, values: Mapping[str, str]) -> bytes:
    return _record(METADATA, _text(name), _texts(values))


def metadata_index(offset: int, length: int, name: str) -> bytes:
    return _record(METADATA_INDEX, struct.pack("<QQ", offset, length), _text(name))


def statistics(
    *,
    schemas: int,
    channels: int,
    metadata: int,
    chunks: int,
    start_ns: int,
    end_ns: int,
    counts: Mapping[int, int],
) -> bytes:
    pairs = b"".join(struct.pack("<HQ", *item) for item in counts.items())
    return _record(
        STATISTICS,
        struct.pack(
            "<QHIIIIQQI",
            sum(counts.values()),
            schemas,
            channels,
            0,  # attachments
            metadata,
            chunks,
            start_ns,
            end_ns,
            len(pairs),
        ),
        pairs,
    )


def summary_offset(opcode: int, start: int, length: int) -> bytes:
    return _record(SUMMARY_OFFSET, struct.pack("<BQQ", opcode, start, length))


def data_end(crc: int) -> bytes:
    return _record(DATA_END, struct.pack("<I", crc))


def footer(summary_start: int, offsets_start: int, crc: int) -> bytes:
    return _record(FOOTER, struct.pack("<QQI", summary_start, offsets_start, crc))


def footer_prefix(summary_start: int, offsets_start: int) -> bytes:
    """What of the footer its own checksum covers."""
    return struct.pack("<BQQQ", FOOTER, 20, summary_start, offsets_start)


def groups(pairs: Sequence[tuple[int, bytes]], start: int) -> tuple[bytes, bytes]:
    """The summary's records, and the offsets to each kind of them; `start` is where they begin."""
    records, offsets, at = [], [], start
    for opcode, data in pairs:
        if data:
            records.append(data)
            offsets.append(summary_offset(opcode, at, len(data)))
            at += len(data)
    return b"".join(records), b"".join(offsets)

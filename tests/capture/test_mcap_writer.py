"""The MCAP writer against the `mcap` package, the disk and the knife."""

from __future__ import annotations

import io
import json
import os
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.exceptions import EndOfFile, McapError
from mcap.reader import make_reader
from mcap.records import Message
from mcap.stream_reader import StreamReader

from mainspring.capture import (
    ChannelError,
    McapWriter,
    Recording,
    RecordingError,
    RecordingFormatError,
)
from mainspring.capture._mcap_writer import Compression


def write_small(
    path: Path, compression: Compression = "zstd", count: int = 40, chunk_bytes: int = 300
) -> bytes:
    with McapWriter(path, compression=compression, chunk_bytes=chunk_bytes) as writer:
        schema = writer.schema("test.Value", "jsonschema", b'{"type":"object"}')
        one = writer.channel("/one", schema_id=schema, metadata={"unit": "m"})
        two = writer.channel("/two", schema_id=schema)
        for i in range(count):
            writer.message(one, i * 1000, b'{"value":%d}' % i)
            if i % 3 == 0:
                writer.message(two, i * 1000, b'{"value":-%d}' % i)
        writer.metadata("about", {"run": "small"})
    return path.read_bytes()


@pytest.mark.parametrize("compression", ["zstd", "lz4", "none"])
def test_mcap_reads_what_was_written(tmp_path: Path, compression: Compression) -> None:
    """Messages, sequences, statistics, indexes and metadata come back through `mcap`."""
    path = tmp_path / "small.mcap"
    write_small(path, compression)
    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        assert summary.statistics.message_count == 54
        assert summary.statistics.channel_message_counts == {1: 40, 2: 14}
        assert summary.statistics.message_end_time == 39_000
        assert len(summary.chunk_indexes) == summary.statistics.chunk_count > 3
        assert {c.topic: c.metadata for c in summary.channels.values()} == {
            "/one": {"unit": "m"},
            "/two": {},
        }
        found = [(c.topic, m.sequence, m.log_time, m.data) for _, c, m in reader.iter_messages()]
        assert [item for item in found if item[0] == "/one"] == [
            ("/one", i, i * 1000, b'{"value":%d}' % i) for i in range(40)
        ]
        # The index leads to the right chunks: a window of time through it is exact.
        window = list(reader.iter_messages(topics=["/two"], starting_at=9000, ending_before=21_000))
        assert [m.log_time for _, _, m in window] == [9000, 12_000, 15_000, 18_000]
        assert [m.metadata for m in reader.iter_metadata()] == [{"run": "small"}]


def test_the_same_messages_give_the_same_bytes(tmp_path: Path) -> None:
    """No clock, no host, no address is in a file."""
    assert write_small(tmp_path / "a.mcap") == write_small(tmp_path / "b.mcap")


def messages_by_mcap(data: bytes) -> list[tuple[int, int]]:
    """What `mcap`, reading as a stream, gives out before it stops at the damage."""
    found = []
    try:
        for record in StreamReader(io.BytesIO(data), record_size_limit=max(len(data), 1)).records:
            if isinstance(record, Message):
                found.append((record.channel_id, record.log_time))  # noqa: PERF401 - it may raise
    except Exception:
        return found
    return found


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_file_cut_at_any_byte_opens_up_to_its_last_chunk(
    tmp_path: Path, compression: Compression
) -> None:
    """Every prefix opens; it holds exactly the messages of the chunks that are whole in it."""
    whole = write_small(tmp_path / "whole.mcap", compression, count=9, chunk_bytes=200)
    with open(tmp_path / "whole.mcap", "rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    everything = messages_by_mcap(whole)
    ends, counts = [], []
    with Recording(tmp_path / "whole.mcap") as recording:
        for index, batches in zip(summary.chunk_indexes, recording.batches(), strict=True):
            ends.append(index.chunk_start_offset + index.chunk_length)
            counts.append(sum(len(batch.messages) for batch in batches))
    cut_path = tmp_path / "cut.mcap"
    cut_path.write_bytes(whole)
    for cut in reversed(range(len(whole))):
        os.truncate(cut_path, cut)
        expected = sum(n for n, end in zip(counts, ends, strict=True) if end <= cut)
        with Recording(cut_path) as recording:
            found = [
                (batch.channel.id, t)
                for batches in recording.batches()
                for batch in batches
                for t in batch.times_ns.tolist()
            ]
            assert len(found) == expected, cut
            assert recording.truncated is not None
            assert [c.topic for c in recording.channels] == (["/one", "/two"] if found else [])
        if compression == "zstd":  # without a checksum of its own mcap may take half a chunk
            assert messages_by_mcap(whole[:cut]) == everything[:expected], cut


def test_damage_inside_is_found(tmp_path: Path) -> None:
    """A flipped byte in a chunk ends the reading there, with the reason."""
    path = tmp_path / "small.mcap"
    data = bytearray(write_small(path, "none"))
    data[len(data) // 3] ^= 0x40
    path.write_bytes(data)
    with Recording(path) as recording:
        count = sum(len(b.messages) for batches in recording.batches() for b in batches)
        assert count < 54
        assert "has another checksum than its content" in (recording.truncated or "")


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.mcap"
    path.write_text("this is not a recording")
    with pytest.raises(RecordingFormatError, match="not an MCAP file"):
        Recording(path)


def test_an_empty_recording_is_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.mcap"
    McapWriter(path).close()
    with open(path, "rb") as file:
        assert list(make_reader(file).iter_messages()) == []
    with Recording(path) as recording:
        assert list(recording.batches()) == []
        assert recording.truncated is None


def test_a_recording_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    before = write_small(path)
    with pytest.raises(RecordingError, match="exists already"):
        McapWriter(path)
    assert path.read_bytes() == before
    McapWriter(path, overwrite=True).close()
    assert path.read_bytes() != before


def test_a_full_disk_is_an_error_and_leaves_whole_chunks(tmp_path: Path) -> None:
    """The write that fails is taken back; what the message says is in the file is in it."""
    path = tmp_path / "full.mcap"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = McapWriter(path, compression="none", chunk_bytes=400)
    channel = writer.channel("/one")
    written = 0

    def fill() -> None:
        nonlocal written
        while written < 1000:
            writer.message(channel, written, b'{"value":%d}' % written)
            written += 1

    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(RecordingError, match=r"full\.mcap cannot be written: .* whole up to"):
            fill()
        durable = writer.durable_ns
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    # There is room again, but what came next would stand behind a gap.
    with pytest.raises(RecordingError, match="whole up to"):
        fill()
    with pytest.raises(RecordingError, match="whole up to"):
        writer.close()
    assert durable is not None
    assert 0 < durable < written
    with Recording(path) as recording:
        times = recording.read("/one").times_ns
        assert times.tolist() == list(range(durable + 1))
        assert "without a footer" in (recording.truncated or "")
    with open(path, "rb") as file, pytest.raises((EndOfFile, McapError)):
        list(StreamReader(file).records)


def test_a_disk_that_is_gone_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes neither the chunk nor the truncation after it."""

    def gone(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    writer = McapWriter(tmp_path / "run.mcap")
    writer.message(writer.channel("/one"), 0, b"{}")
    for name in ("writev", "ftruncate"):
        monkeypatch.setattr(f"mainspring.capture._mcap_writer.os.{name}", gone)
    with pytest.raises(RecordingError, match="Input/output error; the file holds no message yet"):
        writer.close()


def test_fields_come_back_as_what_they_are(tmp_path: Path) -> None:
    """Texts stay texts, integers integers of any size, and a field that is not there is None."""
    messages: list[Any] = [
        {"text": "007", "big": 2**64 - 1, "huge": 10**30, "mixed": 1, "list": [1, 2**63 - 1]},
        {"text": "NaN", "big": 0, "huge": 1, "mixed": "NaN", "list": [3, 4], "late": 5},
        {"text": "1.5", "big": 1, "huge": 2, "mixed": 2.5, "list": [5, 6], "none": None},
    ]
    with McapWriter(path := tmp_path / "run.mcap") as writer:
        channel = writer.channel("/x")
        for k, message in enumerate(messages):
            writer.message(channel, k, json.dumps(message).encode())
    with Recording(path) as recording:
        series = recording.read("/x")
    assert series["text"].tolist() == ["007", "NaN", "1.5"]
    assert (series["big"].dtype, series["big"].tolist()) == (np.uint64, [2**64 - 1, 0, 1])
    assert series["huge"].tolist() == [10**30, 1, 2]
    assert series["mixed"].dtype == np.float64
    assert series["list"].dtype == np.int64
    assert series["list"][0].tolist() == [1, 2**63 - 1]
    assert series["late"].tolist() == [None, 5, None]
    with pytest.raises(ChannelError, match="no field 'latte'") as caught:
        series["latte"]
    assert "'late'" in (caught.value.hint or "")


def test_channels_of_one_name_are_read_in_the_order_of_time(tmp_path: Path) -> None:
    with McapWriter(path := tmp_path / "run.mcap") as writer:
        one, other = writer.channel("/x"), writer.channel("/x", metadata={"by": "another"})
        for k in range(6):
            writer.message(other if k % 2 else one, k, b"%d" % k)
    with Recording(path) as recording:
        assert recording.read("/x").values == list(range(6))
        assert [time_ns for _, time_ns, _ in recording.messages()] == list(range(6))


def test_messages_that_are_no_json_name_their_channel(tmp_path: Path) -> None:
    with McapWriter(path := tmp_path / "run.mcap") as writer:
        writer.message(writer.channel("/x"), 0, b"{oops")
    with Recording(path) as recording:
        for read in (lambda: recording.read("/x"), lambda: list(recording.messages())):
            with pytest.raises(RecordingFormatError, match="'/x' says its messages are JSON"):
                read()


def test_one_thread_may_hold_a_writer_closed(tmp_path: Path) -> None:
    writer = McapWriter(tmp_path / "run.mcap")
    channel = writer.channel("/one")
    writer.close()
    writer.close()
    writer.message(channel, 0, b"{}")
    with pytest.raises(RecordingError, match="is closed"):
        writer.flush()

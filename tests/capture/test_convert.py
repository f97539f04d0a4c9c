"""Conversions there and back, compared value by value, and read by the field's own readers."""

from __future__ import annotations

import csv
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from capture_helpers import read_with_mcap, record_demo
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mainspring.capture import (
    CaptureError,
    ChannelError,
    McapWriter,
    Recording,
    RecordingFormatError,
    convert,
)
from mainspring.capture._table import column_name, parse_column


def messages(path: Path) -> list[tuple[str, int, str]]:
    """Every message as text, in a total order; 1 and 1.0 and "1" differ."""
    found = [(t, n, json.dumps(v, sort_keys=True)) for t, n, v in read_with_mcap(path)]
    return sorted(found, key=lambda m: (m[1], m[0]))


@pytest.mark.parametrize("target", ["table.parquet", "folder", "table.csv", "csv_folder"])
def test_a_recording_comes_back_from_tables(tmp_path: Path, target: str) -> None:
    """Arrays, numbers, records and frames, through one table and through a table for each."""
    record_demo(tmp_path / "run.mcap")
    told: list[tuple[int, int]] = []
    report = convert(
        tmp_path / "run.mcap",
        tmp_path / target,
        to="csv" if "csv" in target else None,
        progress=lambda done, total: told.append((done, total)),
    )
    assert report.messages == 2120
    assert report.truncated is None
    assert len(report.files) == (1 if "table" in target else 4)
    assert told == sorted(told)
    assert told[-1][0] <= told[-1][1]
    convert(tmp_path / target, tmp_path / "again.mcap")
    assert messages(tmp_path / "again.mcap") == messages(tmp_path / "run.mcap")


def test_parquet_keeps_schemas_and_metadata(tmp_path: Path) -> None:
    record_demo(tmp_path / "run.mcap")
    convert(tmp_path / "run.mcap", tmp_path / "run.parquet")
    convert(tmp_path / "run.parquet", tmp_path / "again.mcap")
    with Recording(tmp_path / "run.mcap") as one, Recording(tmp_path / "again.mcap") as other:
        assert {c.topic: (c.schema_name, c.schema_data, c.metadata) for c in one.channels} == {
            c.topic: (c.schema_name, c.schema_data, c.metadata) for c in other.channels
        }


def test_the_field_reads_the_tables(tmp_path: Path) -> None:
    """pyarrow and the csv module see a row for each moment and plain typed columns."""
    record_demo(tmp_path / "run.mcap")
    convert(tmp_path / "run.mcap", tmp_path / "run.parquet")
    convert(tmp_path / "run.mcap", tmp_path / "run.csv", channels=["/noise", "/info"])
    table = parquet.read_table(tmp_path / "run.parquet")
    assert table.num_rows == 1000 + 60 - 20  # Robot and Capture share a moment ten times a second
    assert str(table.schema.field("/array.value").type) == "fixed_size_list<element: double>[40]"
    times = table["time_ns"].to_numpy()
    assert (np.diff(times) > 0).all()
    with Recording(tmp_path / "run.mcap") as recording:
        series = recording.read("/array")
        rows = table.filter(table["/array.value"].is_valid())
        assert rows["time_ns"].to_pylist() == series.times_ns.tolist()
        assert rows["/array.value"].to_pylist() == [v["value"] for v in series.values]
        noise = recording.read("/noise")
    with open(tmp_path / "run.csv", newline="", encoding="utf-8") as file:
        rows_csv = list(csv.DictReader(file))
    assert list(rows_csv[0]) == ["time_ns", "/noise.value", "/info.x", "/info.set"]
    assert [float(row["/noise.value"]) for row in rows_csv if row["/noise.value"]] == (
        noise["value"].tolist()
    )


FLOATS = st.floats(allow_nan=True, allow_infinity=True)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), FLOATS, st.text(max_size=8), st.none()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
UNIFORM = st.one_of(
    st.lists(FLOATS, max_size=6),
    st.lists(st.integers(-(2**53), 2**53), max_size=6),
    st.lists(st.booleans(), max_size=6),
    st.lists(st.text(max_size=8), max_size=6),
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(FLOATS, min_size=n, max_size=n), max_size=5)
    ),
    st.lists(st.fixed_dictionaries({"a": FLOATS, "b": st.fixed_dictionaries({"c": st.text()})})),
    st.lists(VALUES, max_size=6),
)
TOPICS = st.one_of(
    st.sampled_from(["/a", "/arm/q", "plain", "/with.dot", 'quo"te', "/sp ace", "/ix[0]"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    channels=st.dictionaries(TOPICS, UNIFORM, min_size=1, max_size=3),
    step=st.integers(1, 10**9),
    target=st.sampled_from(["t.parquet", "folder"]),
)
def test_anything_comes_back_from_parquet(
    tmp_path: Path, channels: dict[str, list[Any]], step: int, target: str
) -> None:
    """Whatever JSON a channel holds, uniform or wild, under whatever name."""
    from mainspring.capture._layout import json_layout

    assume(any(channels.values()))
    shutil.rmtree(tmp_path / "folder", ignore_errors=True)
    with McapWriter(tmp_path / "in.mcap", overwrite=True, durable=False, chunk_bytes=200) as writer:
        for topic, values in channels.items():
            if not values:
                continue
            layout = json_layout(values[0])
            channel = writer.channel(
                topic, schema_id=writer.schema("x", "jsonschema", layout.schema("x"))
            )
            for k, value in enumerate(values):
                assert layout.adapt is not None
                data = layout.adapt(value) if type(value) is type(values[0]) else b'{"other":1}'
                writer.message(channel, k * step, data)
    convert(tmp_path / "in.mcap", tmp_path / target, overwrite=True)
    convert(tmp_path / target, tmp_path / "out.mcap", overwrite=True)
    first, second = messages(tmp_path / "in.mcap"), messages(tmp_path / "out.mcap")
    assert [loose(m) for m in second] == [loose(m) for m in first]


def loose(message: tuple[str, int, str]) -> tuple[str, int, Any]:
    """Where a column holds both ints and floats all become floats: equal, not identical."""
    return (message[0], message[1], json.loads(message[2]))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    values=st.one_of(
        st.lists(FLOATS, min_size=1, max_size=5),
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5),
        st.lists(st.booleans(), min_size=1, max_size=5),
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=5
        ),
    )
)
def test_scalars_come_back_from_csv(tmp_path: Path, values: list[Any]) -> None:
    """Every float, every integer and every text, the awkward ones first."""
    from mainspring.capture._layout import json_layout

    layout = json_layout(values[0])
    with McapWriter(tmp_path / "in.mcap", overwrite=True, durable=False) as writer:
        schema = writer.schema("x", "jsonschema", layout.schema("x"))
        channel = writer.channel("/x", schema_id=schema)
        for k, value in enumerate(values):
            assert layout.adapt is not None
            writer.message(channel, k, layout.adapt(value))
    convert(tmp_path / "in.mcap", tmp_path / "t.csv", overwrite=True)
    convert(tmp_path / "t.csv", tmp_path / "out.mcap", overwrite=True)
    assert messages(tmp_path / "out.mcap") == messages(tmp_path / "in.mcap")


@given(topic=st.text(min_size=1), path=st.sampled_from(["", "value", "a.b", "value[3]"]))
def test_column_names_say_topic_and_path(topic: str, path: str) -> None:
    assert parse_column(column_name(topic, path)) == (topic, path)


def test_numbers_that_turn_into_floats_keep_their_values(tmp_path: Path) -> None:
    """Integers first, then a fraction: one float column; a huge integer: text, not rounded."""
    for name, later, dtype in (
        ("a", 0.5, "double"),
        ("b", 2**60 + 1, "int64"),
        ("c", None, "string"),
    ):
        path = tmp_path / f"{name}.mcap"
        with McapWriter(path) as writer:
            schema = b'{"type":"object","properties":{"value":{"type":"number"}}}'
            channel = writer.channel("/n", schema_id=writer.schema("n", "jsonschema", schema))
            writer.message(channel, 0, b'{"value":1}')
            writer.message(channel, 1, json.dumps({"value": later}).encode())
            if name == "c":
                writer.message(channel, 2, b'{"value":%d}' % (2**60 + 1))
                writer.message(channel, 3, b'{"value":0.5}')
        convert(path, tmp_path / f"{name}.parquet")
        column = parquet.read_table(tmp_path / f"{name}.parquet").schema.field(1)
        assert str(column.type) == dtype
        convert(tmp_path / f"{name}.parquet", tmp_path / f"{name}2.mcap")
        first, second = read_with_mcap(path), read_with_mcap(tmp_path / f"{name}2.mcap")
        assert [v for _, _, v in second] == [v for _, _, v in first]


def test_other_encodings_stay_as_they_are(tmp_path: Path) -> None:
    """A channel that is not JSON goes through Parquet byte for byte."""
    with McapWriter(tmp_path / "in.mcap") as writer:
        channel = writer.channel(
            "/ros",
            schema_id=writer.schema("pkg/Msg", "ros2msg", b"float64 x"),
            message_encoding="cdr",
        )
        writer.message(channel, 5, b"\x00\x01\x00\x00" + bytes(range(256)))
    convert(tmp_path / "in.mcap", tmp_path / "t.parquet")
    convert(tmp_path / "t.parquet", tmp_path / "out.mcap")
    with Recording(tmp_path / "out.mcap") as recording:
        series = recording.read("/ros")
        assert series.values == [b"\x00\x01\x00\x00" + bytes(range(256))]
        assert series.channel.message_encoding == "cdr"
        assert series.channel.schema_data == b"float64 x"


def test_tables_of_others_become_recordings(tmp_path: Path) -> None:
    """A CSV and a Parquet file without our metadata: columns by name, time in ns or seconds."""
    import pyarrow as pa

    (tmp_path / "log.csv").write_text(
        'time_ns,x,/arm/q.value[0],/arm/q.value[1],note\n0,1,2.5,NaN,"a, b"\n10,,3.5,4.5,\n'
    )
    convert(tmp_path / "log.csv", tmp_path / "log.mcap")
    assert messages(tmp_path / "log.mcap") == [
        ("/arm/q", 0, '{"value": [2.5, "NaN"]}'),
        ("/log", 0, '{"note": "a, b", "x": 1}'),
        ("/arm/q", 10, '{"value": [3.5, 4.5]}'),
    ]
    table = pa.table({"t": [0.0, 0.1], "speed": [1.5, math.nan]})
    parquet.write_table(table, tmp_path / "other.parquet")
    convert(tmp_path / "other.parquet", tmp_path / "other.mcap")
    with Recording(tmp_path / "other.mcap") as recording:
        series = recording.read("/other")
        assert series.times_ns.tolist() == [0, 100_000_000]
        assert series.values[0] == {"speed": 1.5}


def test_a_cut_off_recording_is_converted_as_far_as_it_goes(tmp_path: Path) -> None:
    record_demo(tmp_path / "run.mcap")
    whole = (tmp_path / "run.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(whole[: len(whole) // 2])
    report = convert(tmp_path / "cut.mcap", tmp_path / "cut.parquet")
    assert report.truncated
    assert 0 < report.messages < 2120
    assert parquet.read_table(tmp_path / "cut.parquet").num_rows > 0


def test_mistakes_are_told_and_leave_nothing_behind(tmp_path: Path) -> None:
    record_demo(tmp_path / "run.mcap")
    with pytest.raises(CaptureError, match="nothing to convert from mcap to mcap"):
        convert(tmp_path / "run.mcap", tmp_path / "other.mcap")
    with pytest.raises(CaptureError, match="does not exist"):
        convert(tmp_path / "none.mcap", tmp_path / "x.csv")
    with pytest.raises(ChannelError, match="no channel '/aray'"):
        convert(tmp_path / "run.mcap", tmp_path / "x.csv", channels=["/aray"])
    (tmp_path / "bad.csv").write_text("time_ns,x\n0,1\n1\n")
    with pytest.raises(CaptureError, match=r"bad\.csv line 3: 1 cells where the header has 2"):
        convert(tmp_path / "bad.csv", tmp_path / "bad.mcap")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(CaptureError, match="not a whole Parquet file"):
        convert(tmp_path / "bad.parquet", tmp_path / "bad.mcap")
    convert(tmp_path / "run.mcap", tmp_path / "x.csv")
    with pytest.raises(CaptureError, match="exists already"):
        convert(tmp_path / "run.mcap", tmp_path / "x.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bad.csv", "bad.parquet", "run.mcap", "x.csv",
    ]  # fmt: skip


def csv_messages(tmp_path: Path, text: str) -> list[tuple[str, int, Any]]:
    (tmp_path / "own.csv").write_bytes(text.encode())
    convert(tmp_path / "own.csv", tmp_path / "own.mcap", overwrite=True)
    return read_with_mcap(tmp_path / "own.mcap")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\ufefftime_ns,a\r\n0,1\r\n\r\n5,2", [("/own", 0, {"a": 1}), ("/own", 5, {"a": 2})]),
        ("time,a\n0.5,x\n", [("/own", 500_000_000, {"a": "x"})]),
        ("time_ns,a,b\n0,,2\n1,,\n", [("/own", 0, {"b": 2})]),
        ("time_ns,v[0],v[1],v[2]\n0,1,,3\n", [("/own", 0, {"v": [1, None, 3]})]),
        ("time_ns,imu.gyro.x,imu.ok\n7,1.5,true\n", [("imu", 7, {"gyro": {"x": 1.5}, "ok": True})]),
        ("time_ns,/a.n\n0,null\n", [("/a", 0, {"n": None})]),
    ],
)
def test_every_cell_of_a_foreign_table_goes_into_a_message(
    tmp_path: Path, text: str, expected: list[Any]
) -> None:
    assert csv_messages(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("time_ns,a,a\n0,1,2\n", "'a' and 'a' are the same field"),
        ("time_ns,/x.a.b,/x.a\n0,1,2\n", r"'/x\.a\.b' and '/x\.a' are the same"),
        ("time_ns,/x.a,/x.a[0]\n0,1,2\n", r"'/x\.a' and '/x\.a\[0\]' are the same"),
        ("time_ns,a\n99999999999999999999,1\n", "line 2: .* no time that a recording can hold"),
        ("time_ns,a\n-5,1\n", "line 2: -5 is no time"),
        ("time_ns,a\nsoon,1\n", "line 2: 'soon' is no time"),
        ("a\n1\n", "no column of times"),
        ("", "no column of times"),
    ],
)
def test_a_table_that_says_two_things_is_refused(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(RecordingFormatError, match=error):
        csv_messages(tmp_path, text)
    assert not list(tmp_path.glob("*.mcap*"))
    (tmp_path / "latin.csv").write_bytes(b"time_ns,a\n0,\xff\n")
    with pytest.raises(RecordingFormatError, match=r"latin\.csv line .*decode"):
        convert(tmp_path / "latin.csv", tmp_path / "latin.mcap")


@pytest.mark.parametrize(
    ("times", "error"), [([0, None], "None"), (["x", "y"], "'x'"), ([math.nan, 1.0], "nan")]
)
def test_times_of_a_foreign_parquet_are_times(tmp_path: Path, times: list[Any], error: str) -> None:
    import pyarrow

    path = tmp_path / "own.parquet"
    parquet.write_table(pyarrow.table({"time": times, "a": [math.nan, None]}), path)
    with pytest.raises(RecordingFormatError, match=f"column 'time': {error} is no time"):
        convert(path, tmp_path / "own.mcap")
    parquet.write_table(pyarrow.table({"time": [0.0, 1.0], "a": [math.nan, None]}), path)
    convert(path, tmp_path / "own.mcap")
    assert read_with_mcap(tmp_path / "own.mcap") == [("/own", 0, {"a": "NaN"})]


@pytest.mark.parametrize("message", [{"n": None}, {"a": 1, "n": None}, [1, [2]], "text", {}])
@pytest.mark.parametrize("topic", ["plain", "/slash", "with.dot"])
@pytest.mark.parametrize("target", ["t.csv", "t.parquet"])
def test_any_topic_and_shape_comes_back(
    tmp_path: Path, message: Any, topic: str, target: str
) -> None:
    """Also a topic without a slash whose messages are one column, and fields that are null."""
    value = message if isinstance(message, dict) else {"value": message}
    with McapWriter(tmp_path / "in.mcap") as writer:
        writer.message(writer.channel(topic), 5, json.dumps(value).encode())
    convert(tmp_path / "in.mcap", tmp_path / target)
    convert(tmp_path / target, tmp_path / "out.mcap")
    assert read_with_mcap(tmp_path / "out.mcap") == [(topic, 5, value)]


def test_parquet_keeps_what_the_file_says_of_itself(tmp_path: Path) -> None:
    record_demo(tmp_path / "run.mcap")
    for target in ("t.parquet", "folder"):
        convert(tmp_path / "run.mcap", tmp_path / target)
        convert(tmp_path / target, tmp_path / "back.mcap", overwrite=True)
        with Recording(tmp_path / "back.mcap") as recording:
            assert recording.metadata == {"mainspring": {"scene": "scene", "seed": "7"}}
    whole = (tmp_path / "run.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(whole[: len(whole) // 2])
    with Recording(tmp_path / "cut.mcap") as recording:
        assert recording.metadata["mainspring"]["seed"] == "7"


def test_a_folder_never_mixes_two_recordings(tmp_path: Path) -> None:
    """A table that would be read as a channel of what it does not belong to is named."""
    record_demo(tmp_path / "run.mcap")
    convert(tmp_path / "run.mcap", tmp_path / "folder")
    before = {path.name: path.read_bytes() for path in (tmp_path / "folder").iterdir()}
    with pytest.raises(CaptureError, match=r"holds cam\.parquet, which is not of this recording"):
        convert(tmp_path / "run.mcap", tmp_path / "folder", channels=["/array"], overwrite=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "folder").iterdir()} == before
    convert(tmp_path / "run.mcap", tmp_path / "folder", overwrite=True)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_conversion_that_is_broken_off_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Any
) -> None:
    """No table, no part of one, no folder; and what was there before is as it was."""
    record_demo(tmp_path / "run.mcap")
    convert(tmp_path / "run.mcap", tmp_path / "old.parquet")
    convert(tmp_path / "run.mcap", tmp_path / "old")
    before = {p: p.read_bytes() for p in sorted(tmp_path.rglob("*")) if p.is_file()}

    def broken(*_: Any) -> None:
        raise error

    expected = KeyboardInterrupt if error is KeyboardInterrupt else CaptureError
    monkeypatch.setattr("mainspring.capture._convert._write_rows", broken)
    for target in ("deep/er/t.parquet", "deep/er/folder", "t.csv", "old.parquet", "old"):
        with pytest.raises(expected):
            convert(tmp_path / "run.mcap", tmp_path / target, overwrite=True)
    monkeypatch.setattr("mainspring.capture._mcap_writer.McapWriter.message", broken)
    for source in ("old", "old.parquet"):
        with pytest.raises(expected):
            convert(tmp_path / source, tmp_path / "back.mcap")
    assert {p: p.read_bytes() for p in sorted(tmp_path.rglob("*")) if p.is_file()} == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["old", "old.parquet", "run.mcap"]


def test_a_target_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    record_demo(tmp_path / "run.mcap")
    (tmp_path / "file").touch()
    for target in ("file/t.parquet", "file/t.csv", "file/folder"):
        with pytest.raises(CaptureError, match="was not written"):
            convert(tmp_path / "run.mcap", tmp_path / target)


def test_a_wide_table_is_read_in_small_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is held at once depends neither on its rows nor on its columns."""
    from mainspring.capture import _parquet

    channels, rows = 50, 300
    with McapWriter(tmp_path / "in.mcap") as writer:
        ids = [writer.channel(f"/c{i}") for i in range(channels)]
        for k in range(rows):
            for i, id in enumerate(ids):
                writer.message(id, k, b'{"value":%d}' % (k * channels + i))
    convert(tmp_path / "in.mcap", tmp_path / "t.parquet")
    pieces: list[int] = []
    rows_of = _parquet._rows_of

    def counted(batch: Any, plans: Any) -> Any:
        pieces.append(batch.num_rows)
        return rows_of(batch, plans)

    monkeypatch.setattr(_parquet, "_rows_of", counted)
    monkeypatch.setattr(_parquet, "_CELLS", 5000)
    convert(tmp_path / "t.parquet", tmp_path / "out.mcap")
    assert sum(pieces) == rows
    assert max(pieces) * channels <= 5000
    assert messages(tmp_path / "out.mcap") == messages(tmp_path / "in.mcap")

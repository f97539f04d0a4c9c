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

from mainspring.capture import CaptureError, ChannelError, McapWriter, Recording, convert
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

"""Damaged logs: every byte flipped, every length cut. A clear error or a correct result, always.

The log is small and has small pages, so that every position can be tried. What is read is
compared with what was written: an answer that differs without an error is the one failure
that counts.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import log_scenes
import pytest

from mainspring.world import LogError, LogFormatError, LogReader, record, verify
from mainspring.world.log._format import Kind

BUILD = f"{log_scenes.HERE}:empty"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A few records in as few bytes as they fit into."""
    scene = log_scenes.empty()
    scene.inbox.route("x", lambda given: None)
    path = tmp_path_factory.mktemp("small") / "run.world"
    with record(scene, path, hash_every="instant", entry=BUILD, page_size=512):
        scene.inbox.put("x", {"v": 1})
        scene.advance(0.05)
    return path.read_bytes()


def read_all(path: Path) -> object:
    """Everything a log says, or the name of the error it refuses with."""
    try:
        with LogReader(path) as reader:
            records = [(r.number, r.kind, r.first_ns, r.last_ns, r.link) for r in reader.records()]
            groups = list(reader.inputs())
            hashes = [(c.times_ns.tolist(), c.hashes.tobytes()) for c in reader.hashes()]
            snapshot = reader.snapshot_before(2**62)
            body = None if snapshot is None else snapshot.body
            end = reader.last(Kind.END)
            return records, groups, hashes, body, end and reader.content(end), reader.end_ns()
    except LogError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.slow
def test_every_byte_flipped(small: bytes, tmp_path: Path) -> None:
    """One bit of every byte, a different one each time; reading and verifying agree."""
    path = tmp_path / "run.world"
    path.write_bytes(small)
    truth = read_all(path)
    assert not isinstance(truth, str)
    refused = 0
    data = bytearray(small)
    with path.open("r+b", buffering=0) as file:
        for at in range(len(small)):
            file.seek(at)
            file.write(bytes([data[at] ^ (1 << (at * 7 % 8))]))
            found = read_all(path)
            if isinstance(found, str):
                refused += 1
            else:
                assert found == truth, f"byte {at} flipped: another answer and no error"
            if verify(path).ok:
                assert found == truth, f"byte {at} flipped: verified, and yet {found}"
            file.seek(at)
            file.write(data[at : at + 1])
    assert read_all(path) == truth
    assert refused > len(small) // 3


@pytest.mark.slow
def test_every_length_cut(small: bytes, tmp_path: Path) -> None:
    """Cut off at every length: an error, and never another answer."""
    path = tmp_path / "run.world"
    path.write_bytes(small)
    truth = read_all(path)
    for length in reversed(range(len(small))):
        os.truncate(path, length)
        found = read_all(path)
        assert isinstance(found, str) or found == truth, f"cut to {length} bytes: another answer"
        assert length > len(small) - 512 or isinstance(found, str)


def test_verify_names_the_first_bad_record(small: bytes, tmp_path: Path) -> None:
    """A changed value, a lost record, a doubled one, a hidden tail: each by its number."""
    damages = {
        "UPDATE record SET last_ns = last_ns + 1 WHERE number = 2": 2,
        "UPDATE record SET body = zeroblob(4) WHERE number = 1": 1,
        "UPDATE record SET kind = 99 WHERE number = 2": 2,
        "UPDATE record SET digest = 'text' WHERE number = 1": 1,
        "DELETE FROM record WHERE number = 2": 2,
        "DELETE FROM record WHERE number = (SELECT max(number) FROM record)": None,
        "UPDATE head SET link = zeroblob(32)": None,
        "DELETE FROM head": 0,
        "DELETE FROM record": 0,
        "DELETE FROM record WHERE number = 0": 0,
        "UPDATE record SET body = NULL WHERE kind = 2": None,
    }
    for number, (damage, first_bad) in enumerate(damages.items()):
        path = tmp_path / f"{number}.world"
        path.write_bytes(small)
        db = sqlite3.connect(path)
        db.execute(damage)
        db.commit()
        db.close()
        report = verify(path)
        assert not report.ok, damage
        if first_bad is not None:
            assert report.first_bad == first_bad, (damage, report.problems)
        assert str(report)


def test_a_whole_log_verifies(small: bytes, tmp_path: Path) -> None:
    """And says what is in it."""
    path = tmp_path / "run.world"
    path.write_bytes(small)
    report = verify(path)
    assert report.ok, report
    assert (report.inputs, report.hashes, report.end_reason) == (1, 4, "finished")
    assert report.end_ns == 50_000_000


def test_a_damaged_list_of_archives_is_named(small: bytes, tmp_path: Path) -> None:
    """A stretch without a file, which no log has."""
    path = tmp_path / "run.world"
    path.write_bytes(small)
    db = sqlite3.connect(path)
    db.executescript(
        "CREATE TABLE a (first INTEGER PRIMARY KEY, last, link, file);"
        "INSERT INTO a VALUES (7, 8, NULL, NULL); DROP TABLE archive; ALTER TABLE a RENAME TO archive"
    )
    db.close()
    report = verify(path)
    assert not report.ok
    assert "is no archived stretch" in str(report)


def test_what_is_not_there_is_not_damaged(small: bytes, tmp_path: Path) -> None:
    """A wrong path is the caller's mistake; a file of another kind is none that can be read."""
    with pytest.raises(LogFormatError, match="there is no log at"):
        verify(tmp_path / "none.world")
    path = tmp_path / "run.world"
    path.write_bytes(small)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    assert str(verify(path)).splitlines()[0].endswith("run.world: cannot be read")
    path.write_bytes(small.replace(b"finished", b"finishes"))
    assert str(verify(path)).splitlines()[0].endswith("run.world: damaged")

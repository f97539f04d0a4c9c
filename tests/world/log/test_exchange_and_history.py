"""Logs as text and back, what happened as entries, and the commands that show it."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import log_scenes
import pytest
from typer.testing import CliRunner

from mainspring.cli.main import app
from mainspring.world import (
    LogCorruptError,
    LogError,
    LogFormatError,
    LogReader,
    LogWriteError,
    export_log,
    history,
    import_log,
    record,
    replay,
    verify,
)
from mainspring.world.log._format import Kind

BUILD = f"{log_scenes.HERE}:build"


@pytest.fixture
def run_log(tmp_path: Path) -> Path:
    """One second of the walker with a few inputs."""
    scene = log_scenes.build()
    path = tmp_path / "run.world"
    with record(scene, path, hash_every=0.25, entry=BUILD):
        log_scenes.drive(scene, 1)
    return path


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_an_export_imports_as_the_same_log(run_log: Path, tmp_path: Path, name: str) -> None:
    """Record for record, and the text of the copy is the text of the original."""
    count = export_log(run_log, tmp_path / name)
    assert import_log(tmp_path / name, tmp_path / "copy.world") == count
    assert verify(tmp_path / "copy.world").ok
    assert replay(tmp_path / "copy.world").identical
    with LogReader(run_log) as one, LogReader(tmp_path / "copy.world") as other:
        assert list(one.records()) == list(other.records())


def test_a_damaged_text_is_refused_and_leaves_nothing(run_log: Path, tmp_path: Path) -> None:
    """A line lost, a line cut off, a value changed, a record altered: each is an error."""
    text = tmp_path / "run.jsonl"
    export_log(run_log, text)
    lines = text.read_bytes().splitlines(keepends=True)
    altered = json.loads(lines[3])
    altered["last_ns"] += 1
    damages = {
        "lost": lines[:3] + lines[4:],
        "short": lines[:-1],
        "cut": [*lines[:-1], lines[-1][:40]],
        "altered": [*lines[:3], json.dumps(altered).encode() + b"\n", *lines[4:]],
        "empty": [],
        "other": [b'{"a": 1}\n'],
    }
    for name, damaged in damages.items():
        text.write_bytes(b"".join(damaged))
        with pytest.raises((LogCorruptError, LogFormatError)):
            import_log(text, tmp_path / f"{name}.world")
        assert not list(tmp_path.glob(f"{name}.world*"))
    bad = tmp_path / "bad.jsonl.gz"
    bad.write_bytes(gzip.compress(lines[0])[:-8])
    with pytest.raises((LogCorruptError, LogFormatError)):
        import_log(bad, tmp_path / "gz.world")
    with pytest.raises(LogWriteError, match="exists already"):
        import_log(text, run_log)


def test_history_in_order_and_filtered(run_log: Path) -> None:
    """Times never go backwards; filters leave what they should."""
    with LogReader(run_log) as reader:
        entries = list(history(reader))
        times = [entry.time_ns for entry in entries]
        assert times == sorted(times)
        assert {entry.what for entry in entries} == {"start", "input", "snapshot", "end"}
        walker = list(history(reader, kinds=["input"], source="walker"))
        assert [entry.detail for entry in walker] == [{"v": 1.0}] * 2
        some = list(history(reader, kinds=["input"], start="0.2s", end="0.4s"))
        assert [entry.time_ns for entry in some] == [200_000_000] * 2 + [300_000_000] * 2
        assert len(list(history(reader, kinds=["hash"]))) == 5  # and one at the end
        with pytest.raises(LogError, match="there is no kind"):
            list(history(reader, kinds=["inputs"]))


def test_commands(run_log: Path, tmp_path: Path) -> None:
    """Each command on a whole log, and its exit code on one that differs or is damaged."""
    run = CliRunner().invoke

    def ok(*arguments: object, code: int = 0) -> str:
        result = run(app, [str(a) for a in arguments])
        assert result.exit_code == code, result.output
        return result.output

    assert "identical" in ok("replay", run_log)
    assert json.loads(ok("replay", run_log, "--until", "0.5s", "--json"))["end_ns"] == 500_000_000
    assert "whole" in ok("verify", run_log)
    assert json.loads(ok("verify", run_log, "--json"))["problems"] == []
    assert "identical" in ok("diff", run_log, run_log)
    assert "identical" in ok("bisect", run_log)
    assert "scripts/Walker" in ok("open", run_log, "--at", "0.5s")
    shown = json.loads(ok("open", run_log, "--at", "500ms", "--part", "scripts/Counter", "--json"))
    assert shown["state"] == {"scripts/Counter": {"steps": 25, "seen": {}}}
    fork = tmp_path / "fork.world"
    assert "forked" in ok("open", run_log, "--at", "0.5s", "--fork", fork, "-s", "0.2")
    assert "identical" in ok("replay", fork)
    lines = ok("log", run_log, "--kind", "input", "--format", "jsonl").splitlines()
    assert len(lines) == 22
    assert json.loads(lines[0])["detail"] == {"v": 0.25, "at": 0}
    assert "walker" in ok("log", run_log)
    ok("log", run_log, "-o", tmp_path / "log.txt")
    assert "walker" in (tmp_path / "log.txt").read_text()
    assert "records" in ok("export", run_log, tmp_path / "run.jsonl")
    assert "records" in ok("import", tmp_path / "run.jsonl", tmp_path / "copy.world")
    assert "finished" in ok(
        "resume", tmp_path / "copy.world", "-s", "0.1", "--mode", "SIM_HIGH_PERFORMANCE"
    )
    assert "identical" in ok("replay", tmp_path / "copy.world")
    assert "moved to" in ok("compact", tmp_path / "copy.world")
    assert "nothing to move" in ok("compact", tmp_path / "copy.world")
    scene = log_scenes.build(gain=2.0)
    with record(scene, tmp_path / "other.world", entry=BUILD, kwargs={"gain": 2.0}):
        scene.advance(0.5)
    assert "scripts/Walker.gain: 1.0 / 2.0" in ok("diff", run_log, tmp_path / "other.world", code=1)
    data = bytearray(run_log.read_bytes())
    data[data.index(b"walker")] ^= 1
    run_log.write_bytes(data)
    assert "record" in ok("verify", run_log, code=1)


def mainspring(*arguments: object, folder: Path, code: int = 0) -> str:
    """The command line as a program of its own; what it says, on either stream."""
    done = subprocess.run(
        [sys.executable, "-c", "from mainspring.cli import main; main()", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def yard(tmp_path: Path) -> Path:
    """A folder with a module of its own: two skills, and somebody who may use one of them."""
    (tmp_path / "yard").mkdir()
    (tmp_path / "yard" / "depot.py").write_text(
        """
from mainspring import Scene
from mainspring.world import Entity, World


def build() -> Scene:
    scene = Scene("yard")
    world = World(scene)
    world.spawn(tags=["crate"])
    world.grant("ann", "yard.move")

    @world.skill(permission="yard.move")
    def push(crate: Entity, by: float) -> float:
        crate.position[0] += by
        return float(crate.position[0])

    return scene
"""
    )
    return tmp_path / "yard"


def test_a_killed_run_goes_on_to_where_it_was_meant_to_go(yard: Path, tmp_path: Path) -> None:
    """`run -s 2`, cut off in the middle; `resume` without a word more goes on to 2 s and no
    further. The module is found from its folder, and from elsewhere by what the log says."""
    fast = ("--mode", "SIM_HIGH_PERFORMANCE")
    mainspring(
        "run", "depot:build", "-s", "2", *fast, "--log", "run.world", "--hash-every", "instant",
        "--snapshot-every", "500ms", "--durability", "instant", folder=yard,
    )  # fmt: skip
    with LogReader(yard / "run.world") as reader:
        cut = next(r.number for r in reader.of_kind(Kind.SNAPSHOT) if r.last_ns > 900_000_000)
    # As the process would leave it that dies here: the log ends with that record.
    db = sqlite3.connect(yard / "run.world")
    db.execute("DELETE FROM record WHERE number > ?", (cut,))
    db.execute(
        "UPDATE head SET (number, link) = (SELECT number, link FROM record WHERE number = ?)",
        (cut,),
    )
    db.execute("DELETE FROM tail")
    db.execute("INSERT INTO tail SELECT kind, max(number) FROM record GROUP BY kind")
    db.commit()
    db.close()
    assert "finished at 2 s" in mainspring("resume", yard / "run.world", folder=tmp_path)
    assert "come to its end" in mainspring("resume", yard / "run.world", folder=tmp_path)
    assert "identical: 140 instants" in mainspring("replay", "yard/run.world", folder=tmp_path)
    assert "no module" not in mainspring("verify", "yard/run.world", folder=tmp_path)
    told = mainspring("run", "depot:build", "--log", "x", "--hash-every", "8x", folder=yard, code=2)
    assert "'8x' is not a time" in told
    assert not (yard / "x").exists()


def test_a_fork_takes_inputs_that_were_edited(yard: Path) -> None:
    """Out with `log --format jsonl`, changed in an editor, back in with `open --fork --inputs`."""
    sys.path.insert(0, str(yard))
    try:
        import depot
    finally:
        sys.path.remove(str(yard))
    scene = depot.build()
    with record(scene, yard / "run.world", entry="depot:build"):
        for k in range(10):
            scene.world.submit("ann" if k % 2 else "bob", "push", {"crate": "ent_1", "by": 1.0})
            scene.advance(0.1)
    del sys.modules["depot"]
    told = mainspring(
        "log", "run.world", "--name", "push", "--from", "0.1", "--to", "0.3", folder=yard
    )
    for said in ("push(crate='ent_1', by=1.0)", "accepted: 1.0", "refused (permission): it takes"):
        assert said in told, told
    lines = mainspring("log", "run.world", "--kind", "input", "--format", "jsonl", folder=yard)
    assert len(lines.splitlines()) == 10
    (yard / "inputs.jsonl").write_text(lines.replace("1.0", "5.0"))
    fork = ("open", "run.world", "--at", "0.5", "--fork", "fork.world", "-s", "0.5", "--inputs")
    mainspring(*fork, "inputs.jsonl", folder=yard)
    assert "identical" in mainspring("replay", "fork.world", folder=yard)
    shown = json.loads(mainspring("open", "fork.world", "--at", "1", "--json", folder=yard))
    assert shown["state"]["world"]["entities"]["ent_1"]["position"][0] == 2 * 1.0 + 3 * 5.0
    (yard / "fork.world").unlink()
    (yard / "odd.jsonl").write_text('{"time_ns": 600000000}\n')
    assert "odd.jsonl, line 1: this is no input" in mainspring(
        *fork, "odd.jsonl", folder=yard, code=2
    )
    late, early = lines.splitlines()[8], lines.splitlines()[7]
    (yard / "odd.jsonl").write_text(f"{late}\n{early}\n")
    assert "the order of time" in mainspring(*fork, "odd.jsonl", folder=yard, code=2)
    missing = mainspring(*fork, "none.jsonl", folder=yard, code=2)
    assert missing == "error: none.jsonl: No such file or directory\n"
    assert not (yard / "fork.world").exists()


def test_a_damaged_log_is_not_exported(run_log: Path, tmp_path: Path) -> None:
    """What was exported before stays; half a text is never left."""
    text = tmp_path / "run.jsonl"
    text.write_text("from before")
    data = bytearray(run_log.read_bytes())
    data[data.index(b"walker")] ^= 1
    run_log.write_bytes(data)
    with pytest.raises(LogCorruptError):
        export_log(run_log, text)
    assert text.read_text() == "from before"
    assert {path.name for path in tmp_path.iterdir()} == {"run.world", "run.jsonl"}
    with pytest.raises(LogWriteError, match="cannot be written"):
        export_log(run_log, tmp_path / "no" / "run.jsonl")


def test_parquet(run_log: Path, tmp_path: Path) -> None:
    """With pyarrow installed the history becomes a table of columns."""
    parquet = pytest.importorskip("pyarrow.parquet")
    target = tmp_path / "log.parquet"
    result = CliRunner().invoke(
        app, ["log", str(run_log), "--format", "parquet", "-o", str(target)]
    )
    assert result.exit_code == 0, result.output
    table = parquet.read_table(target)
    assert table.column_names == ["time_ns", "what", "seq", "name", "source", "detail"]

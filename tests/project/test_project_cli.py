"""The commands, as a user types them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mainspring.cli import main

from .conftest import tree
from .servers import endpoint, vault_server

Run = Callable[..., subprocess.CompletedProcess[str]]

CODE = "from mainspring.cli import main; main()"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`mainspring ...` in the temporary folder, without the price of a process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        words = [str(argument) for argument in arguments]
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["mainspring", *words])
        capsys.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(words, code if isinstance(code, int) else 1, out, err)

    return run


def test_from_new_to_a_copy_on_another_machine(run: Run, tmp_path: Path) -> None:
    """new, export, vault put, list and get, import, save-as."""
    steps = [
        ("new", "cell"),
        ("export", "cell", "--exclude", "*.md"),
        ("vault", "put", "cell.zip", "--name", "cell", "--version", "1.0", "--kind", "project"),
        ("vault", "list"),
        ("vault", "get", "cell", "--out", "fetched.zip"),
        ("import", "fetched.zip", "--name", "other"),
        ("save-as", "other", "third"),
        ("new", "fourth", "--template", "cell==1.0"),
    ]
    shown = ""
    for step in steps:
        done = run(*step, MAINSPRING_VAULT=str(tmp_path / "vault"))
        assert done.returncode == 0, (step, done.stderr)
        shown += done.stdout
    assert (tmp_path / "fetched.zip").read_bytes() == (tmp_path / "cell.zip").read_bytes()
    assert "cell     1.0      project" in shown
    for name in ("cell", "other", "third", "fourth"):
        assert (tmp_path / name / "scripts" / "pendulum.py").is_file()


def test_a_vault_behind_http(run: Run, tmp_path: Path) -> None:
    (tmp_path / "robot.bin").write_bytes(os.urandom(5000))
    (tmp_path / "served").mkdir()
    with vault_server(tmp_path / "served") as url:
        put = ("vault", "put", "robot.bin", "--name", "robot", "--version", "1", "--vault", url)
        assert run(*put).returncode == 0
        assert "robot" in run("vault", "list", "--vault", url).stdout
        assert run("vault", "get", "robot", "--vault", url).returncode == 0
    assert (tmp_path / "robot-1").read_bytes() == (tmp_path / "robot.bin").read_bytes()


def test_what_fails_says_why_and_leaves_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_text("no zip")
    before = tree(tmp_path)
    cases: list[tuple[tuple[str, ...], str]] = [
        (("import", "bad.zip"), "cannot be read as an archive"),
        (("import", "no.zip"), "there is no file no.zip"),
        (("export", "."), "is not a mainspring project"),
        (("new", "a", "--template", "emty"), "did you mean 'empty'"),
        (("new", "con"), "cannot be a project's name"),
        (("vault", "get", "x", "--vault", "v"), "there is no vault at"),
        (("vault", "get", "x", "--vault", "."), "has no 'x'"),
        (("vault", "list", "--vault", ""), "place is empty"),
        (
            ("vault", "put", "none", "--name", "n", "--version", "1", "--vault", "."),
            "is not a file",
        ),
        (("export", "nowhere"), "neither a project nor a log"),
        (("reports", "send", "http://x", "--outbox", "none"), "does not exist"),
        (("reports", "send", "http://x", "--outbox", ".", "--header", "x"), "is not 'Name: value'"),
        (("vault", "list", "--vault", "ftp://x"), "no http or https address"),
    ]
    for arguments, why in cases:
        done = run(*arguments)
        assert done.returncode == 2, arguments
        assert why in " ".join(done.stderr.split()), (arguments, done.stderr)
        assert "Traceback" not in done.stderr
    assert tree(tmp_path) == before


def test_export_and_import_take_logs_too(run: Run, tmp_path: Path) -> None:
    from mainspring import Scene
    from mainspring.world import record

    scene = Scene()
    with record(scene, tmp_path / "run.world", durability="none"):
        scene.advance(seconds=0.1)
    assert "records" in run("export", "run.world", "run.jsonl").stdout
    assert "records" in run("import", "run.jsonl", "again.world").stdout
    assert (tmp_path / "again.world").is_file()
    assert run("new", "cell").returncode == run("export", "cell").returncode == 0
    assert run("import", "cell.zip", ".", "--name", "renamed").returncode == 0
    assert (tmp_path / "renamed" / "mainspring.toml").is_file()


def test_assets(run: Run, tmp_path: Path) -> None:
    assert run("new", "cell").returncode == 0
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert "added a: obj" in run("assets", "add", "a.obj", "--project", "cell").stdout
    assert run("assets", "list", "--project", "cell", "--verify").stdout.startswith("a\tobj")
    (tmp_path / "cell" / "assets" / "a" / "a.obj").write_text("changed")
    verified = run("assets", "list", "--project", "cell", "--verify")
    assert verified.returncode == 1
    assert "was changed" in verified.stderr
    assert run("assets", "remove", "a", "--project", "cell").returncode == 0
    assert run("assets", "list", "--project", "cell").stdout == ""


def test_reports(run: Run, tmp_path: Path) -> None:
    from mainspring.project import Outbox

    Outbox(tmp_path / "outbox").put({"steps": 500})
    assert run("new", "cell").returncode == 0
    ran = run("run", "cell/scenes/main.toml", "-s", "0.1", "--outbox", "outbox")
    assert ran.returncode == 0, ran.stderr
    with endpoint() as told:
        assert "sent 2, refused 0" in run("reports", "send", told.url).stdout
    assert told.received[0]["steps"] == 500
    assert told.received[1]["scene"] == "main"
    assert told.received[1]["reason"] == "finished"
    (tmp_path / "a file").write_text("")
    refused = run("run", "cell/scenes/main.toml", "--outbox", "a file")
    assert refused.returncode == 2
    assert "a file" in refused.stderr, "said before the run, not after it"


def test_what_is_said_next_can_be_typed(run: Run, tmp_path: Path) -> None:
    """A folder with a blank in its name, and a template that opens another scene."""
    from mainspring.project import Project

    assert "cd 'my cell' && mainspring run scenes/main.toml" in run("new", "my cell").stdout
    project = Project.open(tmp_path / "my cell")
    (project.root / "scenes" / "main.toml").rename(project.root / "scenes" / "first.toml")
    project.settings["project"]["scene"] = "scenes/first.toml"
    project.save()
    assert "run scenes/first.toml" in run("new", "second", "--template", "my cell").stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_command_leaves_nothing(run: Run, tmp_path: Path, number: int) -> None:
    """The import is stopped in its middle: half done, it sends itself the signal and waits for it to be heard."""
    assert run("new", "cell").returncode == 0
    (tmp_path / "cell" / "assets" / "big.bin").write_bytes(os.urandom(20 << 20))
    assert run("export", "cell").returncode == 0
    code = (
        "import os, threading\n"
        "from mainspring.threads import Progress\n"
        "from mainspring.threads._stop import StopSource\n"
        "set_, request_stop, heard = Progress.set, StopSource.request_stop, threading.Event()\n"
        "def at_half(self, text=None, fraction=None):\n"
        "    set_(self, text, fraction)\n"
        "    if self.fraction > 0.5:\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "        heard.wait()\n"
        "def listen(self):\n"
        "    asked = request_stop(self)\n"
        "    heard.set()\n"
        "    return asked\n"
        "Progress.set, StopSource.request_stop = at_half, listen\n" + CODE
    )
    before = tree(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", code, "import", "cell.zip", "--name", "other"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 130
    assert done.stderr == "cancelled: import cell.zip as other\n"
    assert tree(tmp_path) == before


def test_a_command_that_is_cancelled_too_late_says_so(run: Run, tmp_path: Path) -> None:
    """The signal comes right after the copy became the project."""
    assert run("new", "cell").returncode == 0
    code = (
        "import os, signal, threading\n"
        "from mainspring.threads._stop import StopSource\n"
        "rename, request_stop, heard = os.rename, StopSource.request_stop, threading.Event()\n"
        "def renamed(*names):\n"
        "    rename(*names)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    heard.wait()\n"
        "def listen(self):\n"
        "    asked = request_stop(self)\n"
        "    heard.set()\n"
        "    return asked\n"
        "os.rename, StopSource.request_stop = renamed, listen\n" + CODE
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "save-as", "cell", "other"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 130
    assert done.stderr == "too late to cancel, it is done: save cell as other\n"
    assert run("export", "other").returncode == 0


def test_a_project_runs_its_first_scene_and_keeps_the_run(run: Run, tmp_path: Path) -> None:
    """Its log replays, its report says how it went; a run that cannot begin leaves no folder."""
    assert run("new", "cell").returncode == 0
    assert run("run", "cell", "--seconds", "never").returncode == 2
    assert list((tmp_path / "cell" / "runs").iterdir()) == []
    done = run("run", "cell", "--seconds", "0.5", "--mode", "sim_high_performance")
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "cell" / "runs" / "run-000001"
    assert f"kept in {kept}" in done.stdout
    assert json.loads((kept / "report.json").read_text())["end_ns"] == 500_000_000
    assert "identical" in run("replay", kept / "run.world").stdout
    for command in ("check", "order", "timeline"):
        assert run(command, "cell").returncode == 0
    again = run("run", "cell/scripts", "--seconds", "0.1", "--log", "mine.world")
    assert again.returncode == 0, "anywhere in it"
    assert (tmp_path / "mine.world").is_file()
    assert [path.name for path in kept.parent.iterdir()] == ["run-000001"]


def test_a_folder_that_is_no_project_cannot_be_run(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run("run", "empty")
    assert done.returncode == 2
    assert "is not a mainspring project" in done.stderr
    package = tmp_path / "packed_scene"
    package.mkdir()
    (package / "__init__.py").write_text("from mainspring import Scene as build\n")
    assert run("check", "packed_scene").returncode == 0, "a package of Python is a scene's module"

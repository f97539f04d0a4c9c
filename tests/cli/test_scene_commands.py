"""The command line, as a person meets it: real processes, their output and their exit codes."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mainspring import __version__

SCENE = """
from mainspring import Scene

def build():
    scene = Scene("demo")
    scene.time.register(lambda c: None, name="tick")
    return scene

def broken():
    scene = Scene("demo")
    def fail(context):
        raise RuntimeError("no torque")
    scene.time.register(fail, name="motor")
    return scene

def interrupts():
    import os, signal
    scene = Scene("demo")
    def press(context):
        if context.step == 5:
            os.kill(os.getpid(), signal.SIGINT)
    scene.time.register(press)
    return scene
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scene.py").write_text(SCENE)
    (tmp_path / "cell.toml").write_text("")
    return tmp_path


def mainspring(folder: Path, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("mainspring")), *words]
    environment = os.environ | {"NO_COLOR": "1", "COLUMNS": "120", "TERM": "dumb"} | extra
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_version(folder: Path) -> None:
    """--version says which."""
    done = mainspring(folder, "--version")
    assert (done.returncode, done.stdout) == (0, f"mainspring {__version__}\n")


def test_run_prints_a_summary(folder: Path) -> None:
    """A run ends with a summary and tables of runners and callbacks."""
    done = mainspring(folder, "run", "scene.py", "-s", "2", "--mode", "sim_high_performance")
    assert done.returncode == 0
    assert "demo finished: 2 s simulated" in done.stdout
    assert "Robot" in done.stdout
    assert "tick" in done.stdout


def test_run_as_json(folder: Path) -> None:
    """--json prints one object with the report and the statistics, and nothing else."""
    done = mainspring(
        folder, "run", "scene.py", "-s", "500ms", "--mode", "sim_high_performance", "--json"
    )
    told = json.loads(done.stdout)
    assert told["report"]["steps"] == {"Robot": 25, "Capture": 15}
    assert told["statistics"]["callbacks"]["tick"]["steps"] == 25


def test_a_failing_callback_is_exit_code_1(folder: Path) -> None:
    """The user's traceback is shown, then what failed where, then the cure."""
    done = mainspring(folder, "run", "scene.py:broken", "-s", "1")
    assert done.returncode == 1
    assert 'raise RuntimeError("no torque")' in done.stderr
    assert "callback 'motor' raised RuntimeError: no torque" in done.stderr
    assert "hint: the instant is incomplete" in done.stderr
    assert "mainspring/clock/_manager" not in done.stderr.split("error: ")[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "nope.toml"), "there is no scene file 'nope.toml'"),
        (("run", "scene.py:bild"), "did you mean 'build'"),
        (("run", "scene.py", "-s", "soon"), "'soon' is not a time"),
        (("run", "scene.py", "--mode", "warp"), "no time mode"),
        (("run", "cell"), "did you mean 'cell.toml'"),
        (("timeline", "--until", "0"), "no span above zero"),
        (("timeline", "--svg", "nowhere/t.svg"), "No such file or directory nowhere/t.svg"),
        (("check",), "name a scene file"),
        (("plot", "nowhere.mcap"), "nowhere.mcap cannot be read: No such file"),
        (("nope",), "No such command"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    """What the user wrote wrongly is said in a line or two, without a traceback."""
    done = mainspring(folder, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_traceback_begins_in_the_users_code(folder: Path) -> None:
    """What a failing callback shows is where it failed; none of the frames are ours."""
    done = mainspring(folder, "run", "scene.py:broken", "-s", "1")
    assert done.returncode == 1
    assert 'raise RuntimeError("no torque")' in done.stderr
    assert "mainspring/" not in done.stderr


def test_a_script_that_fails_to_start_or_stop_is_exit_code_1(folder: Path) -> None:
    """Which script, in which callback, with the user's traceback and none of ours; what had
    started is stopped."""
    (folder / "parts.py").write_text(
        "from mainspring import Script\n"
        "class First(Script):\n"
        "    def on_stop(self): print('first stopped')\n"
        "class Bad(Script):\n"
        "    def __init__(self, when): self.when = when\n"
        "    def on_start(self):\n"
        "        if self.when == 'start': raise OSError('no device')\n"
        "    def on_update(self, ts):\n"
        "        if self.when == 'update': raise OSError('no torque')\n"
        "    def on_stop(self):\n"
        "        if self.when != 'start': raise OSError('cannot close')\n"
    )
    for when, said in (
        ("start", "script 'Bad' raised OSError in on_start: no device"),
        ("update", "callback 'Bad.on_update' raised OSError: no torque"),
        ("stop", "script 'Bad' raised OSError in on_stop: cannot close"),
    ):
        (folder / "cell.toml").write_text(
            '[[script]]\ntype = "parts:First"\n'
            f'[[script]]\ntype = "parts:Bad"\nargs = {{ when = "{when}" }}\n'
        )
        done = mainspring(folder, "run", "cell.toml", "-s", "1", "--mode", "sim_high_performance")
        assert done.returncode == 1, when
        assert f"error: {said}" in done.stderr
        assert ("then: script 'Bad' raised OSError in on_stop" in done.stderr) == (when == "update")
        assert "first stopped" in done.stdout
        assert "mainspring/" not in done.stderr


def test_a_warning_is_one_line_of_ours(folder: Path) -> None:
    """A callback that is off is told without a place in our sources."""
    (folder / "parts.py").write_text(
        "from mainspring import Script\n"
        "class Arm(Script):\n"
        "    def on_physics_update(self, ts): pass\n"
    )
    (folder / "cell.toml").write_text('[[script]]\ntype = "parts:Arm"\n')
    done = mainspring(folder, "check", "cell.toml")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: script 'Arm' overrides on_physics_update, which is off")
    assert done.stderr.count("\n") == 1


def test_names_are_shown_as_they_are(folder: Path) -> None:
    """Brackets in a name are no markup, and a terminal without the letter shows another."""
    (folder / "odd.py").write_text(
        "from mainspring import Scene\n"
        "def build():\n"
        "    scene = Scene('[red]cell é')\n"
        "    scene.time.register(lambda c: None, name='arm[left]')\n"
        "    return scene\n"
    )
    assert "arm[left]" in mainspring(folder, "order", "odd.py").stdout
    done = mainspring(folder, "run", "odd.py", "-s", "1", "--mode", "sim_high_performance")
    assert "[red]cell é finished" in done.stdout
    assert "arm[left]" in done.stdout
    plain = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = mainspring(folder, "run", "odd.py", "-s", "1", "--mode", "sim_high_performance", **plain)
    assert (done.returncode, "[red]cell ? finished" in done.stdout) == (0, True)


def test_ctrl_c_is_exit_code_130(folder: Path) -> None:
    """Ctrl-C ends a run cleanly, with its summary."""
    done = mainspring(folder, "run", "scene.py:interrupts", "--mode", "sim_high_performance")
    assert done.returncode == 128 + signal.SIGINT
    assert "demo interrupted: 0.1 s simulated" in done.stdout


def test_order_is_a_table(folder: Path) -> None:
    """`order` lists everything in its resolved order, as a table or as JSON."""
    rows = json.loads(mainspring(folder, "order", "scene.py", "--json").stdout)
    assert [(r["phase"], r["name"], r["runner"]) for r in rows] == [(1, "tick", "Robot")]
    assert "tick" in mainspring(folder, "order", "scene.py").stdout


def test_timeline_draws_one_cycle(folder: Path) -> None:
    """`timeline` shows 0, 20, 33, 40, 60, 67, 80, 100 ms; as SVG the shared ones are joined."""
    lines = mainspring(folder, "timeline").stdout.splitlines()
    assert [line.split()[0] for line in lines] == (
        ["ms", "0", "20", "33.333", "40", "60", "66.667", "80", "100"]
    )
    assert [line.split()[0] for line in lines if "shared" in line] == ["0", "100"]
    assert mainspring(folder, "timeline", "--svg", "t.svg").returncode == 0
    svg = (folder / "t.svg").read_text()
    assert svg.count("<circle") == 10
    assert svg.count('stroke-width="2"') == 2


def test_a_long_timeline_says_that_there_is_more(folder: Path) -> None:
    """What is left out is said, in the text and in the picture's title."""
    lines = mainspring(folder, "timeline", "--until", "1h").stdout.splitlines()
    assert len(lines) == 2002
    assert lines[-1] == "... and more: the first 2000 instants are shown"
    mainspring(folder, "timeline", "--until", "1h", "--svg", "t.svg")
    told = re.search(r"0 to ([0-9.]+) ms", (folder / "t.svg").read_text())
    last = float(lines[-2].split()[0])
    assert told is not None
    assert last <= float(told[1]) <= last + 20


def test_times_of_a_crowded_timeline_do_not_overlap(folder: Path) -> None:
    """Where not every time fits, those at which runners meet are told, the last one included."""
    (folder / "fast.toml").write_text(
        '[[runner]]\nname = "Slow"\nrate = 10\n[[runner]]\nname = "Fast"\nrate = 1000\n'
    )
    assert mainspring(folder, "timeline", "fast.toml", "--svg", "t.svg").returncode == 0
    found = re.findall(r'<text x="([0-9.]+)"[^>]*>([0-9.]+)</text>', (folder / "t.svg").read_text())
    spans = sorted((float(x) - 4 * len(text), float(x) + 4 * len(text)) for x, text in found)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    assert {"0", "100"} <= {text for _, text in found}


def test_completion_is_offered(folder: Path) -> None:
    """Shell completion can be shown and installed."""
    assert "--show-completion" in mainspring(folder, "--help").stdout


@pytest.mark.parametrize("target", ["scene.py", "scene.py:build", "cell.toml"])
def test_a_recorded_run_is_replayed(folder: Path, target: str) -> None:
    """`run --log` keeps what `replay` needs, whatever names the scene."""
    (folder / "parts.py").write_text(
        "from mainspring import Script\n"
        "class Arm(Script):\n"
        "    def on_update(self, ts):\n"
        "        self.angle = getattr(self, 'angle', 0.0) + ts\n"
    )
    (folder / "cell.toml").write_text('[[script]]\ntype = "parts:Arm"\n')
    words = ("run", target, "-s", "3", "--mode", "sim_high_performance", "--log", "run.world")
    assert mainspring(folder, *words).returncode == 0
    done = mainspring(folder, "replay", "run.world")
    assert (done.returncode, done.stdout.split(":")[0]) == (0, "identical"), done.stderr
    assert mainspring(folder, "verify", "run.world").returncode == 0


def test_import_and_export_tell_projects_from_logs(folder: Path) -> None:
    """One command each: a folder is a project, a file a log."""
    words = ("run", "scene.py", "-s", "1", "--mode", "sim_high_performance", "--log", "run.world")
    mainspring(folder, *words)
    assert mainspring(folder, "export", "run.world").returncode == 0
    assert mainspring(folder, "import", "run.jsonl", "copy.world").returncode == 0
    assert (folder / "copy.world").read_bytes()[:15] == b"SQLite format 3"
    assert mainspring(folder, "new", "cell").returncode == 0
    assert mainspring(folder, "export", "cell", "cell.zip").returncode == 0
    (folder / "elsewhere").mkdir()
    assert mainspring(folder, "import", "cell.zip", "elsewhere").returncode == 0
    assert any((folder / "elsewhere").iterdir())
    assert mainspring(folder, "import", "nope.zip").returncode == 2


def test_check_and_timeline_as_json(folder: Path) -> None:
    """Other programs read what was found: faults with their lines, runners and instants."""
    (folder / "wrong.toml").write_text('[scene]\nsead = 7\n\n[[runner]]\nname = "A"\nrate = -1\n')
    done = mainspring(folder, "check", "wrong.toml", "--json")
    assert (done.returncode, done.stderr) == (2, "")
    faults = json.loads(done.stdout)["faults"]
    assert [(f["line"], f["key"]) for f in faults] == [(2, "scene.sead"), (6, "runner[0].rate")]
    assert faults[0]["hint"] == "did you mean 'seed'?"
    done = mainspring(folder, "check", "cell.toml", "--json")
    assert json.loads(done.stdout) == {
        "scene": "cell.toml", "faults": [], "runners": 2, "callbacks": 0, "subsystems": 0,
    }  # fmt: skip
    found = json.loads(mainspring(folder, "timeline", "cell.toml", "--json").stdout)
    assert [r["rate"] for r in found["runners"]] == ["50 Hz", "30 Hz"]
    assert [i["time_ns"] // 1_000_000 for i in found["instants"]] == [
        0,
        20,
        33,
        40,
        60,
        66,
        80,
        100,
    ]
    assert found["instants"][0]["runners"] == ["Robot", "Capture"]


def test_a_scene_named_by_something_else_is_told_how_to_name_one(folder: Path) -> None:
    """A folder, a path or an empty word is no module, and no import is tried."""
    faults = dict.fromkeys((".", ".."), "is not a mainspring project")
    faults |= dict.fromkeys(("scenes/cell", "-", "a b"), "names nothing")
    for word, fault in faults.items():
        done = mainspring(folder, "run", "--", word)
        assert done.returncode == 2
        assert fault in done.stderr
        assert "Error:" not in done.stderr

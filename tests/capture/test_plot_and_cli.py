"""Plots, and the commands `plot`, `trace` and `convert`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from capture_helpers import record_demo
from typer.testing import CliRunner

from mainspring.capture import (
    CaptureError,
    ChannelError,
    McapWriter,
    Recorder,
    Recording,
    convert,
    plot,
)
from mainspring.capture._lines import LIMIT, Line, read_lines
from mainspring.cli.main import app
from mainspring.errors import MainspringError, MissingExtraError
from mainspring.scene import Scene

pytest.importorskip("matplotlib", reason="needs the capture extra")

SCENE = """
[scene]
name = "small"

[[runner]]
name = "Robot"
rate = 100

[[runner]]
name = "Capture"
rate = 30

[[subsystem]]
type = "mainspring.capture:Recorder"
args = { path = "OUT", channels = [{ topic = "/now", source = "time.now", runner = "Robot" }] }
"""


def pixels(path: Path) -> np.ndarray:
    import PIL.Image

    with PIL.Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def lines_of(path: Path, topic: str, field: str = "") -> list[Line]:
    with Recording(path) as recording:
        return read_lines(recording, [(topic, field)])[0]


def test_lines_are_the_recorded_values(tmp_path: Path) -> None:
    record_demo(path := tmp_path / "run.mcap")
    lines = lines_of(path, "/array")
    assert [line.label for line in lines] == [f"/array.value[{i}]" for i in range(40)]
    assert [line.label for line in lines_of(path, "/array", "value")] == [
        f"/array.value[{i}]" for i in range(40)
    ]
    (one,) = lines_of(path, "/array", "value[3]")
    with Recording(path) as recording:
        assert one.values.tolist() == recording.read("/array")["value[3]"].tolist()
    assert [line.label for line in lines_of(path, "/info")] == ["/info.x"]
    with pytest.raises(ChannelError, match="no field 'valu'") as caught:
        lines_of(path, "/array", "valu")
    assert "'value'" in (caught.value.hint or "")


def test_lines_of_messages_that_differ(tmp_path: Path) -> None:
    """Fields that come and go leave gaps; lists grow lines; texts and times draw none."""
    messages = [
        {"a": 1, "on": True, "text": "NaN", "big": 2**64 - 1, "stamp": {"sec": 1, "nsec": 2}},
        {"b": {"c": 1.5}, "on": False, "text": "NaN", "list": [1, 2]},
        {"a": "NaN", "on": True, "text": "x", "list": [1, 2, 3], "rows": [{"v": 5}]},
        {"a": "-Infinity", "on": True, "text": "007", "none": None, "rows": [{"v": 6}, {"v": 7}]},
    ]
    with McapWriter(path := tmp_path / "run.mcap", chunk_bytes=1) as writer:
        channel = writer.channel("/x")
        for k, message in enumerate(messages):
            writer.message(channel, 10 * k, json.dumps(message).encode())
    drawn = {line.label: (line.kind, line.values.tolist()) for line in lines_of(path, "/x")}
    nan = math.nan
    expected = {
        "/x.a": ("float", [1.0, nan, nan, -math.inf]),
        "/x.on": ("bool", [1.0, 0.0, 1.0, 1.0]),
        "/x.big": ("int", [float(2**64 - 1), nan, nan, nan]),
        "/x.b.c": ("float", [1.5, nan, nan]),
        "/x.list[0]": ("int", [1.0, 1.0, nan]),
        "/x.list[1]": ("int", [2.0, 2.0, nan]),
        "/x.list[2]": ("int", [3.0, nan]),
    }
    assert repr(drawn) == repr(expected)
    rows = lines_of(path, "/x", "rows[0].v")
    assert [(line.label, line.values.tolist()) for line in rows] == [("/x.rows[0].v", [5.0, 6.0])]
    assert len(plot(path, tmp_path / "all.png")) == 7
    with pytest.raises(ChannelError, match="nothing numeric"):
        plot(path, tmp_path / "text.png", channels=["/x.text"])


def test_a_long_line_is_thinned_and_keeps_its_peaks() -> None:
    """However many points: bounded, in order, and no extreme value or wide gap is lost."""
    count = 10 * LIMIT
    values = np.sin(np.arange(count) * 1e-3)
    values[123_457], values[400_001] = 50.0, -50.0
    values[600_000:640_000] = np.nan
    line = Line("/x", "value", "")
    for begin in range(0, count, 5000):
        part = values[begin : begin + 5000]
        line.add(np.arange(begin, begin + len(part)), part, "float")
    assert len(line.values) <= LIMIT
    assert (np.diff(line.times_ns) > 0).all()
    assert line.values[line.times_ns == 123_457].tolist() == [50.0]
    assert line.values[line.times_ns == 400_001].tolist() == [-50.0]
    kept = ~np.isnan(line.values)
    assert (line.values[kept] == values[line.times_ns[kept]]).all()
    inside = (line.times_ns > 600_100) & (line.times_ns < 639_900)
    assert inside.sum() > 100
    assert np.isnan(line.values[inside]).all()


def test_what_is_in_a_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Panels by unit or by field, truths and integers in steps, names without what they share."""
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: drawn.append(self))
    scene = Scene("s", runners=(("Robot", 100), ("Capture", 30)))
    recorder = Recorder(tmp_path / "run.mcap")
    step = [0]
    recorder.channel("/arm/q", lambda: [0.5, step[0] * 0.1], unit="rad")
    recorder.channel("/leg/q", lambda: 0.25, unit="rad")
    recorder.pose("/tool", lambda: [1, 2, 3, 1, 0, 0, 0])
    recorder.channel("/on", lambda: step[0] % 2 == 0)
    recorder.channel("/count", lambda: step[0])
    scene.add(recorder)
    scene.time.register(lambda context: step.__setitem__(0, context.step), runner="Capture")
    scene.advance(seconds=1)
    scene.stop()
    monkeypatch.setattr("mainspring.capture._outputs.os.replace", lambda *_: None)
    plot(tmp_path / "run.mcap", tmp_path / "run.png")
    panels = {panel.get_title(loc="left"): panel for panel in drawn[0].axes}
    assert list(panels) == [
        "several channels",
        "/tool.pose.position",
        "/tool.pose.orientation",
        "/on",
        "/count",
    ]
    joints = panels["several channels"]
    assert joints.get_ylabel() == "rad"
    legend = joints.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["/arm/q[0]", "/arm/q[1]", "/leg/q"]
    assert [line.get_drawstyle() for line in joints.get_lines()] == ["default"] * 3
    assert [text.get_text() for text in panels["/on"].get_yticklabels()] == ["false", "true"]
    assert panels["/count"].get_lines()[0].get_drawstyle() == "steps-post"
    assert drawn[0].axes[-1].get_xlabel() == "sim time [s]"


def test_a_plot_has_its_lines_in_it(tmp_path: Path) -> None:
    """Blue of the first line, and another picture for another window of time."""
    record_demo(tmp_path / "run.mcap")
    labels = plot(tmp_path / "run.mcap", tmp_path / "a.png", channels=["/noise"], title="noise")
    assert labels == ["/noise.value"]
    picture = pixels(tmp_path / "a.png")
    assert picture.shape[1] > 1000
    assert (np.abs(picture.astype(int) - (0x2F, 0x6D, 0xB3)).sum(axis=2) < 40).sum() > 500
    plot(
        tmp_path / "run.mcap", tmp_path / "b.png", channels=["/noise"], title="noise", end_seconds=1
    )
    assert not np.array_equal(picture, pixels(tmp_path / "b.png"))
    plot(tmp_path / "run.mcap", tmp_path / "c.png", channels=["/noise"], title="noise")
    assert (tmp_path / "c.png").read_bytes() == (tmp_path / "a.png").read_bytes()


def test_many_panels_stand_in_columns_and_too_many_are_refused(tmp_path: Path) -> None:
    def record(count: int) -> Path:
        path = tmp_path / f"{count}.mcap"
        with McapWriter(path) as writer:
            for number in range(count):
                channel = writer.channel(f"/c{number}")
                writer.message(channel, 0, b'{"value":%d}' % number)
                writer.message(channel, 10, b'{"value":1.5}')
        return path

    assert len(plot(record(30), tmp_path / "30.png")) == 30
    height, width = pixels(tmp_path / "30.png").shape[:2]
    assert 0.5 < width / height < 2
    with pytest.raises(CaptureError, match="these 200 lines make 200 panels"):
        plot(record(200), tmp_path / "200.png")
    assert not (tmp_path / "200.png").exists()


def test_plots_that_cannot_be_drawn_say_why(tmp_path: Path) -> None:
    record_demo(tmp_path / "run.mcap")
    with pytest.raises(ChannelError, match="'/cam' has nothing numeric"):
        plot(tmp_path / "run.mcap", tmp_path / "x.png", channels=["/cam"])
    with pytest.raises(CaptureError, match="nothing to plot in that time"):
        plot(tmp_path / "run.mcap", tmp_path / "x.png", channels=["/noise"], start_seconds=50)
    with pytest.raises(CaptureError, match=r"cannot be written as 'x\.bmp'"):
        plot(tmp_path / "run.mcap", tmp_path / "x.bmp")
    assert not (tmp_path / "x.png").exists()


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_commands_from_scene_to_plot(tmp_path: Path) -> None:
    """A scene file with a recorder: trace it, plot its recording, convert that there and back."""
    scene = tmp_path / "small.toml"
    scene.write_text(SCENE.replace("OUT", str(tmp_path / "run.mcap")))
    out = tmp_path / "trace.json"
    told = run(
        "trace", str(scene), "--out", str(out), "--seconds", "1", "--mode", "SIM_HIGH_PERFORMANCE",
        "--svg", "--png",
    )  # fmt: skip
    assert "1 s simulated" in told
    assert json.loads(out.read_text())["otherData"]["scene"] == "small"
    assert (tmp_path / "trace.svg").exists()
    assert (tmp_path / "trace.png").stat().st_size > 10_000
    with Recording(tmp_path / "run.mcap") as recording:
        assert recording.read("/now")["value"].tolist() == [k * 10_000_000 for k in range(100)]
    told = run(
        "plot", str(tmp_path / "run.mcap"), "--channel", "/now", "--out", str(tmp_path / "n.png")
    )
    assert told == f"{tmp_path / 'n.png'}: 1 line\n"
    told = run("convert", str(tmp_path / "run.mcap"), str(tmp_path / "run.parquet"))
    assert told == f"{tmp_path / 'run.parquet'}: 100 messages in 1 file\n"
    run("convert", str(tmp_path / "run.parquet"), str(tmp_path / "again.mcap"))
    run("convert", str(tmp_path / "run.mcap"), str(tmp_path / "tables"), "--to", "csv")
    assert (tmp_path / "tables" / "now.csv").read_text().splitlines()[:3] == [
        "time_ns,/now.value",
        "0,0",
        "10000000,10000000",
    ]


def test_a_mistake_on_the_command_line_names_what_there_is(tmp_path: Path) -> None:
    record_demo(tmp_path / "run.mcap")
    with pytest.raises(MainspringError, match="did you mean '/noise'"):
        run(
            "plot",
            str(tmp_path / "run.mcap"),
            "--channel",
            "/nois",
            "--out",
            str(tmp_path / "n.png"),
        )
    with pytest.raises(MainspringError, match="cannot be read"):
        run("plot", str(tmp_path / "none.mcap"))
    with pytest.raises(MainspringError, match="cannot be read: Is a directory"):
        run("plot", str(tmp_path))
    (tmp_path / "small.toml").write_text(SCENE.replace("OUT", str(tmp_path / "small.mcap")))
    with pytest.raises(MainspringError, match="cannot be written as"):  # before anything ran
        run("trace", str(tmp_path / "small.toml"), "--out", str(tmp_path / "trace.txt"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.mcap", "small.toml"]


def topics(path: Path) -> list[str]:
    with Recording(path) as recording:
        return recording.topics


@pytest.mark.parametrize(
    ("module", "use"),
    [
        ("zstandard", lambda folder: record_demo(folder / "x.mcap")),
        ("mcap.reader", lambda folder: topics(folder / "run.mcap")),
        ("pyarrow", lambda folder: convert(folder / "run.mcap", folder / "x.parquet")),
        ("matplotlib.figure", lambda folder: plot(folder / "run.mcap", folder / "x.png")),
        ("PIL.Image", lambda folder: Recorder(folder / "x.mcap").camera("/c", lambda: None)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_missing_package_names_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, use: Callable[[Path], object]
) -> None:
    """Without a package of the extra: an error at once, with the command that installs it."""
    record_demo(tmp_path / "run.mcap")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mainspring\[capture\]'"):
        use(tmp_path)
    assert not (tmp_path / "x.mcap").exists() or (tmp_path / "x.mcap").stat().st_size == 0

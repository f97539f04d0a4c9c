"""Plots, and the commands `plot`, `trace` and `convert`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from capture_helpers import record_demo
from typer.testing import CliRunner

from mainspring.capture import CaptureError, ChannelError, Recorder, Recording, convert, plot
from mainspring.capture._plot import lines_of
from mainspring.cli.main import app
from mainspring.errors import MainspringError, MissingExtraError

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


def test_lines_are_the_recorded_values(tmp_path: Path) -> None:
    record_demo(tmp_path / "run.mcap")
    with Recording(tmp_path / "run.mcap") as recording:
        array = recording.read("/array")
        lines = lines_of(array)
        assert [line.label for line in lines] == [f"/array.value[{i}]" for i in range(40)]
        one = lines_of(array, "value[3]")
        assert len(one) == 1
        assert one[0].values.tolist() == recording.read("/array")["value[3]"].tolist()
        assert [line.label for line in lines_of(recording.read("/info"))] == ["/info.x"]
        with pytest.raises(ChannelError, match="no field 'valu'"):
            lines_of(array, "valu")


def test_a_plot_has_its_lines_in_it(tmp_path: Path) -> None:
    """Blue of the first line, and another picture for another window of time."""
    record_demo(tmp_path / "run.mcap")
    labels = plot(tmp_path / "run.mcap", tmp_path / "a.png", channels=["/noise"], title="noise")
    assert labels == ["/noise.value"]
    picture = pixels(tmp_path / "a.png")
    assert picture.shape[1] > 1000
    assert (np.abs(picture.astype(int) - (0x1F, 0x77, 0xB4)).sum(axis=2) < 40).sum() > 500
    plot(
        tmp_path / "run.mcap", tmp_path / "b.png", channels=["/noise"], title="noise", end_seconds=1
    )
    assert not np.array_equal(picture, pixels(tmp_path / "b.png"))
    plot(tmp_path / "run.mcap", tmp_path / "c.png", channels=["/noise"], title="noise")
    assert (tmp_path / "c.png").read_bytes() == (tmp_path / "a.png").read_bytes()


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

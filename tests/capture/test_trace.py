"""Traces of the schedule: what they say, what they cost, and what they look like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from mainspring.capture import CaptureError, Trace
from mainspring.clock import FreePhase
from mainspring.scene import Scene


def build() -> Scene:
    scene = Scene("cell")
    scene.time.register(lambda context: None, name="sense", phase="Acquisition")
    scene.time.register(lambda context: None, name="control", phase="Control")
    scene.time.register(lambda context: None, name="early", phase="Control", priority=-1)
    scene.time.register(lambda context: None, name="record <&>", runner="Capture", phase="Export")
    return scene


def test_every_instant_phase_and_callback_is_there_in_order(tmp_path: Path) -> None:
    """Slices nest: instant, phase, callback, in the order they ran, none overlapping."""
    scene = build()
    with Trace(scene) as trace:
        scene.advance(seconds=0.1)
    assert [i.sim_ns for i in trace.instants] == [
        0,
        20_000_000,
        33_333_333,
        40_000_000,
        60_000_000,
        66_666_666,
        80_000_000,
    ]
    assert [s.name for s in trace.spans_of(0)] == ["sense", "early", "control", "record <&>"]
    assert [s.name for s in trace.spans_of(2)] == ["record <&>"]
    assert {c.name: c.calls for c in trace.callbacks.values()} == {
        "sense": 5, "early": 5, "control": 5, "record <&>": 3,
    }  # fmt: skip
    document = json.loads(trace.save(tmp_path / "trace.json").read_text())
    slices = [e for e in document["traceEvents"] if e["ph"] == "X" and e["pid"] == 1]
    kinds: dict[str, list[Any]] = {}
    for event in slices:
        kinds.setdefault(event["cat"], []).append(event)
    assert len(kinds["instant"]) == 7
    assert [e["name"] for e in kinds["phase"]][:3] == ["Acquisition", "Control", "Export"]
    assert len(kinds["callback"]) == 18

    def inside(outer: Any, inner: Any) -> bool:
        ends = (outer["ts"] + outer["dur"], inner["ts"] + inner["dur"])
        return bool(outer["ts"] <= inner["ts"] + 1e-6 and ends[1] <= ends[0] + 1e-6)

    for callback in kinds["callback"]:
        assert sum(inside(phase, callback) for phase in kinds["phase"]) == 1
        assert sum(inside(instant, callback) for instant in kinds["instant"]) == 1
    sim = [e for e in document["traceEvents"] if e["ph"] == "X" and e["pid"] == 2]
    assert [e["ts"] for e in sim if e["name"] == "Capture"] == [0.0, 33333.333, 66666.666]
    assert [e["dur"] for e in sim if e["name"] == "Robot"] == [20_000.0] * 5


def test_a_paced_run_says_what_was_late(tmp_path: Path) -> None:
    """On a clock of our own: one callback takes 9 ms at 500 Hz, and the next instants are late."""
    import mainspring.capture._trace as module

    now = [10**12]
    scene = Scene("slow", runners=(("Robot", 500),))

    def work(context: Any) -> None:
        now[0] += 9_000_000 if context.step == 10 else 100_000

    scene.time.register(work, name="work")
    scene.time.register_free(lambda frame: None, FreePhase.POST_EXPORT, name="ui")
    scene.time.use_wall(lambda: now[0], lambda until: now.__setitem__(0, max(now[0], until)))
    with pytest.MonkeyPatch.context() as patch, Trace(scene) as trace:
        patch.setattr(module, "perf_counter_ns", lambda: now[0])
        trace._origin = now[0]
        scene.run(seconds=0.1)
    assert trace.paced
    late = trace.late()
    assert [one.sim_ns // 2_000_000 for one, _ in late] == [11, 12, 13, 14]
    assert [by for _, by in late] == [7_000_000, 5_100_000, 3_200_000, 1_300_000]
    assert trace.frames[0].begin_ns == 0
    assert {c.kind for c in trace.callbacks.values()} == {"Control", "free update"}
    events = json.loads(trace.save(tmp_path / "t.json").read_text())["traceEvents"]
    assert next(e["name"] for e in events if e.get("cat") == "late") == "late by 7.000 ms"
    assert {e["name"] for e in events if e.get("cat") == "frame"} >= {"frame 0", "frame 1"}


def test_inputs_errors_and_skips_are_marked(tmp_path: Path) -> None:
    scene = Scene("game", mode="GAME_REALTIME")
    scene.inbox.route("say", lambda given: None)

    def fail(context: Any) -> None:
        if context.step == 3:
            raise ValueError("too far")

    scene.time.register(fail, name="fail", on_error="disable")
    with Trace(scene) as trace:
        scene.inbox.put("say", {"text": "hello"})
        scene.frame(20_000_000)
        scene.time.skip_to(100_000_000)
        scene.advance(seconds=0.2)
    assert [s.kind for s in trace.spans_of(0)] == ["inputs", "Control"]
    assert trace.skips[0][1:] == (20_000_000, 100_000_000)
    names = {
        e["name"] for e in json.loads(trace.save(tmp_path / "t.json").read_text())["traceEvents"]
    }
    assert {"1 inputs", "skipped"} <= names
    assert [text for _, text in trace.errors] in (["fail: too far"], [])


def test_tracing_changes_nothing_and_stops_when_told() -> None:
    plain, traced = build(), build()
    with Trace(traced) as trace:
        traced.advance(seconds=0.1)
    plain.advance(seconds=0.1)
    assert traced.part_hashes() == plain.part_hashes()
    seen = len(trace.spans)
    traced.advance(seconds=0.1)
    assert len(trace.spans) == seen
    assert len(traced.time.observers) == 0


def test_a_limit_bounds_what_is_kept_and_says_so(tmp_path: Path) -> None:
    scene = build()
    with Trace(scene, limit=5) as trace:
        scene.advance(seconds=1)
    assert len(trace.spans) == len(trace.instants) == 5
    assert trace.dropped == (50 * 3 + 30 + 70) - 10
    assert sum(c.calls for c in trace.callbacks.values()) == 180
    assert f"{trace.dropped} spans beyond the limit" in trace.save(tmp_path / "t.svg").read_text()


def test_pictures_show_what_they_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SVG is well-formed and names things; the PNG has the phases' colours in its pixels."""
    import PIL.Image

    now = [0]

    def clock() -> int:
        now[0] += 1000
        return now[0]

    def work(context: Any) -> None:
        now[0] += 5_000_000

    monkeypatch.setattr("mainspring.capture._trace.perf_counter_ns", clock)
    scene = build()
    scene.time.register(work, name="mujoco", phase="Physics")
    with Trace(scene) as trace:
        scene.advance(seconds=0.5)
    svg = trace.save(tmp_path / "trace.svg").read_text()
    root = ElementTree.fromstring(svg)
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Where time went in cell" in texts
    assert "record <&>" in texts
    assert any(text.startswith("500 ms simulated in") for text in texts)
    rectangles = list(root.iter("{http://www.w3.org/2000/svg}rect"))
    assert all(float(r.get("width", 0)) > 0 and float(r.get("height", 0)) > 0 for r in rectangles)
    with PIL.Image.open(trace.save(tmp_path / "trace.png")) as picture:
        pixels = np.asarray(picture.convert("RGB")).reshape(-1, 3)
        assert picture.width == 1200
    physics = (pixels == (0xE0, 0x74, 0x3C)).all(axis=1).sum()
    assert physics > 5000
    with pytest.raises(CaptureError, match=r"cannot be written as \.gif"):
        trace.save(tmp_path / "trace.gif")


def test_many_callbacks_with_long_names_are_told_apart(tmp_path: Path) -> None:
    """Names that differ at their ends keep them, and what does not fit is counted."""
    scene = Scene("cell", runners=(("A runner with quite a name", 100),))
    for number in range(14):
        scene.time.register(
            lambda context: None,
            runner="A runner with quite a name",
            name=f"one of the many controllers of the joint {number}",
        )
    with Trace(scene) as trace:
        scene.advance(seconds=0.1)
    root = ElementTree.fromstring(trace.save(tmp_path / "t.svg").read_text())
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert len({text.split()[-1] for text in texts if text.startswith("one of")}) >= 12
    assert any(text.startswith("and 2 more, ") for text in texts)


def test_a_trace_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = build()
    with Trace(scene) as trace:
        scene.advance(seconds=0.1)
    path = trace.save(tmp_path / "new" / "t.json")
    before = path.read_bytes()

    def broken(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mainspring.capture._picture.Picture.svg", broken)
    with pytest.raises(KeyboardInterrupt):
        trace.save(tmp_path / "other" / "t.svg")
    (tmp_path / "file").touch()
    with pytest.raises(CaptureError, match=r"t\.json was not written"):
        trace.save(tmp_path / "file" / "t.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "new"]
    assert path.read_bytes() == before


def test_an_empty_trace_is_drawn(tmp_path: Path) -> None:
    trace = Trace(Scene())
    with trace:
        pass
    assert "no instant was seen" in trace.save(tmp_path / "t.svg").read_text()
    json.loads(trace.save(tmp_path / "t.json").read_text())

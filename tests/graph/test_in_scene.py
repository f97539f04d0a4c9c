"""A graph in a scene: its place, its inputs, its wake-ups, its messages, its state."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mainspring import Scene
from mainspring.clock import CallbackError, Phase
from mainspring.errors import StateError
from mainspring.graph import (
    REMOVE,
    SCHEDULER,
    STATE,
    TS,
    TSD,
    GlobalState,
    GraphError,
    Inspector,
    attach,
    compute_node,
    feedback,
    generator,
    graph,
    map_,
    push_queue,
    runner_step,
    runner_time,
    sink_node,
)
from mainspring.scene import load_scene

SENDERS: list[Any] = []
SEEN: list[Any] = []


@compute_node
def total(ts: TS[int], state: STATE[int] = 0) -> TS[int]:
    state.value += ts.value
    return state.value


@graph
def running_total(step: TS[int]) -> TS[int]:
    return total(step)


@compute_node
def echo_later(ts: TS[int], s: SCHEDULER = None) -> TS[int]:
    if ts.modified:
        s.schedule(dt.timedelta(milliseconds=3), "again")
        return ts.value
    return -ts.value


@graph
def echoed(step: TS[int]) -> TS[int]:
    return echo_later(step)


@push_queue(TS[int])
def outside(sender: Any) -> None:
    SENDERS.append(sender)


@graph
def listening() -> TS[int]:
    return total(outside())


@compute_node
def keyed(step: TS[int]) -> TSD[str, TS[int]]:
    from mainspring.graph import REMOVE

    return {
        f"k{step.value % 4}": step.value,
        f"k{(step.value + 2) % 4}": REMOVE if step.value > 1 else 0,
    }


@compute_node
def add(a: TS[int], b: TS[int]) -> TS[int]:
    return a.value + b.value


@graph
def one(ts: TS[int]) -> TS[int]:
    return total(ts)


@generator
def ticking() -> TS[int]:
    for i in range(1000):
        yield dt.timedelta(milliseconds=7), i


@sink_node
def tell(ts: TS[int]) -> None:
    SEEN.append(ts.value)


@graph
def everything(step: TS[int]) -> TSD[str, TS[int]]:
    back = feedback(TS[int], 0)
    back(add(step, total(step)))
    tell(back())
    tell(ticking())
    return map_(one, keyed(step))


def test_a_graph_steps_with_its_runner_and_is_read_in_the_same_step() -> None:
    scene = Scene()
    part = attach(scene, running_total, inputs={"step": runner_step})
    read: list[Any] = []
    scene.time.register(
        lambda c: read.append((c.time, part.value, part.modified)), phase=Phase.EXPORT
    )
    scene.advance(steps=4)
    assert read == [
        (0, 0, True), (20_000_000, 1, True), (40_000_000, 3, True), (60_000_000, 6, True),
    ]  # fmt: skip
    assert scene.subsystems["running_total"] is part


def test_it_runs_in_the_phase_and_runner_it_was_given() -> None:
    scene = Scene()
    order: list[str] = []
    attach(
        scene, running_total, inputs={"step": runner_step}, runner="Capture", phase="Validation",
        name="sums", output=lambda change: order.append(f"graph {change}"),
    )  # fmt: skip
    scene.time.register(lambda c: order.append("before"), runner="Capture", phase=Phase.PHYSICS)
    scene.time.register(lambda c: order.append("after"), runner="Capture", phase=Phase.EXPORT)
    scene.advance(steps=2, runner="Capture")
    assert order == ["before", "graph 0", "after", "before", "graph 1", "after"]
    (entry,) = [e for e in scene.time.execution_order() if e.name == "sums"]
    assert (entry.runner, entry.phase) == ("Capture", Phase.VALIDATION)


def test_what_the_graph_schedules_becomes_wake_ups_of_the_timeline() -> None:
    scene = Scene()
    ticks: list[tuple[int, int]] = []
    attach(
        scene, echoed, inputs={"step": runner_step},
        output=lambda change: ticks.append((scene.time.now, change)),
    )  # fmt: skip
    scene.advance(seconds=0.06)
    assert ticks == [
        (0, 0), (3_000_000, 0), (20_000_000, 1), (23_000_000, -1), (40_000_000, 2), (43_000_000, -2),
    ]  # fmt: skip


def test_inputs_are_sampled_at_the_step_and_none_does_not_tick() -> None:
    @compute_node
    def spread(ts: TS[np.ndarray]) -> TS[float]:
        return float(ts.value.max() - ts.value.min())

    @graph
    def of_column(column: TS[np.ndarray], time: TS[int]) -> TS[float]:
        return spread(column)

    scene = Scene()
    column = np.zeros(3)

    def change(context: Any) -> None:
        column[0] += 1.0

    scene.time.register(change, phase=Phase.ACQUISITION)
    read = iter([True, False, True])
    part = attach(
        scene, of_column,
        inputs={"column": lambda: column if next(read) else None, "time": runner_time},
    )  # fmt: skip
    seen = []
    for _ in range(3):
        scene.advance(steps=1)
        seen.append(part.value)
    assert seen == [1.0, 1.0, 3.0]


def test_messages_come_through_the_inbox_and_are_shown_to_observers() -> None:
    SENDERS.clear()
    scene = Scene()
    part = attach(scene, listening)
    shown: list[Any] = []

    class Observer:
        def inputs(self, time_ns: int, inputs: Any) -> None:
            shown.extend((time_ns, i.seq, i.kind, i.payload) for i in inputs)

    scene.time.observers.add(Observer())
    scene.advance(steps=1)
    thread = threading.Thread(target=lambda: [SENDERS[0](n) for n in (5, 6)])
    thread.start()
    thread.join()
    assert part.value is None
    scene.advance(steps=2)
    assert part.value == 11
    assert [s[2:] for s in shown] == [
        ("push", {"graph": "listening", "node": "outside[0]", "message": n}) for n in (5, 6)
    ]
    part.push("outsid", 1)
    with pytest.raises(CallbackError, match="no push source 'outsid'"):
        scene.advance(steps=1)


def run_everything(scene: Scene) -> Any:
    return attach(scene, everything, inputs={"step": runner_step})


def test_a_scene_with_a_graph_saves_restores_and_hashes() -> None:
    """Feedback, generators, nested graphs with keys coming and going: all of it is state."""
    SEEN.clear()
    first = Scene()
    part = run_everything(first)
    first.advance(seconds=0.31)
    saved, at, value = first.save(), first.hash(), dict(part.value)
    so_far = list(SEEN)
    first.advance(seconds=0.4)
    expected, end = SEEN[len(so_far) :], first.hash()
    SEEN.clear()
    second = Scene()
    again = run_everything(second)
    second.restore(saved)
    assert SEEN == []  # what sinks did is not done again
    assert second.hash() == at
    assert dict(again.value) == value
    second.advance(seconds=0.4)
    assert second.hash() == end
    assert expected == SEEN
    first.restore(saved)  # and back, in place
    assert first.hash() == at
    first.advance(seconds=0.4)
    assert first.hash() == end


@compute_node
def shares(ts: TS[int], shared: GlobalState = None) -> TS[int]:
    shared["injected"] = shared.get("injected", 0) + 1
    GlobalState.instance()["found"] = GlobalState.instance().get("found", 0) + 10
    return shared["injected"] + GlobalState.instance()["found"]


@graph
def sharing(step: TS[int]) -> TS[int]:
    return shares(step)


def test_what_nodes_share_is_state_of_their_graph_alone() -> None:
    def made() -> tuple[Scene, Any]:
        scene = Scene()
        return scene, attach(scene, sharing, inputs={"step": runner_step})

    with GlobalState() as outside:
        (first, _), (whole, expected) = made(), made()
        whole.advance(steps=6)
        assert expected.value == 66
        first.advance(steps=4)
        saved = first.save()
        second, part = made()
        second.restore(saved)
        assert second.hash() == first.hash()
        second.advance(steps=2)
        assert part.value == 66
        assert second.hash() == whole.hash()
        first.reset()
        first.advance(steps=6)
        assert first.hash() == whole.hash()
        first.stop()
        first.advance(steps=1)
        assert first.subsystems["sharing"].value == 77
        assert len(outside) == 0


@push_queue(TSD[int, TS[int]])
def rows_outside(sender: Any) -> None:
    SENDERS.append(sender)


@graph
def rows() -> TSD[int, TS[int]]:
    return rows_outside()


def test_a_message_that_removes_a_key_waits_as_any_other() -> None:
    SENDERS.clear()
    scene = Scene()
    part = attach(scene, rows)
    scene.advance(steps=1)
    SENDERS[0]({1: 1, 2: 2})
    SENDERS[0]({1: REMOVE})
    saved, at = scene.save(), scene.hash()
    again = Scene()
    attach(again, rows)
    again.restore(saved)
    assert again.hash() == at
    for one in (scene, again):
        one.advance(steps=2)
    assert part.value == {2: 2}
    assert again.hash() == scene.hash()


def test_waiting_messages_are_state() -> None:
    SENDERS.clear()
    scene = Scene()
    part = attach(scene, listening)
    scene.advance(steps=1)
    SENDERS[0](3)
    saved = scene.save()
    scene.advance(steps=1)
    assert part.value == 3
    scene.restore(saved)
    assert part.value is None
    scene.advance(steps=1)
    assert part.value == 3


def test_reset_begins_again() -> None:
    scene = Scene()
    part = run_everything(scene)
    scene.advance(seconds=0.2)
    end = scene.hash()
    scene.reset()
    assert part.value is None
    scene.advance(seconds=0.2)
    assert scene.hash() == end


def test_stopping_stops_nodes_and_starting_again_goes_on() -> None:
    scene = Scene()
    part = attach(scene, running_total, inputs={"step": runner_step})
    scene.advance(steps=3)
    scene.stop()
    with pytest.raises(GraphError, match="not running"):
        _ = part.running
    scene.advance(steps=1)
    assert part.value == 6


def test_what_cannot_be_saved_is_refused_with_its_node() -> None:
    @compute_node
    def hoards(ts: TS[int], state: STATE = None) -> TS[int]:
        state.kept = open
        return ts.value

    @graph
    def unsaveable(step: TS[int]) -> TS[int]:
        return hoards(step)

    scene = Scene()
    attach(scene, unsaveable, inputs={"step": runner_step}, name="odd")
    scene.advance(steps=1)
    with pytest.raises(StateError, match=r"odd.*hoards"):
        scene.save()
    with pytest.raises(StateError, match=r"odd.*hoards"):
        scene.hash()


def test_a_failing_node_ends_the_instant_with_its_path() -> None:
    @compute_node
    def fails(ts: TS[int]) -> TS[int]:
        raise ValueError("no")

    @graph
    def bad(step: TS[int]) -> TS[int]:
        return fails(step)

    scene = Scene()
    attach(scene, bad, inputs={"step": runner_step})
    with pytest.raises(CallbackError, match="fails"):
        scene.advance(steps=1)


def test_wrong_inputs_are_refused_at_once() -> None:
    with pytest.raises(GraphError, match="no input 'stp'") as caught:
        attach(Scene(), running_total, inputs={"stp": runner_step})
    assert "step" in (caught.value.hint or "")


def test_an_inspector_looks_into_a_scene_s_graph() -> None:
    scene = Scene()
    part = attach(scene, running_total, inputs={"step": runner_step})
    scene.advance(steps=3)
    seen = Inspector(part.running)["total"]
    assert seen.value == 3
    assert seen.state.value == 3


def test_two_graphs_share_a_scene() -> None:
    scene = Scene()
    first = attach(scene, running_total, inputs={"step": runner_step})
    second = attach(scene, running_total, inputs={"step": lambda: first.value}, priority=1)
    scene.advance(steps=4)
    assert (first.value, second.value) == (6, 10)
    assert list(scene.subsystems) == ["running_total", "running_total_2"]


def test_a_scene_file_brings_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_graphs.py").write_text(
        "from mainspring.graph import TS, compute_node, graph\n"
        "@compute_node\n"
        "def double(ts: TS[int]) -> TS[int]:\n"
        "    return ts.value * 2\n"
        "@graph\n"
        "def doubled(step: TS[int]) -> TS[int]:\n"
        "    return double(step)\n"
    )
    (tmp_path / "main.toml").write_text(
        '[[subsystem]]\ntype = "mainspring.graph:GraphSubsystem"\nname = "twice"\n'
        'runner = "Robot"\nphase = "Control"\n'
        'args = { graph = "my_graphs:doubled", inputs = { step = "mainspring.graph:runner_step" } }\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    scene = load_scene(tmp_path / "main.toml")
    scene.advance(steps=5)
    assert scene.subsystems["twice"].value == 8

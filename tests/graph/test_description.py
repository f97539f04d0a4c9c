"""What wiring ends in: printed, saved, loaded, drawn, and shown from the command line."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mainspring.cli.main import app
from mainspring.graph import (
    SCHEDULER,
    STATE,
    TS,
    TSB,
    TSD,
    GraphDescription,
    GraphError,
    RunningGraph,
    TimeSeriesSchema,
    compute_node,
    const,
    feedback,
    graph,
    map_,
    reduce,
    sink_node,
    switch_,
    wire_graph,
)

GOT: list[object] = []


class Pair(TimeSeriesSchema):
    left: TS[int]
    right: TS[str]


@compute_node
def double(ts: TS[int], state: STATE[int] = 3) -> TS[int]:
    state.value += 1
    return ts.value * 2


@double.start
def double_start(state: STATE[int]) -> None:
    state.value = 1


@compute_node(active=("a",))
def add(a: TS[int], b: TS[int]) -> TS[int]:
    return a.value + b.value


@compute_node
def later(ts: TS[int], s: SCHEDULER = None) -> TSB[Pair]:
    return {"left": ts.value, "right": "x"}


@sink_node
def keep(ts: TS[int], name: str = "x") -> None:
    GOT.append((name, ts.value))


@graph
def twice_and_once(ts: TS[int]) -> TS[int]:
    return add(double(ts), ts)


@graph
def program() -> TS[int]:
    back = feedback(TS[int], 1)
    a = double(const(4))
    by_key = map_(twice_and_once, const({"p": 1, "q": 2}, TSD[str, TS[int]]))
    total = reduce(add, by_key, 0)
    either = switch_({"a": double, "b": twice_and_once}, const("b"), a)
    result = add(a, back())
    back(a)
    keep(total, "total")
    keep(either, "either")
    keep(later(a).left, "left")
    return result


@graph
def with_local() -> None:
    @compute_node
    def local(ts: TS[int]) -> TS[int]:
        return ts.value

    keep(local(const(1)))


def ticks(description: GraphDescription) -> list[object]:
    GOT.clear()
    running = RunningGraph(description)
    running.start()
    running.run()
    running.stop()
    running.dispose()
    return list(GOT)


def test_a_saved_description_comes_back_equal_and_runs_alike() -> None:
    first = wire_graph(program)
    text = first.to_json()
    again = GraphDescription.from_json(text)
    assert again == first
    assert again.to_json() == text
    assert again.missing == ()
    assert ticks(again) == ticks(first)
    assert ("total", 9) in GOT


def test_the_same_graph_gives_the_same_bytes_in_every_form() -> None:
    one, two = wire_graph(program), wire_graph(program)
    assert str(one) == str(two)
    for form in ("to_json", "to_mermaid", "to_dot", "to_svg"):
        assert getattr(one, form)() == getattr(two, form)(), form


def test_a_description_cannot_be_changed() -> None:
    made = wire_graph(program)
    with pytest.raises(AttributeError):
        made.nodes[0].name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        next(n for n in made.nodes if n.plan).plan["eval"] = None  # type: ignore[index]


def test_what_cannot_be_found_again_is_named_when_it_is_to_run() -> None:
    again = GraphDescription.from_json(wire_graph(with_local).to_json())
    assert "local[1]" in again.missing[0]
    assert "local" in again.to_svg()
    with pytest.raises(GraphError, match="local") as caught:
        RunningGraph(again)
    assert "top of a module" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "mainspring.graph", "version": 9}'])
def test_what_is_no_description_is_refused(text: str) -> None:
    with pytest.raises(GraphError, match="saved graph"):
        GraphDescription.from_json(text)


def test_damage_is_an_error_of_ours() -> None:
    text = wire_graph(program).to_json()
    for at in range(0, len(text), 997):
        for damaged in (text[:at], text[:at] + text[at + 40 :]):
            try:
                GraphDescription.from_json(damaged)
            except GraphError:
                continue


def test_the_picture_is_well_formed_and_shows_every_node() -> None:
    made = wire_graph(program)
    tree = ET.fromstring(made.to_svg())
    words = [element.text for element in tree.iter() if element.tag.endswith("}text")]
    for name in ("double", "map_(twice_and_once)", "reduce(add)", "feedback_sink", "const(4)"):
        assert name in words, name


def test_boxes_of_a_picture_do_not_overlap() -> None:
    tree = ET.fromstring(wire_graph(program).to_svg())
    body = next(child for child in tree if child.tag.endswith("}g"))
    boxes = [
        tuple(float(rect.get(k, 0)) for k in ("x", "y", "width", "height"))
        for rect in body
        if rect.tag.endswith("}rect") and rect.get("stroke-dasharray") is None
    ]
    for i, (x, y, w, h) in enumerate(boxes):
        for x2, y2, w2, h2 in boxes[:i]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def test_mermaid_and_dot_carry_every_edge() -> None:
    made = wire_graph(program)
    edges = sum(len(node.inputs) for node in made.nodes)
    mermaid = [line for line in made.to_mermaid().splitlines() if line.startswith("  n")]
    assert sum("-->" in line or "-.->" in line for line in mermaid) == edges + 1  # and the result
    assert "next cycle" in made.to_dot()
    assert made.to_dot().count("{") == made.to_dot().count("}")


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("text", "graph program"),
        ("json", "{"),
        ("mermaid", "flowchart TD"),
        ("dot", 'digraph "program"'),
        ("svg", "<svg"),
    ],
)
def test_the_command_shows_a_graph(form: str, begins: str, tmp_path: Path) -> None:
    target = f"{__file__}:program"
    result = CliRunner().invoke(app, ["graph", "show", target, "--format", form])
    assert result.exit_code == 0, result.output
    assert result.output.startswith(begins)
    out = tmp_path / "graph.out"
    assert (
        CliRunner()
        .invoke(app, ["graph", "show", target, "--format", form, "--out", str(out)])
        .exit_code
        == 0
    )
    assert out.read_text() == result.output


def test_the_command_shows_a_saved_graph(tmp_path: Path) -> None:
    saved = tmp_path / "graph.json"
    saved.write_text(wire_graph(program).to_json())
    result = CliRunner().invoke(app, ["graph", "show", str(saved)])
    assert result.output.startswith("graph program")

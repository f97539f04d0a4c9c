"""Models: what is wrong with a file is said with file, line and reason, whatever the file holds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from physics_worlds import KINDS, MJCF, PLANE, SPACE, needs

from mainspring.errors import MissingExtraError
from mainspring.physics import (
    Body,
    Box2D,
    DivergenceError,
    Joint,
    Model,
    ModelError,
    MuJoCo,
    Rapier,
    StepError,
)
from mainspring.physics._kinds import require
from mainspring.physics._steps import as_step, substeps_of
from mainspring.scene import load_scene

FAULTS = [
    ("x =", 1, "Invalid value"),
    ('[[body]]\nname = "a"\n\n[[body]]\nname = "b"\nmas = 3', 6, "unknown field `mas`"),
    ('[[body]]\nname = "a"\nmass = -1', 3, "> 0"),
    ('[[body]]\nname = "a"\nmass = "heavy"', 3, "float"),
    ('[[body]]\nname = "a"\nsize = [1, 2]', 3, "is 3 numbers, not 2"),
    ('[[body]]\nname = "a"\nsize = [1, 2, -1]', 3, "size below"),
    ('[[body]]\nname = "a"\nposition = [1, nan, 0]', 3, "not finite"),
    ('[[body]]\nname = "a"\nposition = [1e7, 0, 0]', 3, "1e+06 or more"),
    ('[[body]]\nname = "a"\ncount = [1000, 1, 1]\nspacing = [9e4, 0, 0]', 4, "1e+06 or more"),
    ('[[body]]\nname = "a"\nmass = 1e-12', 3, "would weigh 1e-12 kg"),
    ('[[body]]\nname = "a"\nfriction = 1e30', 3, "1e+10 or more"),
    ('[[body]]\nname = "a"\nrotation = [0, 0, 0, 0]', 3, "length zero"),
    ('[[body]]\nname = "a"\n[[body]]\nname = "a"', 4, "two bodies are named 'a'"),
    ('[[body]]\nname = "a"\ncount = [0, 1, 1]', 3, "has none"),
    ('[[body]]\nname = "a"\ncount = [10000, 10000, 10000]', 3, "more than"),
    ('[[body]]\nname = "a"\nshape = "cone"', 3, "cone"),
    ('[[body]]\nname = "a"\nshape = "plane"', 1, "endless"),
    ('[[body]]\nname="a"\n[[joint]]\nname="j"\nkind="hinge"\na="a"\nb="c"', 7, "no body 'c'"),
    ('[[body]]\nname="a"\n[[joint]]\nname="j"\nkind="hinge"\na="a"\nb="a"', 7, "to itself"),
    ("gravity = [1, 2]", 1, "length 3"),
    ("body = 3", 1, "array"),
    ("[[body]]\nmass = 1", 1, "`name`"),
]


@pytest.mark.parametrize(("text", "line", "reason"), FAULTS)
def test_faults_have_file_line_and_reason(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    """Every fault of a model file is where the error says it is."""
    path = tmp_path / "yard.toml"
    path.write_text(text)
    with pytest.raises(ModelError) as caught:
        Model.load(path)
    assert caught.value.file == str(path)
    assert caught.value.line == line
    assert reason in str(caught.value)


def test_models_made_in_python_are_checked_too() -> None:
    """The same faults, without a line."""
    with pytest.raises(ModelError, match="no body 'b'"):
        Model([Body(name="a")], [Joint(name="j", kind="ball", a="a", b="b")])
    with pytest.raises(ModelError, match="wrong way round"):
        Model(
            [Body(name="a"), Body(name="b")],
            [Joint(name="j", kind="hinge", a="a", b="b", limits=(1.0, -1.0))],
        )
    with pytest.raises(ModelError, match="no motor"):
        Model(
            [Body(name="a"), Body(name="b")],
            [Joint(name="j", kind="ball", a="a", b="b", motor_force=1.0)],
        )


def test_grids_are_laid_out() -> None:
    """A count makes a grid, x fastest."""
    model = Model([Body(name="c", count=(2, 1, 2), spacing=(1.0, 1.0, 3.0))])
    assert [body.name for body in model.bodies] == ["c_0", "c_1", "c_2", "c_3"]
    assert model.bodies[3].position == (1.0, 0.0, 3.0)


def test_what_an_engine_lacks_is_said() -> None:
    """A polygon in Rapier, a capsule in Box2D, gravity out of the plane."""
    needs("rapier")
    needs("box2d")
    polygon = Body(name="p", shape="polygon", vertices=((0, 0), (1, 0), (0, 1)))
    with pytest.raises(ModelError, match="which Rapier does not have"):
        Rapier(Model([polygon]))
    with pytest.raises(ModelError) as caught:
        Rapier(Model.parse('[[body]]\nname = "a"\n\n[[body]]\nname = "p"\nshape = "polygon"\n'
                           "vertices = [[0, 0], [1, 0], [0, 1]]", file="yard.toml"))  # fmt: skip
    assert (caught.value.file, caught.value.line) == ("yard.toml", 4)
    Box2D(Model([polygon], gravity=(0, -9.81, 0)))
    line = Body(name="flat", kind="fixed", shape="polygon", vertices=((0, 0), (1, 0), (2, 0)))
    with pytest.raises(ModelError, match="no polygon to Box2D"):
        Box2D(Model([line], gravity=(0, -9.81, 0)))
    with pytest.raises(ModelError, match="is no model"):
        Rapier(5)
    with pytest.raises(ModelError, match="which Box2D does not have"):
        Box2D(Model([Body(name="c", shape="capsule", size=(1, 1))], gravity=(0, -9.81, 0)))
    with pytest.raises(ModelError, match=r"out of the x-y plane"):
        Box2D(Model([Body(name="c")]))


MJCF_FAULTS = [
    ('<mujoco>\n<worldbody>\n<geom type="bo"/></worldbody></mujoco>', 3, "bo"),
    ("<mujoco>\n<worldbody>\n<body><geom\n</worldbody></mujoco>", 3, "XML"),
    ("<mujoco>\n<worldbody>\n<body><freejoint/></body></worldbody></mujoco>", 3, "mass"),
    (
        '<mujoco>\n<worldbody>\n<body>\n<joint/>\n<geom size="-1"/></body></worldbody></mujoco>',
        5,
        "size",
    ),
    ('<mujoco>\n<include file="nope.xml"/></mujoco>', 2, "nope.xml"),
    ("garbage", 1, "XML"),
]


@pytest.mark.parametrize(("text", "line", "reason"), MJCF_FAULTS)
def test_mjcf_faults_have_file_line_and_reason(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    """MuJoCo's own complaints, with the file and the line."""
    needs("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(text)
    with pytest.raises(ModelError) as caught:
        MuJoCo(path)
    assert caught.value.file == str(path)
    assert caught.value.line == line
    assert reason in str(caught.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    """Both kinds of model name the file."""
    needs("mujoco")
    for load in (MuJoCo, Model.load):
        with pytest.raises(ModelError, match=r"no such file|No such file"):
            load(tmp_path / "nothing.xml")
    with pytest.raises(ModelError, match=r"folder|directory"):
        MuJoCo(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    with pytest.raises(ModelError, match="UTF-8"):
        Model.load(tmp_path / "latin.toml")


def test_a_missing_engine_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the error says how to get it."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mainspring\[mujoco\]'"):
        MuJoCo(MJCF)
    with pytest.raises(MissingExtraError, match=r"pip install 'mainspring\[jolt\]'"):
        require("a_module_that_is_nowhere", "the Jolt solver", "jolt")


def cut_and_mixed(text: str) -> st.SearchStrategy[str]:
    """`text` with a piece cut out, put in elsewhere, or replaced by anything."""
    index = st.integers(0, len(text))

    def edit(parts: tuple[int, int, int, str]) -> str:
        first, second, third, junk = parts
        a, b = sorted((first, second))
        piece = text[a:b]
        rest = text[:a] + junk + text[b:]
        at = third % (len(rest) + 1)
        return rest[:at] + piece + rest[at:] if len(junk) % 2 else rest

    return st.tuples(index, index, index, st.text(max_size=12)).map(edit)


SLOWLY = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOWLY
@given(cut_and_mixed(SPACE))
def test_any_toml_is_a_model_or_an_error(text: str) -> None:
    """Whatever a file holds, loading ends in a model that runs or in a `ModelError`."""
    try:
        model = Model.parse(text, file="fuzzed.toml")
    except ModelError as error:
        refused = error
    else:
        refused = None
    if refused is not None:
        assert refused.file == "fuzzed.toml"
        assert refused.line is not None
        assert 1 <= refused.line <= text.count("\n") + 2
    elif len(model.bodies) <= 100:
        needs("rapier")
        Rapier(model).advance(2)


@SLOWLY
@given(cut_and_mixed(PLANE))
def test_any_plane_model_runs_or_is_refused(text: str) -> None:
    """The same for Box2D."""
    needs("box2d")
    try:
        model = Model.parse(text)
        if len(model.bodies) <= 100:
            Box2D(model).advance(2)
    except ModelError:
        return


EXTREME = st.sampled_from([0.0, -0.0, 5e-324, 1e-12, 1e-6, 0.5, 1e3, -1e5, 9e5, 1e7, 1e30, 1e308])
NUMBER = st.one_of(st.floats(-5, 5), EXTREME)


@st.composite
def any_bodies(draw: st.DrawFn, *shapes: str) -> Model:
    """Bodies with numbers of every size, well-formed as a file."""
    sizes = {"box": 3, "sphere": 1, "capsule": 2, "cylinder": 2}
    bodies = []
    for index in range(draw(st.integers(1, 4))):
        shape = draw(st.sampled_from(shapes))
        triple = st.tuples(NUMBER, NUMBER, NUMBER)
        size = draw(st.lists(NUMBER.map(abs), min_size=sizes.get(shape, 1), max_size=3))
        corners = st.lists(st.tuples(NUMBER, NUMBER), min_size=3, max_size=8)
        bodies.append(
            Body(
                name=f"b{index}", shape=shape, kind=draw(st.sampled_from(("fixed", "dynamic"))),
                size=tuple(size[: sizes.get(shape, 1)]), position=draw(triple),
                velocity=draw(triple), mass=draw(st.none() | NUMBER.map(abs).filter(bool)),
                vertices=tuple(draw(corners)) if shape == "polygon" else (),
            )
        )  # fmt: skip
    return Model(bodies, gravity=(0.0, -9.81, 0.0))


@pytest.mark.parametrize("engine", ["rapier", "jolt", "box2d"])
@SLOWLY
@given(st.data())
def test_numbers_of_any_size_run_or_are_refused(engine: str, data: st.DataObject) -> None:
    """What a model may say, each engine takes, refuses as a model, or ends as diverged."""
    needs(engine)
    shapes = ["box", "sphere"] + (["polygon"] if engine == "box2d" else ["capsule", "cylinder"])
    try:
        solver = KINDS[engine](data.draw(any_bodies(*shapes)), step="1/60")
        solver.advance(3)
        solver.contacts()
        solver.events()
    except (ModelError, DivergenceError):
        return


@SLOWLY
@given(cut_and_mixed(MJCF))
def test_any_mjcf_is_a_model_or_an_error(text: str) -> None:
    """MuJoCo refuses or runs; nothing else comes out."""
    needs("mujoco")
    try:
        MuJoCo("<" + text.lstrip().removeprefix("<"))
    except (ModelError, StepError):
        return


@given(st.fractions(min_value="1/100000", max_value=1), st.integers(1, 1000))
def test_what_divides_is_counted(runner_step: object, count: int) -> None:
    """A step made by dividing is accepted with that count, whatever the fraction."""
    from fractions import Fraction

    assert isinstance(runner_step, Fraction)
    assert substeps_of(runner_step, runner_step / count, "s") == count


def test_steps_as_written() -> None:
    """A float is what it says: 0.002 is 1/500; nonsense is refused."""
    assert as_step(0.002) == as_step("1/500")
    for wrong in (0, -1, float("nan"), float("inf"), "soon", "1/0"):
        with pytest.raises(StepError, match="not a positive number"):
            as_step(wrong)


def test_a_scene_file_finds_the_models_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From whatever folder the scene is run."""
    needs("mujoco")
    needs("rapier")
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "yard"
    (folder / "models").mkdir(parents=True)
    (folder / "models" / "yard.xml").write_text(MJCF)
    (folder / "yard.toml").write_text(SPACE)
    (folder / "scene.toml").write_text(
        """
        [[runner]]
        name = "Physics"
        rate = 60
        [[subsystem]]
        type = "mainspring.physics:MuJoCo"
        args = { model = "models/yard.xml", substeps = 8 }
        [[subsystem]]
        type = "mainspring.physics:Rapier"
        args = { model = "yard.toml" }
        """
    )
    monkeypatch.chdir(tmp_path)
    scene = load_scene("yard/scene.toml")
    scene.advance(seconds=0.1)
    assert list(scene.subsystems) == ["mujoco", "rapier"]


def test_a_missing_mesh_is_told_with_its_line(tmp_path: Path) -> None:
    """MuJoCo tells no line for a file that is not there; the model does."""
    needs("mujoco")
    text = "<mujoco>\n<asset>\n<mesh name='m' file='parts/gear.stl'/>\n</asset>\n</mujoco>"
    (tmp_path / "arm.xml").write_text(text)
    for model in (text, tmp_path / "arm.xml"):
        with pytest.raises(ModelError, match=r"gear\.stl") as caught:
            MuJoCo(model)
        assert caught.value.line == 3


@pytest.mark.parametrize("model", [None, 5, b"<mujoco/>"])
def test_what_is_no_model_is_refused(model: object) -> None:
    """With what would be one."""
    needs("mujoco")
    with pytest.raises(ModelError, match="is no model"):
        MuJoCo(model)

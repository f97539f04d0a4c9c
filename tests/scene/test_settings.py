"""Scene files: read whole or not at all, every fault at once, comments kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring import Phase, SettingsError, TimeMode
from mainspring.scene import (
    SceneSettings,
    json_schema,
    load_scene,
    open_scene,
    read_settings,
    write_settings,
)
from mainspring.scene._settings import parse_settings

SCRIPTS = """
from mainspring import Script, Subsystem

class Arm(Script):
    def __init__(self, gain=1.0):
        self.gain = gain
    def on_update(self, ts):
        pass

class Solver(Subsystem):
    def step(self, context):
        pass
"""

FULL = """\
# A cell.
[scene]
name = "cell"            # shown in tables
seed = 7
mode = "game_realtime"
frame_budget_ms = 8.5
max_frame_delta_ms = 100
frame_rate = "30000/1001"

[[runner]]
name = "Robot"
rate = 500

[[runner]]
name = "Slow"  # half a hertz
rate = 0.5

[bindings.on_update]
runner = "Slow"
phase = "physics"
priority = 3

[bindings.on_free_pre_update]
enabled = true

[[script]]
type = "parts_of_cell:Arm"
name = "left"
args = { gain = 2.5 }

[[subsystem]]
type = "parts_of_cell:Solver"
runner = "Robot"
phase = "export"
priority = -1
"""


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "parts_of_cell.py").write_text(SCRIPTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "cell.toml"
    path.write_text(FULL)
    return path


def test_a_file_becomes_a_scene(cell: Path) -> None:
    """Everything a file says is in the scene it builds."""
    scene = load_scene(cell)
    assert (scene.name, scene.seed, scene.time.mode) == ("cell", 7, TimeMode.GAME_REALTIME)
    assert scene.time.frame_budget_ns == 8_500_000
    assert scene.time.max_frame_delta_ns == 100_000_000
    assert str(scene.time.frame_rate) == "30000/1001 Hz"
    assert [(r.name, str(r.rate)) for r in scene.time.runners] == [
        ("Robot", "500 Hz"),
        ("Slow", "0.5 Hz"),
    ]
    binding = scene.bindings.on_update
    assert (binding.runner.name, binding.phase, binding.priority) == ("Slow", Phase.PHYSICS, 3)
    assert scene.bindings.on_free_pre_update.enabled
    assert scene.scripts["left"].gain == 2.5  # type: ignore[attr-defined]
    rows = [(r.phase, r.priority, r.name, r.runner) for r in scene.time.execution_order()]
    assert rows == [
        (Phase.PHYSICS, 3, "left.on_update", "Slow"),
        (Phase.EXPORT, -1, "Solver", "Robot"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("[scene]\nsead = 1", 2, "scene.sead", "did you mean 'seed'"),
        ("[scene]\nseed = 'x'", 2, "scene.seed", "an integer"),
        ("[scene]\nseed = true", 2, "scene.seed", "an integer"),
        ("[scene]\nmode = 'sim_realtme'", 2, "scene.mode", "did you mean 'sim_realtime'"),
        ("[scene]\nframe_budget_ms = 0", 2, "scene.frame_budget_ms", "above 0"),
        ("[[runner]]\nname = 'a'\nrate = -1", 3, "runner[0].rate", "above zero"),
        ("[[runner]]\nname = 'a'", 1, "runner[0].rate", "no rate"),
        ("[[runner]]\nrate = 3", 1, "runner[0].name", "no name"),
        ("runner = 3", 1, "runner", "[[runner]]"),
        ("[bindings.on_updte]\npriority = 1", 1, "bindings.on_updte", "did you mean 'on_update'"),
        ("[bindings.on_update]\nphase = 'ctrl'", 2, "bindings.on_update.phase", "control"),
        ("[bindings.on_update]\nrunner = 'Rbot'", 2, "bindings.on_update.runner", "'Robot'"),
        ("[bindings.on_free_pre_update]\nrunner='Robot'", 2, "bindings.on_free_pre_update.runner",
         "once a frame"),
        ("[[script]]\nname = 'x'", 1, "script[0].type", "no type"),
        ("[[script]]\ntype = 'no_such_module:X'", 2, "script[0].type", "cannot be imported"),
        ("[[script]]\ntype = 'parts_of_cell:Amr'", 2, "script[0].type", "did you mean 'Arm'"),
        ("[[script]]\ntype = 'parts_of_cell:Solver'", 2, "script[0].type", "subclass of Script"),
        ("[[script]]\ntype = 'parts_of_cell:Arm'\nargs = {gian=1}", 3, "script[0].args", "gian"),
        ("[[subsystem]]\ntype='parts_of_cell:Solver'\nrunner='X'", 3, "subsystem[0].runner",
         "one of Robot, Capture"),
        ("[scne]\nseed = 1", 1, "scne", "did you mean 'scene'"),
        ("[scene]\nseed = 1\nseed = 2\n", 3, "the file", "Cannot overwrite a value"),
        ("[scene\nseed = 1", 1, "the file", "TOML"),
    ],
)  # fmt: skip
def test_a_fault_names_line_key_and_cure(
    cell: Path, text: str, line: int, key: str, words: str
) -> None:
    """A fault says where it is, what was found, what is allowed, and the nearest valid name."""
    cell.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_scene(cell)
    assert [(f.line, f.key) for f in caught.value.faults] == [(line, key)]
    assert words in str(caught.value)


def test_every_fault_is_told_at_once(cell: Path) -> None:
    """A file with many faults is refused with all of them, in the order of their lines."""
    cell.write_text("[scene]\nsead = 1\nmode = 3\n\n[[runner]]\nrate = 0\n\n[nope]\n")
    with pytest.raises(SettingsError) as caught:
        load_scene(cell)
    assert [f.line for f in caught.value.faults] == [2, 3, 5, 6, 8]


def test_what_it_names_is_told_with_what_it_says(cell: Path) -> None:
    """Faults of the text and of the classes it names come together, and nothing was built."""
    built = cell.parent / "built_by_a_scene.py"
    built.write_text(
        "from mainspring import Script\n"
        "made = []\n"
        "class Part(Script):\n"
        "    def __init__(self): made.append(self)\n"
    )
    cell.write_text(
        "[scene]\nseed = 'x'\n[[script]]\ntype = 'built_by_a_scene:Part'\n"
        "[[script]]\ntype = 'nowhere:X'\n"
        "[[script]]\ntype = 'parts_of_cell:Arm'\nargs = { gian = 1 }\n"
        "[[subsystem]]\ntype = 'parts_of_cell:Arm'\n[[runner]]\nname = 'a'\nrate = 0\n"
    )
    with pytest.raises(SettingsError) as caught:
        load_scene(cell)
    assert [(f.line, f.key) for f in caught.value.faults] == [
        (2, "scene.seed"),
        (6, "script[1].type"),
        (9, "script[2].args"),
        (11, "subsystem[0].type"),
        (14, "runner[0].rate"),
    ]
    assert "what Arm takes: gain" in str(caught.value)
    assert "did you mean 'gain'" in str(caught.value)
    import built_by_a_scene  # type: ignore[import-not-found]

    assert built_by_a_scene.made == []


def test_a_part_that_cannot_be_made_or_added_is_a_fault(cell: Path) -> None:
    """What a class raises when it is made or attached is told, and kept as the cause."""
    (cell.parent / "raising_parts.py").write_text(
        "from mainspring import Script, Subsystem\n"
        "class Init(Script):\n"
        "    def __init__(self): raise OSError('no device')\n"
        "class Attach(Subsystem):\n"
        "    def attach(self, scene): raise OSError('no bus')\n"
    )
    cell.write_text(
        "[[script]]\ntype = 'raising_parts:Init'\n[[subsystem]]\ntype = 'raising_parts:Attach'\n"
    )
    with pytest.raises(SettingsError) as caught:
        load_scene(cell)
    assert [(f.line, f.hint) for f in caught.value.faults] == [
        (2, "OSError: no device"),
        (4, "OSError: no bus"),
    ]
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("runner = [\n  {name='a', rate=1},\n  {name='b',\n   rate=-1},\n]", [4]),
        ("runner = [{name='a', rate=1}, # ]\n {rate=2}]", [2]),
        ("scene.seed = 'x'\nscene.name = 3", [1, 2]),
        ("[[script]]\ntype = 'parts_of_cell:Arm'\n[script.args]\ngian = 1", [3]),
        ('[scene]\nname = """\n[[runner]]\nrate = 3\n"""\nseed = 1.5', [6]),
        ("[scene]\nname = @@@\n[scene]@@@\nseed = 1.5".replace("@@@", "'" * 3), [4]),
        ("[scene]\n\"sead\" = 1\n'what ever' = 1", [2, 3]),
        ("script = ['x', [\n1], {}]", [1, 1, 2]),
    ],
)
def test_a_line_is_found_in_every_way_of_writing(cell: Path, text: str, places: list[int]) -> None:
    """Inline tables, arrays over many lines, dotted and quoted keys, texts that look like tables."""
    cell.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_scene(cell)
    assert [f.line for f in caught.value.faults] == places


@pytest.mark.parametrize(
    "line",
    [
        "frame_budget_ms = inf",
        "frame_budget_ms = 1e300",
        "max_frame_delta_ms = nan",
        "seed = 123456789012345678901234567890",
        "frame_rate = '1e999999999'",
        "name = ' '",
        "seconds = 0",
        "seconds = inf",
        "seconds = '10'",
    ],
)
def test_a_value_beyond_all_bounds_is_a_fault(cell: Path, line: str) -> None:
    """What no clock could hold is told like any other fault, at once."""
    cell.write_text(f"[scene]\n{line}\n")
    with pytest.raises(SettingsError) as caught:
        load_scene(cell)
    assert [f.line for f in caught.value.faults] == [2]


def test_a_run_that_is_not_told_lasts_as_long_as_the_file_says(cell: Path) -> None:
    """And one that is told, as long as it is told."""
    cell.write_text('[scene]\nseconds = 0.5\nmode = "sim_high_performance"\n')
    scene = load_scene(cell)
    assert scene.run().sim_seconds == 0.5
    assert scene.run(0.1).sim_seconds == 0.1
    assert scene.time.now == 600_000_000
    cell.write_text("[scene]\n")
    assert load_scene(cell).seconds is None


def test_line_ends_and_a_mark_of_byte_order_are_taken_as_they_are(cell: Path) -> None:
    """A file from another system is read, and written back with its own line ends."""
    cell.write_bytes(
        b"\xef\xbb\xbf[scene]\r\nseed = 1 # one\r\n\r\n[[runner]]\r\nname='a'\r\nrate=1\r\n"
    )
    settings = read_settings(cell)
    settings.scene["seed"] = 2
    write_settings(settings, cell)
    assert cell.read_bytes() == (
        b"[scene]\r\nseed = 2 # one\r\n\r\n[[runner]]\r\nname='a'\r\nrate=1\r\n"
    )


def test_nine_runners_are_too_many(cell: Path) -> None:
    """A file has one to eight runners, each with a name of its own."""
    cell.write_text("".join(f"[[runner]]\nname = 'r{i}'\nrate = 1\n" for i in range(9)))
    with pytest.raises(SettingsError, match="1 to 8 runners"):
        load_scene(cell)
    cell.write_text("[[runner]]\nname = 'a'\nrate = 1\n" * 2)
    with pytest.raises(SettingsError, match="a name of its own"):
        load_scene(cell)


def test_writing_keeps_comments_and_what_it_does_not_touch(cell: Path) -> None:
    """Changed settings are written into the file; comments and order stay."""
    settings = read_settings(cell)
    settings.scene["seed"] = 8
    settings.runner.append({"name": "IMU", "rate": 200})
    settings.script[0]["args"]["gain"] = 3.5
    del settings.bindings["on_free_pre_update"]
    write_settings(settings, cell)
    text = cell.read_text()
    assert "# A cell." in text
    assert "# shown in tables" in text
    assert "# half a hertz" in text
    again = read_settings(cell)
    assert (again.scene, again.runner, again.script, again.bindings) == (
        settings.scene,
        settings.runner,
        settings.script,
        settings.bindings,
    )


def test_writing_nonsense_leaves_the_file_as_it_was(cell: Path) -> None:
    """Settings that could not be read back are refused, and the file is not touched."""
    settings = read_settings(cell)
    settings.scene["seed"] = "seven"
    with pytest.raises(SettingsError):
        write_settings(settings, cell)
    assert cell.read_text() == FULL
    assert sorted(p.name for p in cell.parent.iterdir() if "toml" in p.name) == ["cell.toml"]


names = st.text("abcdefgh -é", min_size=1, max_size=8).filter(str.strip)
settings_strategy = st.builds(
    SceneSettings,
    scene=st.fixed_dictionaries(
        {},
        optional={
            "name": names,
            "seed": st.integers(-(2**40), 2**40),
            "mode": st.sampled_from([m.value for m in TimeMode]),
            "frame_budget_ms": st.floats(0.1, 1000),
        },
    ),
    runner=st.lists(
        st.fixed_dictionaries({"name": names, "rate": st.integers(1, 10_000)}),
        min_size=1,
        max_size=8,
        unique_by=lambda row: row["name"],
    ),
    bindings=st.dictionaries(
        st.sampled_from(["on_update", "on_late_update"]),
        st.fixed_dictionaries(
            {}, optional={"priority": st.integers(-9, 9), "enabled": st.booleans()}
        ),
        max_size=2,
    ),
)


@given(first=settings_strategy, second=settings_strategy)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, first: SceneSettings, second: SceneSettings
) -> None:
    """Any settings, written over any others, are read back as they were."""
    path = tmp_path_factory.mktemp("scene") / "scene.toml"
    for settings in (first, second):
        write_settings(settings, path)
        again = read_settings(path)
        written = path.read_text().splitlines()
        for place, line in again.lines.items():  # each key is where it is said to be
            name = place.rpartition(".")[2].partition("[")[0]
            assert name in written[line - 1], (place, line)
        assert (again.scene, again.runner, again.bindings) == (
            settings.scene,
            settings.runner,
            settings.bindings,
        )


def test_the_schema_is_published() -> None:
    """The JSON Schema in the repository is the one the code makes."""
    published = Path(__file__).parents[2] / "docs" / "reference" / "scene.schema.json"
    assert json.loads(published.read_text()) == json_schema()


def test_the_schema_and_the_checks_agree(cell: Path) -> None:
    """What the checks let through, the schema lets through too."""
    jsonschema = pytest.importorskip("jsonschema")
    import tomlkit

    jsonschema.validate(tomlkit.parse(FULL).unwrap(), json_schema())
    for wrong in (
        {"scene": {"sead": 1}},
        {"scene": {"frame_budget_ms": 1e12}},
        {"bindings": {"on_free_pre_update": {"runner": "Robot"}}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, json_schema())


def test_a_scene_is_opened_by_what_names_it(cell: Path) -> None:
    """A file, file.py:function and module:function all open."""
    build = cell.parent / "builds.py"
    build.write_text("from mainspring import Scene\ndef build():\n    return Scene('built')\n")
    assert open_scene(str(cell)).name == "cell"
    assert open_scene(str(build)).name == "built"
    assert open_scene(f"{build}:build").name == "built"
    assert open_scene("builds:build").name == "built"


def test_text_without_a_file() -> None:
    """Settings can be checked from text alone."""
    assert parse_settings("").scene == {}

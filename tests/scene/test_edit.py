"""Writing into a scene file: it says what it shall, and a person finds it as it was left."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.scene._edit import edited

ARM = """\
# An arm.
[scene]   # the scene
name = "arm"  # shown in tables
seed = 1

# -- who steps

# the arm itself
[[runner]] # first
name = "Robot"
rate = 50 # hertz

# what is recorded
[[runner]]
name = "Capture"
rate = 29.97

[bindings]
on_update.priority = -5 # early
on_post_update = { enabled = true } # one line

[[script]]
type = "arm:Arm"
args = { gain = 2.0 } # stiff
# the end
"""


def changed(text: str, change: Any) -> str:
    wanted = tomllib.loads(text)
    change(wanted)
    found = edited(text, wanted)
    assert tomllib.loads(found) == wanted
    return found


def test_what_says_it_already_is_not_touched() -> None:
    """Writing what stands there gives the same text, to the letter."""
    assert edited(ARM, tomllib.loads(ARM)) == ARM


def test_a_value_changes_in_its_place() -> None:
    """Nothing but the value is another; what stands beside it stays."""

    def change(wanted: dict[str, Any]) -> None:
        wanted["scene"]["seed"] = 8
        wanted["runner"][0]["rate"] = "30000/1001"
        wanted["script"][0]["args"]["gain"] = 3.5

    expected = ARM.replace("seed = 1", "seed = 8").replace("= 50 #", '= "30000/1001" #')
    assert changed(ARM, change) == expected.replace("2.0", "3.5")


def test_a_new_key_stands_with_the_others_of_its_table() -> None:
    """Before the empty line and the comments of the table that follows, in the style that is used."""

    def change(wanted: dict[str, Any]) -> None:
        wanted["scene"]["frame_rate"] = 120
        wanted["bindings"]["on_update"]["phase"] = "physics"
        wanted["bindings"]["on_post_update"]["priority"] = 3

    text = changed(ARM, change)
    assert "seed = 1\nframe_rate = 120\n\n# -- who steps\n" in text
    assert "on_update.priority = -5 # early\non_update.phase" in text
    assert "on_post_update = { enabled = true, priority = 3 } # one line\n" in text


def test_a_new_table_stands_with_its_family() -> None:
    """A runner after the runners, a binding after the bindings, each after an empty line."""

    def change(wanted: dict[str, Any]) -> None:
        wanted["runner"].append({"name": "IMU", "rate": 500})
        wanted["bindings"]["on_pre_update"] = {"enabled": True}
        wanted["subsystem"] = [{"type": "arm:Wall", "runner": "IMU"}]

    text = changed(ARM, change)
    assert 'rate = 29.97\n\n[[runner]]\nname = "IMU"\nrate = 500\n\n[bindings]\n' in text
    assert "# one line\n\n[bindings.on_pre_update]\nenabled = true\n\n[[script]]" in text
    assert text.endswith('# the end\n\n[[subsystem]]\ntype = "arm:Wall"\nrunner = "IMU"\n')


def test_a_runner_goes_with_its_own_comments() -> None:
    """The other keeps its own, and so it is when they change places."""

    def swap(wanted: dict[str, Any]) -> None:
        wanted["runner"].reverse()

    text = changed(ARM, lambda wanted: wanted["runner"].pop(0))
    assert "first" not in text
    assert "hertz" not in text
    assert "# -- who steps\n\n# what is recorded\n[[runner]]\nname" in text
    text = changed(ARM, swap)
    assert text.index('# what is recorded\n[[runner]]\nname = "Capture"') < text.index(
        '# the arm itself\n[[runner]] # first\nname = "Robot"\nrate = 50 # hertz'
    )


def test_a_renamed_runner_stays_where_it_is() -> None:
    """With another name, and the comments it had."""
    text = changed(ARM, lambda wanted: wanted["runner"][0].update(name="Arm"))
    assert text == ARM.replace('name = "Robot"', 'name = "Arm"')


def test_arrays_in_one_value_keep_their_comments() -> None:
    """Runners that are written as one array stay so."""
    text = 'runner = [\n  { name = "A", rate = 1 }, # a\n  { name = "B", rate = 2 }, # b\n]\n'

    def change(wanted: dict[str, Any]) -> None:
        wanted["runner"][1]["rate"] = 5
        wanted["runner"].append({"name": "C", "rate": 3})

    assert changed(text, change) == (
        'runner = [\n  { name = "A", rate = 1 }, # a\n  { name = "B", rate = 5 }, # b\n'
        '  { name = "C", rate = 3 },\n]\n'
    )
    assert changed(text, lambda wanted: wanted["runner"].pop()).count("# a") == 1


def test_ends_of_lines_stay_what_they_are() -> None:
    """Lines that are added to a file from Windows end as the others do."""
    text = changed(ARM.replace("\n", "\r\n"), lambda wanted: wanted["scene"].update(mode="x"))
    assert "\n" not in text.replace("\r\n", "")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[script.args.a]\nx = 1\n", "script.args"),
        ('[[script]]\ntype = "a"\n[script.args.limits]\nlow = 1\n[[script]]\ntype = "b"\n', "row"),
        (
            '[[script]]\ntype = "a"\n[bindings]\n[script.args]\nx = 1\n[[script]]\ntype = "b"\n',
            "far",
        ),
        ('[[script]]\ntype = "a"\nargs.x = 1\nargs."y z".w = [1, {a = "}"}] # k\n', "dotted"),
        ("scene.seed = 4 # no table\nbindings.on_update.priority = 1\n", "roots"),
        ("\"scene\" = {name = 'a#b', seed = 1}", "no end of line"),
    ],
)
def test_whatever_way_it_is_written(text: str, path: str) -> None:
    """Every form TOML has for a table can be written into."""

    def change(wanted: dict[str, Any]) -> None:
        if isinstance(wanted.get("script"), list):
            wanted["script"][0].setdefault("args", {})["gain"] = {"deep": [1.5, "x"]}
            wanted["script"][0]["name"] = "n"
            wanted["script"].insert(0, {"type": "c", "args": {"k.l": 1}})
        elif "script" in wanted:
            wanted["script"]["args"]["b"] = 2
        else:
            wanted.setdefault("scene", {})["mode"] = "game"
            wanted.setdefault("bindings", {})["on_late_update"] = {"enabled": False}

    found = changed(text, change)
    for comment in re.findall("#.*no table|# k", text):
        assert comment in found


names = st.text("abc .é\"'#\\", min_size=1, max_size=4)
scalars = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.booleans(), names, st.floats(allow_nan=False)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=4,
)
rows = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("ABCD")},
        optional={"rate": scalars, "args": st.dictionaries(names, values, max_size=3)},
    ),
    min_size=1,
    max_size=4,
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "scene": st.dictionaries(st.sampled_from(["name", "seed", "mode"]), scalars, min_size=1),
        "runner": rows,
        "script": rows,
        "bindings": st.dictionaries(
            st.sampled_from(["on_update", "on_late_update"]),
            st.dictionaries(st.sampled_from(["phase", "priority"]), scalars),
            min_size=1,
        ),
    },
)


@given(first=documents, second=documents, third=documents)
def test_any_text_comes_to_say_anything(
    first: dict[str, Any], second: dict[str, Any], third: dict[str, Any]
) -> None:
    """From what one document says to what another says, again and again; and a comment above the
    first line is never lost."""
    text = "# kept\n\n"
    for wanted in (first, second, third, first):
        text = edited(text, wanted)
        assert tomllib.loads(text) == wanted
        assert text.startswith("# kept\n")
        assert edited(text, wanted) == text

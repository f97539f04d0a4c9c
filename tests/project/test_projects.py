"""A project on disk: making, opening, changing, naming."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mainspring.project import Project, ProjectError, ProjectSettingsError
from mainspring.threads import WrongThreadError

from .conftest import on_thread


def test_a_new_project_has_its_folders_and_an_identity(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "cell")
    assert sorted(p.name for p in project.root.iterdir()) == [
        "assets",
        "mainspring.toml",
        "runs",
        "scenes",
        "scripts",
    ]
    assert project.name == "cell"
    assert project.id.startswith("prj_")
    again = Project.open(project.root / "scenes")
    assert (again.root, again.identity) == (project.root, project.identity)


def test_what_exists_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "cell").mkdir()
    with pytest.raises(ProjectError, match="exists already"):
        Project.create(tmp_path / "cell")
    with pytest.raises(ProjectError, match="is not a folder"):
        Project.create(tmp_path / "no" / "cell")
    assert os.listdir(tmp_path / "cell") == []


@pytest.mark.parametrize("name", ["", "../up", "a/b", "con", "LPT1.txt", "-x", "a ", "x" * 101])
def test_names_that_are_no_folders_everywhere_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProjectError, match="cannot be a project's name"):
        Project.create(tmp_path / "p", name=name or " ")
    assert list(tmp_path.iterdir()) == []


def test_saving_keeps_comments_and_is_atomic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project.create(tmp_path / "cell")
    before = (project.root / "mainspring.toml").read_text()
    assert before.startswith("# A mainspring project")
    project.rename("other cell")
    after = (project.root / "mainspring.toml").read_text()
    assert after == before.replace('name = "cell"', 'name = "other cell"')

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        project.rename("third")
    assert (project.root / "mainspring.toml").read_text() == after
    assert "." not in {name[0] for name in os.listdir(project.root)}


def test_a_wrong_settings_file_names_every_fault_with_its_line(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "cell")
    file = project.root / "mainspring.toml"
    file.write_text(
        '# mine\n[project]\nname = 3\nidd = "prj_1"\nformat = 99\nscene = "../x.toml"\n'
    )
    with pytest.raises(ProjectSettingsError) as caught:
        Project.open(project.root)
    message = str(caught.value)
    assert f"{file}:3: name is 3, and should be a string" in message
    assert f"{file}:4: unknown key 'idd'; did you mean 'id'?" in message
    assert "id is missing" in message
    file.write_text('[project]\nname = "a"\nid = "b"\nformat = 99\nscene = "../x.toml"\n')
    with pytest.raises(ProjectSettingsError, match="format 99 is newer") as caught:
        Project.open(project.root)
    assert ":5: scene '../x.toml' leads out" in str(caught.value)
    file.write_text("[project\n")
    with pytest.raises(ProjectSettingsError, match=r"mainspring\.toml"):
        Project.open(project.root)
    file.write_text("x = 1\n")
    with pytest.raises(ProjectSettingsError, match=r"no \[project\] table"):
        Project.open(project.root)


def test_a_settings_file_of_another_encoding(tmp_path: Path) -> None:
    """The mark some editors write is taken; what is no UTF-8 is named with its line."""
    project = Project.create(tmp_path / "cell")
    path = project.root / "mainspring.toml"
    text = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + text)
    assert Project.open(project.root).id == project.id
    path.write_bytes(text + b"# caf\xe9\n")
    with pytest.raises(ProjectSettingsError, match=r"toml:\d+: this is no UTF-8 text"):
        Project.open(project.root)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('name = "../x"\nid = "a"', ":2: '../x' cannot be a project's name"),
        ('name = "x"\nid = ""', ":3: id is empty"),
        ('name = "x"\nid = "a"\nformat = 0', ":4: format 0 does not exist"),
        ('name = "x"\nid = "a"\nscene = "/etc/passwd"', ":4: scene '/etc/passwd' leads out"),
        ('name = "x"\nid = "a"\ny = ' + "[" * 1000, "line 4"),
    ],
)
def test_what_a_settings_file_may_not_say(line: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "mainspring.toml").write_text(f"[project]\n{line}\n")
    with pytest.raises(ProjectSettingsError) as caught:
        Project.open(tmp_path)
    assert why in str(caught.value)


def test_no_project_is_an_error_that_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="mainspring new"):
        Project.open(tmp_path)


def test_runs_are_numbered_after_the_last(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "cell")
    first, second = project.new_run(), project.new_run()
    assert [first.name, second.name] == ["run-000001", "run-000002"]
    first.rmdir()
    assert project.new_run().name == "run-000003"
    assert [run.name for run in project.runs()] == ["run-000002", "run-000003"]


def test_scenes_are_found_by_name(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "cell")
    (project.root / "scenes" / "main.toml").write_text('[scene]\nname = "first"\n')
    assert project.scene() == project.scene("main")
    assert project.load_scene().name == "first"
    with pytest.raises(ProjectError, match="did you mean 'main'"):
        project.scene("mian")


def test_a_project_belongs_to_the_thread_that_opened_it(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "cell")
    calls: list[Callable[[], object]] = [
        project.save,
        lambda: project.rename("x"),
        project.new_run,
    ]
    for call in calls:
        with pytest.raises(WrongThreadError, match="this project belongs to thread"):
            on_thread(call, "job")
    with pytest.raises(WrongThreadError, match="asset registry"):
        on_thread(project.assets.writing().__enter__, "job")

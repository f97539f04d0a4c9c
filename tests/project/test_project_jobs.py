"""Every job of a project, on a disk that fills up, killed, and cancelled: nothing is left over."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mainspring.project import (
    TEMPLATES,
    CreateProjectFromTemplateJob,
    ExportProjectJob,
    ImportAssetsJob,
    ImportProjectJob,
    Project,
    ProjectError,
    SaveProjectAsJob,
    Vault,
    VaultGetJob,
    VaultPutJob,
    sweep,
)
from mainspring.threads import Job, JobCancelledError, active_jobs

from .conftest import Disk, Stops, finish, in_a_process_that_dies, tree

Start = Callable[[Project, Path], Job[Any]]

STL = b"solid a\nfacet\n vertex 0 0 0\n vertex 1 0 0\n vertex 0 1 0\nendsolid a\n"


def start_export(project: Project, folder: Path) -> Job[Any]:
    return ExportProjectJob.start(project, folder / "out.zip")


def start_import(project: Project, folder: Path) -> Job[Any]:
    return ImportProjectJob.start(folder.parent / "cell.zip", folder, name="imported")


def start_template(project: Project, folder: Path) -> Job[Any]:
    return CreateProjectFromTemplateJob.start(folder / "made")


def start_save_as(project: Project, folder: Path) -> Job[Any]:
    return SaveProjectAsJob.start(project, folder / "saved")


def start_assets(project: Project, folder: Path) -> Job[Any]:
    other = Project.open(folder / "other")
    return ImportAssetsJob.start(other.assets, folder.parent / "a.stl", folder.parent / "b.stl")


def start_vault_get(project: Project, folder: Path) -> Job[Any]:
    return VaultGetJob.start(Vault(folder.parent / "vault"), "cell", folder / "got.zip")


def start_vault_put(project: Project, folder: Path) -> Job[Any]:
    return VaultPutJob.start(Vault(folder / "vault"), folder.parent / "cell.zip", "c", "1")


JOBS = [
    start_export,
    start_import,
    start_template,
    start_save_as,
    start_assets,
    start_vault_get,
]
ALL_JOBS = [*JOBS, start_vault_put]  # a full disk under a vault: see test_vaults


def remove(folder: Path, names: set[str]) -> None:
    """Take these away again, with the locks beside them."""
    for name in sorted(names):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


@pytest.fixture
def folder(project: Project, tmp_path: Path) -> Path:
    """Where the jobs write; an archive and meshes beside it."""
    finish(ExportProjectJob.start(project, tmp_path / "cell.zip"))
    vault = Vault(tmp_path / "vault")
    finish(VaultPutJob.start(vault, tmp_path / "cell.zip", "cell", "1.0", kind="project"))
    for name in ("a.stl", "b.stl"):
        (tmp_path / name).write_bytes(STL)
    (tmp_path / "out").mkdir()
    Project.create(tmp_path / "out" / "other")
    return tmp_path / "out"


@pytest.mark.parametrize("start", JOBS)
def test_a_full_disk_leaves_nothing_and_it_can_be_tried_again(
    start: Start, project: Project, folder: Path, disk: Disk
) -> None:
    """The disk is full at the first thing that touches it, at the second, ... until it works."""
    before = tree(folder)
    number = 0
    while True:
        number += 1
        disk.full_at(number)
        job = start(project, folder)
        job.join()
        untouched = disk.count < number
        disk.mended()
        if untouched:
            break
        if job.failure is None:  # what failed had been done before, such as making a folder
            job.clean_up()
            remove(folder, set(tree(folder)) - set(before))
            continue
        assert isinstance(job.failure, OSError)
        assert tree(folder) == before, f"left over after failure {number}"
    assert number > 4
    job.take_result()
    assert tree(folder) != before


@pytest.mark.slow
@pytest.mark.parametrize("start", ALL_JOBS)
def test_a_killed_process_leaves_what_the_next_one_removes(
    start: Start, project: Project, folder: Path, disk: Disk
) -> None:
    """SIGKILL at every moment: the destination is not there or whole, and a sweep leaves only it."""
    before = tree(folder)
    number = 0
    while True:
        number += 1
        disk.kills_at(number)
        killed = in_a_process_that_dies(lambda: start(project, folder).join())
        disk.mended()
        folders = [path for path in folder.rglob("*") if path.is_dir()]
        swept = [path for each in (folder, *folders) if each.is_dir() for path in sweep(each)]
        after = tree(folder)
        left = set(after) - set(before)
        assert not [name for name in left if "partial" in name]
        if not killed:
            break
        if left:  # it was killed after its rename: then all of it is there
            assert start is not start_assets or len(swept) <= 1
            remove(folder, left)
        assert tree(folder) == before
    assert number > 4


@pytest.mark.parametrize("start", ALL_JOBS)
def test_cancelling_leaves_nothing(
    start: Start, project: Project, folder: Path, stops: Stops
) -> None:
    """At the first place where the work looks, at the second, ... until it is too late."""
    before = tree(folder)
    number = 0
    while True:
        number += 1
        stops.stop_at(number)
        job = start(project, folder)
        job.join()
        if job.failure is None:
            break
        assert isinstance(job.failure, JobCancelledError)
        assert tree(folder) == before, f"left over when it was cancelled at {number}"
    assert number > 3
    stops.stop_at(0)
    job.take_result()
    assert tree(folder) != before


@pytest.mark.parametrize("start", JOBS)
def test_waiting_for_the_disk_can_be_cancelled(
    start: Start, project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes long comes before the point of no return, and none of it is left to main."""
    fsync = os.fsync
    waits: list[bool] = []
    mine: list[int] = []

    def names() -> set[str]:
        return {path.name for path in folder.iterdir() if not path.name.startswith(".")}

    def watched(handle: int) -> None:
        if threading.current_thread() is threading.main_thread():
            mine.append(handle)
        elif names() == before:
            (job,) = active_jobs()
            waits.append(job.cancellable)
        fsync(handle)

    before = names()
    monkeypatch.setattr(os, "fsync", watched)
    job = start(project, folder)
    job.join()
    assert waits
    assert all(waits), "waited for the disk when it could not be cancelled any more"
    assert not mine
    job.take_result()
    assert len(mine) <= 4, "only the renames of two assets, and the list"


@pytest.mark.parametrize("start", ALL_JOBS)
def test_progress_ends_at_one(start: Start, project: Project, folder: Path) -> None:
    job = start(project, folder)
    job.join()
    assert job.progress.fraction == 1.0
    job.take_result()


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_templates_that_come_along_run(template: str, tmp_path: Path) -> None:
    made = finish(CreateProjectFromTemplateJob.start(tmp_path / "mine", template=template))
    project = Project.open(made)
    assert project.name == "mine"
    scene = project.load_scene()
    scene.advance(seconds=0.1)
    assert scene.time.now == 100_000_000


def test_a_project_is_a_template_too(project: Project, tmp_path: Path) -> None:
    made = finish(CreateProjectFromTemplateJob.start(tmp_path / "b", template=project.root))
    assert Project.open(made).identity.origin == project.id
    archive = finish(ExportProjectJob.start(project, tmp_path / "a.zip"))
    made = finish(CreateProjectFromTemplateJob.start(tmp_path / "c", template=archive))
    assert Project.open(made).identity.origin == project.id
    with pytest.raises(ProjectError, match="did you mean 'empty'"):
        CreateProjectFromTemplateJob.start(tmp_path / "d", template="emty")


def test_save_as_is_another_project(project: Project, tmp_path: Path) -> None:
    saved = Project.open(finish(SaveProjectAsJob.start(project, tmp_path / "second")))
    assert saved.name == "second"
    assert saved.id != project.id
    assert saved.runs() == []
    assert (saved.root / "scripts" / "arm.py").read_bytes() == (
        project.root / "scripts" / "arm.py"
    ).read_bytes()
    kept = Project.open(finish(SaveProjectAsJob.start(project, tmp_path / "third", runs=True)))
    assert len(kept.runs()) == 1
    with pytest.raises(ProjectError, match="lies in the project"):
        SaveProjectAsJob.start(project, project.root / "inside")


def test_a_living_writer_is_not_swept(project: Project, tmp_path: Path) -> None:
    from mainspring.project._files import StagedFolder

    with StagedFolder(tmp_path / "a") as staged:
        assert sweep(tmp_path) == []
        assert staged.path.is_dir()
    assert not os.path.lexists(staged.path)

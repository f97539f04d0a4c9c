"""Content vaults, in a folder and behind HTTP: the same bytes, or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.project import (
    CreateProjectFromTemplateJob,
    ExportProjectJob,
    HeavyOpGuard,
    Project,
    ProjectError,
    Vault,
    VaultBusyError,
    VaultError,
    VaultGetJob,
    VaultListJob,
    VaultPutJob,
)
from mainspring.threads import JobCancelledError, WrongThreadError, record_main_thread

from .conftest import Disk, finish, tree
from .servers import VaultHandler, vault_server


@pytest.fixture(params=["folder", "http"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Vault]:
    folder = tmp_path / "vault"
    if request.param == "folder":
        yield Vault(folder)
    else:
        folder.mkdir()
        with vault_server(folder) as url:
            yield Vault(url)


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    path = tmp_path / "robot.bin"
    path.write_bytes(bytes(range(256)) * 10_000)
    return path


def test_what_is_put_is_got_bit_for_bit(vault: Vault, robot: Path, tmp_path: Path) -> None:
    package = finish(VaultPutJob.start(vault, robot, "robot", "1.0", description="an arm"))
    assert (package.name, package.version, package.size) == ("robot", "1.0", 2_560_000)
    assert finish(VaultListJob.start(vault)) == [package]
    got = finish(VaultGetJob.start(vault, "robot", tmp_path / "out.bin"))
    assert got.read_bytes() == robot.read_bytes()
    named = finish(VaultGetJob.start(vault, "robot==1.0", tmp_path))
    assert named.name == "robot-1.0"


def test_the_last_version_is_the_largest_number(vault: Vault, robot: Path, tmp_path: Path) -> None:
    for version in ("1.9", "1.10", "1.2"):
        robot.write_text(version)
        finish(VaultPutJob.start(vault, robot, "robot", version))
    assert finish(VaultGetJob.start(vault, "robot", tmp_path / "a")).read_text() == "1.10"
    assert [p.version for p in finish(VaultListJob.start(vault))] == ["1.2", "1.9", "1.10"]


def test_a_package_never_changes(vault: Vault, robot: Path) -> None:
    finish(VaultPutJob.start(vault, robot, "robot", "1.0"))
    finish(VaultPutJob.start(vault, robot, "robot", "1.0"))  # the same again is nothing new
    robot.write_text("other")
    with pytest.raises(VaultError, match="already, with other content"):
        finish(VaultPutJob.start(vault, robot, "robot", "1.0"))
    assert len(finish(VaultListJob.start(vault))) == 1


def test_what_is_not_there_is_named_with_the_nearest(vault: Vault, tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_text("a")
    finish(VaultPutJob.start(vault, source, "robot", "1.0"))
    with pytest.raises(VaultError, match="did you mean 'robot'"):
        finish(VaultGetJob.start(vault, "robt", tmp_path / "out"))
    with pytest.raises(VaultError, match="did you mean"):
        finish(VaultGetJob.start(vault, "robot==1.1", tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("wanted", ["../x", "a==", "a==../b", "", "a b"])
def test_names_that_are_no_names_are_refused_at_once(tmp_path: Path, wanted: str) -> None:
    with pytest.raises(VaultError, match="is no package"):
        VaultGetJob.start(Vault(tmp_path), wanted, tmp_path / "out")
    assert Vault(tmp_path).guard.current is None


def test_a_vault_is_made_in_a_folder_that_is_there(tmp_path: Path) -> None:
    """Refused at once: what is made above a vault would be left behind by a put that fails."""
    with pytest.raises(VaultError, match="no is not a folder"):
        Vault(tmp_path / "no" / "vault")


def test_a_first_put_that_fails_leaves_no_vault(robot: Path, tmp_path: Path) -> None:
    """Neither folders nor a lock, whatever it came to."""
    from mainspring.project import _stores

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_stores, "write_atomically", full)
        with pytest.raises(OSError, match="No space"):
            finish(VaultPutJob.start(Vault(tmp_path / "new"), robot, "arm", "1"))
    assert not (tmp_path / "new").exists()
    finish(VaultPutJob.start(Vault(tmp_path / "new"), robot, "arm", "1"))


def test_damaged_bytes_are_noticed_and_not_kept(vault: Vault, robot: Path, tmp_path: Path) -> None:
    package = finish(VaultPutJob.start(vault, robot, "robot", "1.0"))
    path = tmp_path / "vault" / "objects" / package.sha256[:2] / package.sha256
    for data in (b"short", robot.read_bytes()[:-1] + b"!", robot.read_bytes() + b"more"):
        path.write_bytes(data)
        with pytest.raises(VaultError, match="is damaged"):
            finish(VaultGetJob.start(vault, "robot", tmp_path / "out.bin"))
        assert sorted(p.name for p in tmp_path.iterdir()) == ["robot.bin", "vault"]


@pytest.mark.parametrize(
    "index",
    [
        "{",
        '{"format": 99, "packages": []}',
        '{"format": 1, "packages": [{"name": "../x", "version": "1", "size": 1, "sha256": "00"}]}',
    ],
)
def test_a_damaged_index_is_an_error(tmp_path: Path, index: str) -> None:
    (tmp_path / "index.json").write_text(index)
    with pytest.raises(VaultError, match=r"damaged|newer"):
        finish(VaultListJob.start(Vault(tmp_path)))


def test_one_heavy_operation_at_a_time(vault: Vault, robot: Path, tmp_path: Path) -> None:
    with vault.heavy_operation("a backup"):
        assert vault.guard.current == "a backup"
        with pytest.raises(VaultBusyError, match="'a backup' is under way"):
            VaultPutJob.start(vault, robot, "robot", "1.0")
        with pytest.raises(VaultBusyError):
            VaultGetJob.start(Vault(tmp_path), "x", tmp_path / "out")
        other = HeavyOpGuard()
        VaultPutJob.start(Vault(tmp_path / "v2", guard=other), robot, "robot", "1").join()
    assert vault.guard.current is None
    finish(VaultPutJob.start(vault, robot, "robot", "1.0"))
    assert vault.guard.current is None


def test_a_cancelled_operation_lets_the_next_one_in(vault: Vault, robot: Path) -> None:
    job = VaultPutJob.start(vault, robot, "robot", "1.0")
    cancelled = job.cancel()
    job.join()
    if cancelled:
        with pytest.raises(JobCancelledError):
            job.take_result()
    assert vault.guard.current is None


def test_put_on_a_full_disk_leaves_the_vault_as_it_was(
    robot: Path, tmp_path: Path, disk: Disk
) -> None:
    vault = Vault(tmp_path / "vault")
    small = tmp_path / "small"
    small.write_text("small")
    finish(VaultPutJob.start(vault, small, "small", "1"))
    before = tree(tmp_path)
    number = 0
    while True:
        number += 1
        disk.full_at(number)
        job = VaultPutJob.start(vault, robot, "robot", "1.0")
        job.join()
        if job.failure is None:
            break
        disk.mended()
        assert "No space left" in str(job.failure)
        if tree(tmp_path) != before:  # only the last sync of the folder failed: then it is whole
            assert [p.name for p in finish(VaultListJob.start(vault))] == ["robot", "small"]
            finish(VaultGetJob.start(vault, "robot", tmp_path / "out"))
            break
    assert number > 5


def test_an_index_that_cannot_be_put_takes_the_object_back(robot: Path, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    with vault_server(folder) as url:
        VaultHandler.broken_puts = 1
        with pytest.raises(VaultError, match="answered with 507"):
            finish(VaultPutJob.start(Vault(url), robot, "robot", "1.0"))
        assert [p for p in folder.rglob("*") if p.is_file()] == []


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=r"127\.0\.0\.1"):
        finish(VaultListJob.start(Vault("http://127.0.0.1:9")))
    with pytest.raises(ProjectError, match="no http"):
        Vault("file:///etc")


def test_a_vault_is_not_read_on_the_main_thread(tmp_path: Path) -> None:
    record_main_thread()
    with pytest.raises(WrongThreadError, match="anything longer than a frame"):
        Vault(tmp_path).packages()


def test_a_template_from_a_vault(vault: Vault, project: Project, tmp_path: Path) -> None:
    archive = finish(ExportProjectJob.start(project, tmp_path / "cell.zip"))
    finish(VaultPutJob.start(vault, archive, "cell", "2.0", kind="project"))
    made = finish(
        CreateProjectFromTemplateJob.start(tmp_path / "mine", template="cell", vault=vault)
    )
    assert Project.open(made).identity.origin == project.id
    assert not (made / ".package").exists()
    with pytest.raises(VaultError, match="has no 'nothing'"):
        finish(CreateProjectFromTemplateJob.start(tmp_path / "b", template="nothing", vault=vault))
    assert not (tmp_path / "b").exists()
    assert vault.guard.current is None


def test_a_plain_name_is_a_packages_whatever_lies_here(
    vault: Vault, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the same command would make another project from another folder."""
    archive = finish(ExportProjectJob.start(project, tmp_path / "cell.zip"))
    finish(VaultPutJob.start(vault, archive, "cell", "2.0", kind="project"))
    assert project.root == tmp_path / "cell"
    (project.root / "scripts" / "later.py").write_text("")
    monkeypatch.chdir(tmp_path)
    for template, later in (("cell", False), ("./cell", True), (Path("cell"), True)):
        made = finish(
            CreateProjectFromTemplateJob.start(tmp_path / "made", template=template, vault=vault)
        )
        assert (made / "scripts" / "later.py").exists() == later
        shutil.rmtree(made)
    with pytest.raises(VaultError, match=r"has no 'cell\.zip'") as caught:
        finish(CreateProjectFromTemplateJob.start("made", template="cell.zip", vault=vault))
    assert "./cell.zip" in str(caught.value.__notes__)
    with pytest.raises(VaultError, match="is no package"):
        CreateProjectFromTemplateJob.start("made", template="a b", vault=vault)


def test_locks_are_plain_files(project: Project, tmp_path: Path) -> None:
    """Not made to be run, and open to a group where that is how files are made."""
    archive = finish(ExportProjectJob.start(project, tmp_path / "cell.zip"))
    finish(VaultPutJob.start(Vault(tmp_path / "shared"), archive, "cell", "1"))
    with project.assets.writing():
        pass
    locks = sorted(tmp_path.rglob("*.lock"))
    assert [lock.name for lock in locks] == ["registry.lock", "index.lock"]
    assert [lock.stat().st_mode & 0o111 for lock in locks] == [0, 0]

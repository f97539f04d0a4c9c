"""Archives: the same bytes for the same project, and nothing from a malicious one."""

from __future__ import annotations

import io
import os
import socket
import stat
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.project import (
    ArchiveError,
    ArchiveLimits,
    ExportProjectJob,
    ImportProjectJob,
    Project,
    ProjectError,
    SaveProjectAsJob,
)

from .conftest import finish, tree

SETTINGS = '[project]\nname = "evil"\nid = "prj_evil"\n'


def test_an_export_imports_as_the_same_project_under_its_own_identity(
    project: Project, tmp_path: Path
) -> None:
    archive = finish(ExportProjectJob.start(project, tmp_path / "cell.zip"))
    imported = finish(ImportProjectJob.start(archive, tmp_path, name="copy"))
    copy = Project.open(imported)
    assert (copy.name, imported.name) == ("copy", "copy")
    assert copy.id != project.id
    assert copy.identity.origin == project.id
    before, after = tree(project.root), tree(copy.root)
    for name in ("mainspring.toml", "runs/run-000001", "runs/run-000001/log"):
        before.pop(name)
        after.pop(name, None)
    for name in ("scripts/__pycache__", "scripts/__pycache__/arm.pyc"):
        before.pop(name)
    assert before == after


def test_two_exports_are_the_same_bytes(project: Project, tmp_path: Path) -> None:
    first = finish(ExportProjectJob.start(project, tmp_path / "a.zip"))
    os.utime(project.root / "scripts" / "arm.py", (1, 1))
    second = finish(ExportProjectJob.start(project, tmp_path / "b.zip"))
    assert first.read_bytes() == second.read_bytes()


def test_filters_say_what_comes_along(project: Project, tmp_path: Path) -> None:
    def names(**filters: object) -> set[str]:
        path = tmp_path / "f.zip"
        job = ExportProjectJob.start(project, path, overwrite=True, **filters)
        return set(zipfile.ZipFile(finish(job)).namelist())

    everything = {"mainspring.toml", "scenes/main.toml", "scripts/arm.py", "assets/big.bin"}
    assert names() == everything
    assert names(exclude=("*.bin",)) == everything - {"assets/big.bin"}
    assert names(exclude=("assets/",)) == everything - {"assets/big.bin"}
    assert names(include=("*.py",)) == {"mainspring.toml", "scripts/arm.py"}
    assert names(runs=True) == everything | {"runs/run-000001/log"}


def test_what_packs_like_a_bomb_is_stored_as_it_is(project: Project, tmp_path: Path) -> None:
    """A file of zeros survives the way out and in, although the way in refuses such ratios."""
    (project.root / "assets" / "zeros.bin").write_bytes(bytes(3 << 20))
    archive = finish(ExportProjectJob.start(project, tmp_path / "cell.zip"))
    imported = finish(ImportProjectJob.start(archive, tmp_path, name="copy"))
    assert (imported / "assets" / "zeros.bin").read_bytes() == bytes(3 << 20)


def test_links_do_not_leave_the_project(project: Project, tmp_path: Path) -> None:
    (project.root / "assets" / "link").symlink_to("/etc/passwd")
    job = ExportProjectJob.start(project, tmp_path / "cell.zip")
    with pytest.raises(ArchiveError, match=r"assets/link .* is a link"):
        finish(job)
    finish(ExportProjectJob.start(project, tmp_path / "cell.zip", exclude=("link",)))


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_has_no_content_is_named_and_not_waited_for(
    kind: str, project: Project, tmp_path: Path
) -> None:
    path = project.root / "assets" / "odd"
    with socket.socket(socket.AF_UNIX) as listener:
        os.mkfifo(path) if kind == "pipe" else listener.bind(str(path))
    for start in (
        lambda: ExportProjectJob.start(project, tmp_path / "cell.zip"),
        lambda: SaveProjectAsJob.start(project, tmp_path / "saved"),
    ):
        with pytest.raises(ArchiveError, match=r"assets/odd.* is a pipe, a socket or a device"):
            finish(start())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cell"]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("a\\b.txt",), "one of Windows"),
        (("c:d.txt",), "scripts/c:d.txt"),
        (("a\nb.txt",), "control characters"),
        (("A.txt", "a.txt"), "is there twice"),
        (("caf\u00e9", "cafe\u0301"), "is there twice"),
        (("\udcff.txt",), "is not Unicode"),
    ],
)
def test_what_could_not_be_imported_is_not_exported(
    names: tuple[str, ...], why: str, project: Project, tmp_path: Path
) -> None:
    """Every name at once, and on the way out, where it can still be put right."""
    for name in names:
        (project.root / "scripts" / name).write_text("x")
    if why == "scripts/c:d.txt":  # a drive only where a name begins with it
        archive = finish(ExportProjectJob.start(project, tmp_path / "cell.zip"))
        made = finish(ImportProjectJob.start(archive, tmp_path, name="copy"))
        assert (made / why).read_text() == "x"
        return
    with pytest.raises(ArchiveError, match=why):
        finish(ExportProjectJob.start(project, tmp_path / "cell.zip"))
    assert not (tmp_path / "cell.zip").exists()


def test_an_export_refuses_bad_destinations_at_once(project: Project, tmp_path: Path) -> None:
    (tmp_path / "there.zip").write_text("x")
    for path, why in (
        (tmp_path / "there.zip", "exists already"),
        (project.root / "self.zip", "lies in the project"),
        (tmp_path / "no" / "where.zip", "cannot be a file"),
    ):
        with pytest.raises(ProjectError, match=why):
            ExportProjectJob.start(project, path)


Fill = Callable[[zipfile.ZipFile], None]


def entry(
    name: str, data: bytes = b"x", *, mode: int = 0, method: int = zipfile.ZIP_STORED
) -> Fill:
    def fill(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo("placeholder")
        info.filename = info.orig_filename = name
        info.external_attr = mode << 16
        info.compress_type = method
        archive.writestr(info, data)

    return fill


def twice(archive: zipfile.ZipFile) -> None:
    entry("scripts/a.py")(archive)
    entry("scripts/A.py")(archive)


def accented(archive: zipfile.ZipFile) -> None:
    entry("scripts/caf\u00e9.py")(archive)
    entry("scripts/cafe\u0301.py")(archive)


def nested(archive: zipfile.ZipFile) -> None:
    """A bomb in a bomb: what lies in an archive of the archive stays packed."""
    inside = io.BytesIO()
    with zipfile.ZipFile(inside, "w", zipfile.ZIP_DEFLATED) as inner:
        inner.writestr("b", bytes(20 << 20))
    entry("b.zip", inside.getvalue() * 2000, method=zipfile.ZIP_DEFLATED)(archive)


def file_as_folder(archive: zipfile.ZipFile) -> None:
    entry("scripts/a")(archive)
    entry("scripts/a/b")(archive)


MALICIOUS: dict[str, tuple[Fill, str]] = {
    "climbing": (entry("../../outside"), "climbs"),
    "climbing inside": (entry("scripts/../../outside"), "climbs"),
    "absolute": (entry("/tmp/outside"), "absolute"),
    "climbing, the other way": (entry("scripts\\..\\..\\outside"), "one of Windows"),
    "mixed": (entry("scripts/..\\../outside"), "one of Windows"),
    "a share": (entry("//server/outside"), "absolute"),
    "nul": (entry("scripts/a\0.py"), "control characters"),
    "drive": (entry("C:/outside"), "absolute"),
    "backslashes": (entry("..\\outside"), "absolute name or one of Windows"),
    "control": (entry("scripts/a\nb.py"), "control characters"),
    "long": (entry("a" * 300), "too long"),
    "dotted": (entry("./scripts//a.py"), "hides where it leads"),
    "link": (entry("assets/l", b"/etc/passwd", mode=stat.S_IFLNK | 0o777), "is a link"),
    "socket": (entry("assets/s", b"", mode=stat.S_IFSOCK | 0o666), "is a device or a pipe"),
    "device": (entry("assets/d", b"", mode=stat.S_IFCHR | 0o666), "is a device"),
    "pipe": (entry("assets/p", b"", mode=stat.S_IFIFO | 0o666), "is a device or a pipe"),
    "bomb": (entry("b", bytes(20 << 20), method=zipfile.ZIP_DEFLATED), "times what it takes"),
    "lzma": (entry("b", b"x" * 100, method=zipfile.ZIP_LZMA), "compressed with method"),
    "nested": (nested, "times what it takes"),
    "twice": (twice, "is there twice"),
    "twice but for the form of an accent": (accented, "is there twice"),
    "file as folder": (file_as_folder, "lies in something that is a file"),
}


def make(path: Path, *fills: Fill, whole: bool = True) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        if whole:
            archive.writestr("mainspring.toml", SETTINGS)
        for fill in fills:
            fill(archive)
    return path


def refused(path: Path, into: Path, limits: ArchiveLimits | None = None) -> str:
    """What an import of it says; it must leave nothing, whether at its start or at its end."""
    into.mkdir()
    with pytest.raises(ArchiveError) as caught:
        finish(ImportProjectJob.start(path, into, limits=limits))
    assert list(into.iterdir()) == []
    return str(caught.value)


@pytest.mark.parametrize("kind", MALICIOUS)
def test_malicious_archives_are_refused_whole(kind: str, tmp_path: Path) -> None:
    fill, why = MALICIOUS[kind]
    path = make(tmp_path / "evil.zip", entry("scripts/fine.py"), fill)
    message = refused(path, tmp_path / "into")
    assert why in message
    assert str(path) in message
    assert not (tmp_path / "outside").exists()


def test_an_archive_that_is_too_much_is_refused(tmp_path: Path) -> None:
    path = make(tmp_path / "a.zip", entry("a", b"x" * 1000), entry("b", b"x" * 1000))
    for limits, why in (
        (ArchiveLimits(total_bytes=1500), "would unpack to 2"),
        (ArchiveLimits(file_bytes=999), "would unpack to 1000 bytes"),
        (ArchiveLimits(files=2), "more than 2"),
    ):
        folder = tmp_path / f"into {why[-6:]}"
        assert why in refused(path, folder, limits)


def test_no_project_in_it(tmp_path: Path) -> None:
    path = make(tmp_path / "a.zip", entry("a"), whole=False)
    assert "there is no mainspring.toml in it" in refused(path, tmp_path / "into")


def test_entries_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """Overlapping entries are how a few kilobytes unpack to terabytes."""
    path = make(tmp_path / "a.zip", entry("a", b"x" * 1000), entry("b", b"y" * 1000))
    data = bytearray(path.read_bytes())
    records = [i for i in range(len(data)) if data[i : i + 4] == b"PK\x01\x02"]
    first, second = records[1], records[2]
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    path.write_bytes(data)
    assert "overlaps another entry" in refused(path, tmp_path / "into")


@pytest.mark.parametrize("bit", [0, 5, 6])
def test_an_encrypted_or_patched_entry_is_refused(bit: int, tmp_path: Path) -> None:
    path = make(tmp_path / "a.zip", entry("a", b"x" * 1000))
    data = bytearray(path.read_bytes())
    record = data.rindex(b"PK\x01\x02")
    data[record + 8] |= 1 << bit
    path.write_bytes(data)
    assert "is encrypted" in refused(path, tmp_path / "into")


def test_an_entry_that_lies_about_its_size_writes_no_more(tmp_path: Path) -> None:
    path = make(tmp_path / "a.zip", entry("a", os.urandom(5000) * 2, method=zipfile.ZIP_DEFLATED))
    data = bytearray(path.read_bytes())
    record = data.rindex(b"PK\x01\x02")
    (size,) = struct.unpack_from("<I", data, record + 24)
    struct.pack_into("<I", data, record + 24, size // 2)
    path.write_bytes(data)
    message = refused(path, tmp_path / "into")
    assert "damaged" in message or "than it says" in message


def test_every_cut_and_every_flipped_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    """Whatever is wrong with the bytes, an import gives the project or leaves nothing."""
    path = make(tmp_path / "a.zip", entry("scripts/a.py", b"A = 1\n" * 20))
    whole = path.read_bytes()
    into = tmp_path / "into"
    into.mkdir()
    damaged = tmp_path / "damaged.zip"
    cuts = [whole[:n] for n in range(0, len(whole), 11)]
    flips = [whole[:n] + bytes([whole[n] ^ 0x41]) + whole[n + 1 :] for n in range(0, len(whole), 7)]
    for data in (*cuts, *flips):
        damaged.write_bytes(data)
        try:
            made = finish(ImportProjectJob.start(damaged, into, name="x"))
        except ProjectError:
            assert list(into.iterdir()) == []
        else:
            assert (made / "mainspring.toml").is_file()
            for file in sorted(made.rglob("*"), reverse=True):
                file.unlink() if file.is_file() else file.rmdir()
            made.rmdir()


@pytest.mark.parametrize("name", ["scripts/a.py", "scripts/caf\u00e9.py"])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255), st.integers(0, 3)),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_the_bytes_the_error_is_ours(
    tmp_path_factory: pytest.TempPathFactory, name: str, changes: list[tuple[float, int, int]]
) -> None:
    """Bytes changed, put in or taken out anywhere: a project or a `ProjectError`, never a part."""
    folder = tmp_path_factory.mktemp("damaged")
    path = make(folder / "a.zip", entry(name, b"A = 1\n" * 20, method=zipfile.ZIP_DEFLATED))
    data = bytearray(path.read_bytes())
    for place, value, kind in changes:
        at = int(place * len(data))
        data[at : at + (kind != 1)] = [value] * (kind != 2)
    path.write_bytes(data)
    try:
        finish(ImportProjectJob.start(path, folder, name="x"))
    except ProjectError:
        assert [p.name for p in folder.iterdir()] == ["a.zip"]


def test_a_directory_of_too_many_entries_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """Millions of lines that share one file are made an object each only if they may be there."""
    path = make(tmp_path / "a.zip", entry("a"))
    data = path.read_bytes()
    line = data[data.rindex(b"PK\x01\x02") : data.rindex(b"PK\x05\x06")]
    count = 300_000
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 9, 9, len(line) * count, 0, 0)
    path.write_bytes(line * count + end)
    tracemalloc.start()
    try:
        message = refused(path, tmp_path / "into")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "holds more than 100000 entries" in message
    assert most < 10 << 20


def test_an_archive_with_the_records_of_large_ones(tmp_path: Path) -> None:
    """Over 65535 entries its directory is found another way; here they are folders, for speed."""
    path = make(tmp_path / "a.zip", *[entry(f"scripts/{n}/", b"") for n in range(66_000)])
    limits = ArchiveLimits(files=60_000)
    assert "more than 60000" in refused(path, tmp_path / "into", limits)
    made = finish(ImportProjectJob.start(path, tmp_path, name="many"))
    assert (made / "mainspring.toml").is_file()


def test_an_archive_made_by_hand_with_one_folder_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cell-main/", "")
        archive.writestr("cell-main/mainspring.toml", SETTINGS)
        archive.writestr("cell-main/scripts/a.py", "A = 1")
    made = finish(ImportProjectJob.start(path, tmp_path, name="cell"))
    assert (made / "scripts" / "a.py").read_text() == "A = 1"


def test_an_import_refuses_at_once_what_cannot_work(tmp_path: Path) -> None:
    path = make(tmp_path / "a.zip")
    (tmp_path / "evil").mkdir()
    with pytest.raises(ProjectError, match="exists already"):
        ImportProjectJob.start(path, tmp_path)
    with pytest.raises(ProjectError, match="cannot be a project's name"):
        ImportProjectJob.start(path, tmp_path, name="../evil")
    with pytest.raises(ProjectError, match="is not a file"):
        ImportProjectJob.start(tmp_path / "nowhere.zip", tmp_path)
    (tmp_path / "text.zip").write_text("no zip at all")
    with pytest.raises(ArchiveError, match="cannot be read as an archive"):
        ImportProjectJob.start(tmp_path / "text.zip", tmp_path, name="b")

"""Assets: read to their end on a worker, registered on the main thread by one writer."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.project import AssetError, AssetRegistry, ImportAssetsJob, RegistryError, _mjcf
from mainspring.threads import (
    JobCancelledError,
    StopSource,
    WrongThreadError,
    record_main_thread,
)

from .conftest import finish, on_thread, tree

CUBE = """
v 0 0 0
v 1 0 0
v 0 2 0
vn 0 0 1
vt 0 0
f 1/1/1 2/1/1 3/1/1
f -3 -2 -1
"""


def binary_stl(corners: list[tuple[float, float, float]]) -> bytes:
    facets = len(corners) // 3
    data = b"cube".ljust(80) + struct.pack("<I", facets)
    for i in range(facets):
        data += struct.pack("<3f", 0, 0, 1)
        for corner in corners[3 * i : 3 * i + 3]:
            data += struct.pack("<3f", *corner)
        data += b"\0\0"
    return data


def png(width: int, height: int, *, colour: int = 2, extra: int = 0, interlace: int = 0) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    channels = {0: 1, 2: 3, 6: 4}[colour]
    rows = (b"\0" + bytes(width * channels)) * height + bytes(extra)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, interlace)
    image = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + image


def jpeg(width: int, height: int, scan: bytes = b"\x12\xff\x00\x34\xff\xd0\x56") -> bytes:
    def segment(marker: int, data: bytes) -> bytes:
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data

    frame = struct.pack(">BHHB", 8, height, width, 3) + b"\x01\x11\x00\x02\x11\x01\x03\x11\x01"
    head = segment(0xE0, b"JFIF\0") + segment(0xC0, frame) + segment(0xDA, b"\x01\x01\0\0\x3f\0")
    return b"\xff\xd8" + head + scan + b"\xff\xd9"


MJCF = """<mujoco>
  <compiler meshdir="meshes" texturedir="textures"/>
  <asset>
    <mesh name="part" file="part.obj"/>
    <texture name="skin" type="2d" file="skin.png"/>
  </asset>
  <include file="more/motors.xml"/>
  <worldbody><body name="arm"><joint name="j"/><geom size=".1"/></body></worldbody>
</mujoco>
"""

URDF = """<robot name="arm">
  <link name="base"><visual><geometry><mesh filename="package://arm/meshes/part.obj"/></geometry></visual></link>
  <link name="tip"/>
  <joint name="j" type="revolute"><parent link="base"/><child link="tip"/></joint>
</robot>
"""


@pytest.fixture
def registry(tmp_path: Path) -> AssetRegistry:
    return AssetRegistry(tmp_path / "assets")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """An MJCF model with everything it names."""
    root = tmp_path / "arm"
    for name in ("meshes", "textures", "more"):
        (root / name).mkdir(parents=True)
    (root / "arm.xml").write_text(MJCF)
    (root / "more" / "motors.xml").write_text(
        '<mujoco><actuator><motor joint="j"/></actuator></mujoco>'
    )
    tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    (root / "meshes" / "part.obj").write_text(tetrahedron)
    (root / "textures" / "skin.png").write_bytes(png(2, 2))
    return root / "arm.xml"


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def imported(registry: AssetRegistry, path: Path, **options: Any) -> Any:
    (asset,) = finish(ImportAssetsJob.start(registry, path, **options))
    return asset


def test_meshes_and_images_are_read_to_their_end(registry: AssetRegistry, tmp_path: Path) -> None:
    corners = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 2.0, 0.5)]
    text = "solid a\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in corners) + "endsolid a\n"
    bounds = [[0.0, 0.0, 0.0], [1.0, 2.0, 0.5]]
    cases: list[tuple[str, bytes | str, str, dict[str, Any]]] = [
        ("a.obj", CUBE, "obj", {"vertices": 3, "faces": 2, "bounds": [[0, 0, 0], [1, 2, 0]]}),
        ("b.stl", binary_stl(corners), "stl", {"vertices": 3, "faces": 1, "bounds": bounds}),
        ("c.stl", text, "stl", {"vertices": 3, "faces": 1, "bounds": bounds}),
        ("d.png", png(4, 3), "png", {"width": 4, "height": 3, "channels": 3, "depth": 8}),
        ("e.jpg", jpeg(64, 48), "jpeg", {"width": 64, "height": 48, "channels": 3, "depth": 8}),
    ]
    for name, data, kind, info in cases:
        asset = imported(registry, write(tmp_path / name, data))
        assert (asset.kind, asset.info) == (kind, info)
        assert registry.path(asset.name).read_bytes() == (tmp_path / name).read_bytes()
    again = AssetRegistry(registry.folder)
    assert [asset.name for asset in again] == ["a", "b", "c", "d", "e"]
    assert again.verify() == []


DAMAGED: dict[str, tuple[str, bytes | str, str]] = {
    "obj without faces": ("a.obj", "v 0 0 0\n", "are no mesh"),
    "obj with words": ("a.obj", "v 0 zero 0\n", ":1: '0 zero 0' is not 3 finite"),
    "obj with nan": ("a.obj", "\nv 0 nan 0\n", ":2:"),
    "obj face of nothing": ("a.obj", "v 0 0 0\nf 1 2 3\n", "names nothing that came before"),
    "obj face of two": ("a.obj", "v 0 0 0\nf 1 1\n", "a face of 2 corners"),
    "stl cut off": ("a.stl", binary_stl([(0.0, 0.0, 0.0)] * 3)[:-1], "cut off"),
    "stl not finite": ("a.stl", binary_stl([(0.0, 0.0, math.inf)] * 3), "not finite"),
    "stl of nothing": ("a.stl", binary_stl([]), "no facet"),
    "stl text cut off": ("a.stl", "solid a\nvertex 0 0 0\n", "cut off"),
    "png cut off": ("a.png", png(4, 4)[:-5], "damaged"),
    "png flipped": ("a.png", png(4, 4)[:50] + b"!" + png(4, 4)[51:], "damaged"),
    "png too long": ("a.png", png(4, 4, extra=1), "more image data"),
    "png too short": ("a.png", png(4, 4, interlace=1), "ends too early|more image data"),
    "png bomb": ("a.png", png(2, 2, extra=50 << 20), "more image data"),
    "png of no size": ("a.png", png(0, 4), "is no image"),
    "not a png": ("a.png", b"GIF89a", "does not begin like"),
    "jpeg cut off": ("a.jpg", jpeg(8, 8)[:-2], "cut off"),
    "jpeg of nothing": ("a.jpg", b"\xff\xd8\xff\xd9", "holds no image"),
    "not a jpeg": ("a.jpg", b"x" * 100, "does not begin like"),
    "broken xml": ("a.xml", "<mujoco><body></mujoco>", ":1: mismatched tag"),
    "other xml": ("a.xml", "<svg/>", "should be <mujoco>"),
    "entities": (
        "a.xml",
        '<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><mujoco model="&b;"/>',
        "document type is not allowed",
    ),
    "an entity of another file": (
        "a.urdf",
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="a">&x;</robot>',
        "document type is not allowed",
    ),
    "an unknown encoding": ("a.xml", '<?xml version="1.0" encoding="xyz"?><mujoco/>', ":1: "),
    "an encoding of many bytes": ("a.xml", '<?xml version="1.0" encoding="gbk"?><mujoco/>', ":1: "),
    "no xml": ("a.xml", b"\xff\xfe\x00", ":1: "),
    "nothing": ("a.xml", "", ":1: no element found"),
    "many elements": ("a.xml", "<mujoco>" + "<b/>" * 1_000_001, "elements are no model"),
    "png that lies about a length": (
        "a.png",
        png(2, 2)[:33] + b"\x7f\xff\xff\xffIDAT",
        "at byte 33 is damaged",
    ),
    "stl of a count that lies": ("a.stl", bytes(80) + b"\xff" * 4 + bytes(50), "cut off"),
    "deep": ("a.xml", "<mujoco>" + "<b>" * 600, "nested over 500 deep"),
    "missing mesh": (
        "a.xml",
        '<mujoco>\n<asset>\n<mesh file="no.stl"/></asset></mujoco>',
        ":3: 'no.stl' is not there",
    ),
    "climbing mesh": (
        "a.xml",
        '<mujoco><asset><mesh file="../../etc/x.stl"/></asset></mujoco>',
        "leads out of",
    ),
    "absolute include": ("a.xml", '<mujoco><include file="/etc/passwd"/></mujoco>', "leads out"),
    "joint of nothing": (
        "a.urdf",
        '<robot name="a"><link name="b"/>\n<joint name="j" type="fixed"><parent link="b"/>'
        '<child link="c"/></joint></robot>',
        ":2: joint 'j': child 'c' is no link",
    ),
    "two roots": ("a.urdf", '<robot><link name="a"/><link name="b"/></robot>', "not one tree"),
    "strange joint": (
        "a.urdf",
        '<robot><link name="a"/><link name="b"/><joint name="j" type="screw"><parent link="a"/>'
        '<child link="b"/></joint></robot>',
        "type 'screw'",
    ),
    "unknown package": (
        "a.urdf",
        '<robot><link name="a"><visual><geometry><mesh filename="package://p/x.stl"/>'
        "</geometry></visual></link></robot>",
        "package 'p'",
    ),
    "file address": (
        "a.urdf",
        '<robot><link name="a"><visual><geometry><mesh filename="file:///etc/x.stl"/>'
        "</geometry></visual></link></robot>",
        "is not a file below the model",
    ),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_what_is_damaged_or_dangerous_is_refused_with_its_place(
    kind: str, registry: AssetRegistry, tmp_path: Path
) -> None:
    name, data, why = DAMAGED[kind]
    path = write(tmp_path / "in" / name, data)
    job = ImportAssetsJob.start(registry, path)
    with pytest.raises(AssetError, match=why) as caught:
        finish(job)
    assert str(path) in str(caught.value)
    assert tree(registry.folder) == {}


def test_a_model_brings_everything_it_names(registry: AssetRegistry, model: Path) -> None:
    asset = imported(registry, model)
    assert asset.kind == "mjcf"
    assert sorted(file.path for file in asset.files) == [
        "arm.xml",
        "meshes/part.obj",
        "more/motors.xml",
        "textures/skin.png",
    ]
    assert asset.info["elements"] == {"body": 1, "geom": 1, "joint": 1, "mesh": 1, "motor": 1}
    mujoco = pytest.importorskip("mujoco")
    assert mujoco.MjModel.from_xml_path(str(registry.path("arm"))).nu == 1


def test_all_faults_of_a_model_are_told_at_once(registry: AssetRegistry, model: Path) -> None:
    (model.parent / "meshes" / "part.obj").write_text("v 0 0 0\n")
    (model.parent / "textures" / "skin.png").unlink()
    with pytest.raises(AssetError) as caught:
        imported(registry, model)
    message = str(caught.value)
    assert "arm.xml:4: part.obj is not usable" in message
    assert "arm.xml:5: 'textures/skin.png' is not there" in message


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
MESH = '<asset><mesh name="m" file="m.obj"/></asset>'
GEOM = '<worldbody><geom type="mesh" mesh="m"/></worldbody>'
ATTACH = (
    '<mujoco><compiler meshdir="q"/><asset><model name="x" file="sub/x.xml"/></asset>'
    '<worldbody><attach model="x" body="b" prefix="p"/></worldbody></mujoco>'
)
ATTACHED = (
    f'<mujoco><compiler meshdir="mm"/>{MESH}<worldbody><body name="b">'
    '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
)

LAYOUTS: dict[str, dict[str, str]] = {
    "a mesh of what is included, where the model says": {
        "main.xml": f'<mujoco><compiler meshdir="d"/><include file="i.xml"/>{GEOM}</mujoco>',
        "i.xml": f"<mujoco>{MESH}</mujoco>",
        "d/m.obj": TETRAHEDRON,
    },
    "a mesh of the model, where what is included says": {
        "main.xml": f'<mujoco>{MESH}{GEOM}<include file="i.xml"/></mujoco>',
        "i.xml": '<mujoco><compiler meshdir="d"/></mujoco>',
        "d/m.obj": TETRAHEDRON,
    },
    "two say, the last one counts": {
        "main.xml": f'<mujoco><compiler meshdir="a"/>{MESH}{GEOM}<include file="i.xml"/></mujoco>',
        "i.xml": '<mujoco><compiler meshdir="d"/></mujoco>',
        "d/m.obj": TETRAHEDRON,
    },
    "two say, and the first one does not": {
        "main.xml": f'<mujoco><compiler meshdir="a"/>{MESH}{GEOM}<include file="i.xml"/></mujoco>',
        "i.xml": '<mujoco><compiler meshdir="d"/></mujoco>',
        "a/m.obj": TETRAHEDRON,
    },
    "a later compiler that does not say": {
        "main.xml": f'<mujoco><compiler meshdir="d"/><compiler angle="radian"/>{MESH}{GEOM}</mujoco>',
        "d/m.obj": TETRAHEDRON,
    },
    "assets after meshes": {
        "main.xml": f'<mujoco><compiler meshdir="a"/><compiler assetdir="d"/>{MESH}{GEOM}</mujoco>',
        "d/m.obj": TETRAHEDRON,
    },
    "includes seen from the model": {
        "main.xml": f'<mujoco><include file="sub/i.xml"/>{GEOM}</mujoco>',
        "sub/i.xml": '<mujoco><include file="j.xml"/></mujoco>',
        "j.xml": f"<mujoco>{MESH}</mujoco>",
        "m.obj": TETRAHEDRON,
    },
    "includes and meshes seen from their file": {
        "main.xml": f'<mujoco><include file="sub/i.xml"/>{GEOM}</mujoco>',
        "sub/i.xml": '<mujoco><include file="j.xml"/></mujoco>',
        "sub/j.xml": f"<mujoco>{MESH}</mujoco>",
        "sub/m.obj": TETRAHEDRON,
    },
    "only a name without its folders": {
        "main.xml": '<mujoco><compiler strippath="true"/><asset><mesh name="m" file="x\\y/m.obj"/>'
        f"</asset>{GEOM}</mujoco>",
        "m.obj": TETRAHEDRON,
    },
    "an attached model has its own folders": {
        "main.xml": ATTACH,
        "sub/x.xml": ATTACHED,
        "sub/mm/m.obj": TETRAHEDRON,
    },
    "an attached model does not use ours": {
        "main.xml": ATTACH,
        "sub/x.xml": ATTACHED,
        "q/m.obj": TETRAHEDRON,
    },
    "a flexible mesh": {
        "main.xml": '<mujoco><compiler meshdir="d"/><worldbody><flexcomp name="f" type="mesh" '
        'dim="2" file="m.obj" mass="1"/></worldbody></mujoco>',
        "d/m.obj": TETRAHEDRON,
    },
    "nowhere": {"main.xml": f"<mujoco>{MESH}{GEOM}</mujoco>", "d/m.obj": TETRAHEDRON},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_are_looked_for_where_the_engine_looks(
    layout: str, registry: AssetRegistry, tmp_path: Path
) -> None:
    """MuJoCo decides what is right: what it loads is taken, and loads where it was taken to."""
    mujoco = pytest.importorskip("mujoco")
    for name, text in LAYOUTS[layout].items():
        write(tmp_path / "in" / name, text)
    try:
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "in" / "main.xml"))
    except ValueError:
        with pytest.raises(AssetError, match=r"xml:1: '.*m.obj' is not there"):
            imported(registry, tmp_path / "in" / "main.xml")
        assert layout in ("two say, and the first one does not", "nowhere") or "ours" in layout
        return
    asset = imported(registry, tmp_path / "in" / "main.xml")
    taken = mujoco.MjModel.from_xml_path(str(registry.path("main")))
    assert taken.nmeshvert == model.nmeshvert
    assert len(asset.files) == len(LAYOUTS[layout])


ENDLESS = '<mujoco><worldbody><replicate count="100000000"><geom size="1"/></replicate></worldbody></mujoco>'


def test_a_model_that_never_ends_can_be_cancelled(registry: AssetRegistry, tmp_path: Path) -> None:
    """The engine is in a process of its own, and that is ended."""
    pytest.importorskip("mujoco")
    job = ImportAssetsJob.start(registry, write(tmp_path / "a.xml", ENDLESS))
    while not (engines := children()):
        assert not job.is_done()
    assert job.cancel()
    assert job.join(30)
    with pytest.raises(JobCancelledError):
        job.take_result()
    assert not any(engine.exists() for engine in engines)
    assert tree(registry.folder) == {}


def children() -> list[Path]:
    """The processes that this one started, as Linux shows them."""
    ids = Path("/proc/self/task")
    return [
        Path("/proc", child)
        for task in ids.iterdir()
        for child in (task / "children").read_text().split()
    ]


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (ENDLESS, "MuJoCo .* on it"),
        ('<mujoco>\n<size memory="100G"/></mujoco>', "does not load it"),
        ('<mujoco><size nuserdata="2000000000"/></mujoco>', "does not load it"),
    ],
)
def test_a_model_that_takes_too_much_is_refused(
    model: str, why: str, registry: AssetRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mujoco")
    monkeypatch.setattr(_mjcf, "ENGINE_MEMORY_BYTES", 2 << 30)
    monkeypatch.setattr(_mjcf, "ENGINE_CPU_S", 2)
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "a.xml", model)
    with pytest.raises(AssetError, match=why):
        imported(registry, path)
    assert tree(registry.folder) == {}
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["a.xml", "assets"], "no log of its own"


def test_a_model_that_includes_itself(registry: AssetRegistry, tmp_path: Path) -> None:
    path = write(tmp_path / "a.xml", '<mujoco><include file="b.xml"/></mujoco>')
    write(tmp_path / "b.xml", '<mujoco><include file="a.xml"/></mujoco>')
    with pytest.raises(AssetError, match="includes itself"):
        imported(registry, path)


def test_what_only_the_engine_can_know(registry: AssetRegistry, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = write(tmp_path / "a.xml", "<mujoco><worldbody><geom/></worldbody></mujoco>")
    with pytest.raises(AssetError, match="MuJoCo does not load it"):
        imported(registry, path)


def test_a_urdf_finds_its_package(registry: AssetRegistry, tmp_path: Path) -> None:
    """In the folder above that has the package's name, or where it is told to look."""
    path = write(tmp_path / "arm" / "urdf" / "arm.urdf", URDF)
    write(tmp_path / "arm" / "meshes" / "part.obj", CUBE)
    asset = imported(registry, path)
    assert asset.kind == "urdf"
    assert asset.path == "urdf/arm.urdf"
    assert sorted(file.path for file in asset.files) == ["meshes/part.obj", "urdf/arm.urdf"]
    other = write(tmp_path / "other.urdf", URDF)
    assert imported(registry, other, packages={"arm": tmp_path / "arm"}).info == {
        "elements": {"joint": 1, "link": 2}
    }


def test_an_import_checks_names_at_once(registry: AssetRegistry, tmp_path: Path) -> None:
    path = write(tmp_path / "a.obj", CUBE)
    imported(registry, path)
    with pytest.raises(AssetError, match="an asset 'a' already"):
        ImportAssetsJob.start(registry, path)
    assert imported(registry, path, names={"a.obj": "b"}).name == "b"
    with pytest.raises(AssetError, match=r"did you mean '\.obj'"):
        ImportAssetsJob.start(registry, write(tmp_path / "x.ob", ""))
    with pytest.raises(AssetError, match="is not a file"):
        ImportAssetsJob.start(registry, tmp_path / "nowhere.obj")


def test_registering_is_for_the_main_thread(registry: AssetRegistry, tmp_path: Path) -> None:
    record_main_thread()
    job = ImportAssetsJob.start(registry, write(tmp_path / "a.obj", CUBE))
    job.join()
    assert len(registry) == 0, "nothing is registered before somebody takes it"
    with pytest.raises(WrongThreadError, match=r"Job\.take_result"):
        on_thread(job.take_result, "job")
    assert [asset.name for asset in job.take_result()] == ["a"]


def test_all_of_an_import_or_none(registry: AssetRegistry, tmp_path: Path) -> None:
    good, bad = write(tmp_path / "a.obj", CUBE), write(tmp_path / "b.obj", "v 0 0 0")
    with pytest.raises(AssetError):
        finish(ImportAssetsJob.start(registry, good, bad))
    assert tree(registry.folder) == {}
    job = ImportAssetsJob.start(registry, good)
    job.join()
    other = AssetRegistry(registry.folder)
    with other.writing(), pytest.raises(RegistryError, match="is being written by process"):
        job.take_result()
    assert tree(registry.folder) == {}


def test_what_nobody_takes_goes_with_its_job(registry: AssetRegistry, tmp_path: Path) -> None:
    """Checked and copied, and then the result is dropped, or the program ends."""
    import gc
    import subprocess
    import sys

    before = tree(registry.folder)
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    job = ImportAssetsJob.start(registry, tmp_path / "a.obj")
    job.join()
    assert tree(registry.folder) != before
    del job
    gc.collect()
    assert tree(registry.folder) == before
    code = (
        "import sys; from pathlib import Path\n"
        "from mainspring.project import AssetRegistry, ImportAssetsJob\n"
        "job = ImportAssetsJob.start(AssetRegistry(Path(sys.argv[1])), sys.argv[2])\n"
        "job.join()\n"
    )
    command = [sys.executable, "-c", code, str(registry.folder), str(tmp_path / "a.obj")]
    subprocess.run(command, check=True)
    assert tree(registry.folder) == before


def test_one_writer_at_a_time(registry: AssetRegistry, tmp_path: Path) -> None:
    """Another object, another process, and the block around are all refused."""
    code = (
        "import sys; from pathlib import Path; from mainspring.project import AssetRegistry\n"
        "AssetRegistry(Path(sys.argv[1])).writing().__enter__()"
    )
    with registry.writing():
        with pytest.raises(RegistryError, match="block around this one"), registry.writing():
            pass
        done = subprocess.run(
            [sys.executable, "-c", code, str(registry.folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "is being written by process" in done.stderr
    with registry.writing():
        pass
    with pytest.raises(RegistryError, match="outside `with registry"):
        registry.remove("x")


def test_removing_and_verifying(registry: AssetRegistry, tmp_path: Path) -> None:
    imported(registry, write(tmp_path / "a.obj", CUBE))
    imported(registry, write(tmp_path / "b.obj", CUBE))
    registry.path("a").write_text("changed")
    registry.path("b").unlink()
    assert registry.verify() == ["a: a.obj was changed", "b: b.obj is missing"]
    with registry.writing():
        registry.remove("a")
    assert "a" not in AssetRegistry(registry.folder)
    assert not (registry.folder / "a").exists()
    with pytest.raises(AssetError, match="did you mean 'b'"):
        registry["bb"]


def test_a_damaged_list_is_an_error(registry: AssetRegistry) -> None:
    write(registry.folder / "registry.json", "{")
    with pytest.raises(RegistryError, match="cannot be read"):
        AssetRegistry(registry.folder)
    write(registry.folder / "registry.json", '{"format": 99, "assets": []}')
    with pytest.raises(RegistryError, match="newer than 1"):
        AssetRegistry(registry.folder)


READERS: list[tuple[str, Callable[[], bytes]]] = [
    ("a.png", lambda: png(5, 3)),
    ("a.jpg", lambda: jpeg(5, 3)),
    ("a.stl", lambda: binary_stl([(0.0, 1.0, 2.0)] * 6)),
    ("a.obj", lambda: CUBE.encode()),
    ("a.urdf", lambda: URDF.encode()),
]


@pytest.mark.parametrize(("name", "make"), READERS)
@given(data=st.data())
def test_whatever_the_bytes_a_reader_answers_or_refuses(
    name: str, make: Callable[[], bytes], data: st.DataObject, tmp_path_factory: Any
) -> None:
    """Cut, flipped and random bytes: an asset or an `AssetError`, nothing else."""
    from mainspring.project._importers import parse_asset

    whole = bytearray(make())
    for _ in range(data.draw(st.integers(0, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(whole[:cut])
    refused = ""
    try:
        parse_asset(path, StopSource().token)
    except AssetError as error:
        refused = str(error)
    assert not refused or str(path) in refused


def test_reading_can_be_stopped(tmp_path: Path) -> None:
    from mainspring.project._importers import parse_asset

    source = StopSource()
    source.request_stop()
    for name, make in READERS[:3]:
        with pytest.raises(JobCancelledError):
            parse_asset(write(tmp_path / name, make()), source.token)

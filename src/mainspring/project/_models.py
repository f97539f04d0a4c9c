"""Reading robot models (MJCF, URDF) to check them and to find every file they need.

The promise: a model that passes names only files that exist, lie beside it, and are themselves
what they claim to be; everything wrong is told at once, each with file and line. A document type
is refused before anything else is read, so entities cannot swell or reach out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from mainspring.project.errors import AssetError
from mainspring.threads import StopToken

__all__ = ["Element", "find_mjcf_files", "find_urdf_files", "read_xml"]

MAX_XML_BYTES = 256 << 20


@dataclass(slots=True)
class Element:
    """One XML element, and the line it stands on."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        """This element and everything in it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))


def read_xml(path: Path, stop: StopToken) -> Element:
    """The root element of an XML file."""
    if path.stat().st_size > MAX_XML_BYTES:
        raise AssetError(f"{path} is larger than a model of {MAX_XML_BYTES >> 20} MB")
    parser = expat.ParserCreate()
    root: list[Element] = []
    open_elements: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber)
        (open_elements[-1].children if open_elements else root).append(element)
        open_elements.append(element)
        if len(open_elements) > 500:
            raise AssetError(f"{path}:{element.line}: elements are nested over 500 deep")

    def refuse_doctype(*_: Any) -> None:
        raise AssetError(
            f"{path}:{parser.CurrentLineNumber}: a document type is not allowed in a model",
            hint="remove the <!DOCTYPE ...> and any entities it defines",
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: open_elements.pop()
    parser.StartDoctypeDeclHandler = refuse_doctype
    try:
        with open(path, "rb") as source:
            while chunk := source.read(1 << 16):
                stop.checkpoint()
                parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise AssetError(f"{path}:{error.lineno}: {expat.ErrorString(error.code)}") from None
    return root[0]


class Faults:
    """What is wrong with a model, collected so that all of it is told at once."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, path: Path, line: int, what: str) -> None:
        self.lines.append(f"{path}:{line}: {what}")

    def raise_any(self, hint: str) -> None:
        if self.lines:
            raise AssetError("\n".join(self.lines), hint=hint)


_FILE_HINT = "a model may name files below its own folder; copy what is missing there"

Check = Callable[[Path], None]


def find_mjcf_files(path: Path, check: Check, stop: StopToken) -> tuple[list[Path], dict[str, Any]]:
    """Every file an MJCF model needs, itself first, and what it contains."""
    faults = Faults()
    files: dict[Path, None] = {}
    counts: dict[str, int] = {}
    _walk_mjcf(path, path.parent, files, counts, faults, check, stop, [])
    faults.raise_any(_FILE_HINT)
    _compile_mjcf(path)
    return list(files), {"elements": dict(sorted(counts.items()))}


_COUNTED = ("body", "joint", "freejoint", "geom", "site", "camera", "light", "mesh", "motor")
_BY_DIRECTORY = {
    "mesh": "meshdir",
    "hfield": "assetdir",
    "skin": "assetdir",
    "texture": "texturedir",
}
_CUBE = ("fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")


def _walk_mjcf(
    path: Path,
    base: Path,
    files: dict[Path, None],
    counts: dict[str, int],
    faults: Faults,
    check: Check,
    stop: StopToken,
    including: list[Path],
) -> None:
    root = read_xml(path, stop)
    files[path] = None
    if root.tag not in (("mujoco",) if not including else ("mujoco", "mujocoinclude")):
        faults.add(path, root.line, f"the root element is <{root.tag}>, and should be <mujoco>")
        return
    directories: dict[str, str] = {}
    for element in root.walk():
        if element.tag == "compiler":
            assets = element.attributes.get("assetdir", "")
            directories["assetdir"] = assets
            directories["meshdir"] = element.attributes.get("meshdir", assets)
            directories["texturedir"] = element.attributes.get("texturedir", assets)
    for element in root.walk():
        if element.tag in _COUNTED:
            counts[element.tag] = counts.get(element.tag, 0) + 1
        for attribute in ("file", *(_CUBE if element.tag == "texture" else ())):
            name = element.attributes.get(attribute)
            if name is None or element.tag in ("flag", "plugin"):
                continue
            directory = directories.get(_BY_DIRECTORY.get(element.tag, ""), "")
            found = _inside(base, Path(directory) / name, path, element, faults)
            if found is None or found in files:
                if found is not None and element.tag == "include" and found in including:
                    faults.add(path, element.line, f"{name} includes itself")
                continue
            if element.tag in ("include", "model"):
                _walk_mjcf(found, base, files, counts, faults, check, stop, [*including, path])
            else:
                files[found] = None
                _check(found, check, path, element, faults)


def find_urdf_files(
    path: Path, check: Check, stop: StopToken, packages: dict[str, Path]
) -> tuple[list[Path], dict[str, Any]]:
    """Every file a URDF model needs, itself first, and what it contains."""
    faults = Faults()
    root = read_xml(path, stop)
    if root.tag != "robot":
        faults.add(path, root.line, f"the root element is <{root.tag}>, and should be <robot>")
    links = _named(path, root, "link", faults)
    joints = _named(path, root, "joint", faults)
    _check_tree(path, root, links, joints, faults)
    files: dict[Path, None] = {path: None}
    for element in root.walk():
        name = element.attributes.get("filename")
        if name is None or element.tag not in ("mesh", "texture"):
            continue
        if name.startswith("package://"):
            found = _in_package(path, name, element, packages, faults)
        elif "://" in name:
            faults.add(path, element.line, f"{name!r} is not a file below the model")
            found = None
        else:
            found = _inside(path.parent, Path(name), path, element, faults)
        if found is not None and found not in files:
            files[found] = None
            _check(found, check, path, element, faults)
    faults.raise_any(_FILE_HINT)
    return list(files), {"elements": {"joint": len(joints), "link": len(links)}}


def _named(path: Path, root: Element, tag: str, faults: Faults) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in root.children:
        if element.tag != tag:
            continue
        name = element.attributes.get("name", "")
        if not name:
            faults.add(path, element.line, f"a {tag} has no name")
        elif name in found:
            line = found[name].line
            faults.add(path, element.line, f"{tag} {name!r} is there twice, first in line {line}")
        else:
            found[name] = element
    return found


_JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def _check_tree(
    path: Path,
    root: Element,
    links: dict[str, Element],
    joints: dict[str, Element],
    faults: Faults,
) -> None:
    """The links are one tree under one root, as URDF has it."""
    parents: dict[str, str] = {}
    for name, joint in joints.items():
        if joint.attributes.get("type") not in _JOINTS:
            kind = joint.attributes.get("type")
            known = ", ".join(_JOINTS)
            faults.add(path, joint.line, f"joint {name!r} has type {kind!r}; known: {known}")
        ends = {c.tag: c.attributes.get("link", "") for c in joint.children}
        for end in ("parent", "child"):
            if ends.get(end, "") not in links:
                faults.add(path, joint.line, f"joint {name!r}: {end} {ends.get(end)!r} is no link")
        child = ends.get("child", "")
        if child in parents:
            faults.add(path, joint.line, f"link {child!r} is the child of two joints")
        elif child in links:
            parents[child] = ends.get("parent", "")
    roots = [name for name in links if name not in parents]
    if not links:
        faults.add(path, root.line, "the robot has no link")
    elif len(roots) != 1 and not faults.lines:
        names = ", ".join(map(repr, roots)) or "none: the joints go in a circle"
        faults.add(path, root.line, f"the links are not one tree; roots: {names}")


def _inside(base: Path, name: Path, path: Path, element: Element, faults: Faults) -> Path | None:
    """The file `name` below `base`, when it is there and is not elsewhere."""
    found = (base / name).resolve()
    if name.is_absolute() or not found.is_relative_to(base.resolve()):
        faults.add(path, element.line, f"{str(name)!r} leads out of {base}")
        return None
    if not found.is_file():
        faults.add(path, element.line, f"{str(name)!r} is not there")
        return None
    return found


def _in_package(
    path: Path, name: str, element: Element, packages: dict[str, Path], faults: Faults
) -> Path | None:
    package, _, rest = name.removeprefix("package://").partition("/")
    folder = packages.get(package)
    if folder is None:
        folder = next((parent for parent in path.parents if parent.name == package), None)
    if folder is None:
        faults.add(path, element.line, f"package {package!r} of {name!r} is not known")
        return None
    return _inside(folder, Path(rest), path, element, faults)


def _check(found: Path, check: Check, path: Path, element: Element, faults: Faults) -> None:
    try:
        check(found)
    except AssetError as error:
        faults.add(path, element.line, f"{found.name} is not usable: {error.message}")


def _compile_mjcf(path: Path) -> None:
    """What only the engine can know; skipped where it is not installed."""
    try:
        import mujoco
    except ImportError:
        return
    try:
        mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise AssetError(f"{path}: MuJoCo does not load it: {error}") from None

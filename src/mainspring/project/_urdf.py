"""Reading a URDF model: one tree of links, and every file they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mainspring.project._models import (
    FILE_HINT,
    Check,
    Element,
    Fault,
    Faults,
    check_file,
    find_inside,
    read_xml,
)
from mainspring.threads import StopToken

__all__ = ["find_urdf_files"]


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
        fault = faults.at(path, element)
        if name.startswith("package://"):
            found = _in_package(path, name, packages, fault)
        elif "://" in name:
            fault(f"{name!r} is not a file below the model")
            found = None
        else:
            found = find_inside(path.parent, path.parent, Path(name), fault)
        if found is not None and found not in files:
            files[found] = None
            check_file(found, check, fault)
    faults.raise_any(FILE_HINT)
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


def _in_package(path: Path, name: str, packages: dict[str, Path], fault: Fault) -> Path | None:
    package, _, rest = name.removeprefix("package://").partition("/")
    folder = packages.get(package)
    if folder is None:
        folder = next((parent for parent in path.parents if parent.name == package), None)
    if folder is None:
        fault(f"package {package!r} of {name!r} is not known")
        return None
    return find_inside(folder, folder, Path(rest), fault)

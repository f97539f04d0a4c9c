"""What the readers of robot models share: XML with lines, faults, files below a folder.

The promise: everything wrong with a model is told at once, each with file and line. A document
type is refused before anything else is read, so entities cannot swell or reach out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from mainspring.project.errors import AssetError
from mainspring.threads import StopToken

__all__ = ["FILE_HINT", "Check", "Element", "Faults", "check_file", "find_inside", "read_xml"]

MAX_XML_BYTES = 256 << 20
MAX_ELEMENTS = 1_000_000


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
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber)
        (open_elements[-1].children if open_elements else root).append(element)
        open_elements.append(element)
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            raise AssetError(f"{path}:{element.line}: over {MAX_ELEMENTS} elements are no model")
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
    except (LookupError, ValueError) as error:  # of an encoding that is none
        raise AssetError(f"{path}:1: {error}", hint="save it as UTF-8") from None
    return root[0]


class Faults:
    """What is wrong with a model, collected so that all of it is told at once."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, path: Path, line: int, what: str) -> None:
        self.lines.append(f"{path}:{line}: {what}")

    def at(self, path: Path, element: Element) -> Fault:
        """Adds what is wrong with one element."""
        return functools.partial(self.add, path, element.line)

    def raise_any(self, hint: str) -> None:
        if self.lines:
            raise AssetError("\n".join(self.lines), hint=hint)


FILE_HINT = "a model may name files below its own folder; copy what is missing there"

Check = Callable[[Path], None]


Fault = Callable[[str], None]
"""Notes what is wrong at one place of a model."""


def find_inside(root: Path, base: Path, name: Path, fault: Fault) -> Path | None:
    """The file `name` as seen from `base`, when it is there and lies below `root`."""
    found = (base / name).resolve()
    if name.is_absolute() or not found.is_relative_to(root.resolve()):
        fault(f"{str(name)!r} leads out of {root}")
        return None
    if not found.is_file():
        fault(f"{str(name)!r} is not there")
        return None
    return found


def check_file(found: Path, check: Check, fault: Fault) -> None:
    """Notes it where a file that a model names is damaged."""
    try:
        check(found)
    except AssetError as error:
        fault(f"{found.name} is not usable: {error.message}")

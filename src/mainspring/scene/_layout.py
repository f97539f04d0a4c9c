"""Where everything stands in a TOML text: the line of each key, for faults, and the place of each
value, entry and table, for writing into the text without touching the rest.

The text is known to be TOML already; this reads it once more for the places alone. A path is a
tuple of keys and indices: `("runner", 1, "rate")`.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from typing import Any, TypeAlias

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError

__all__ = ["Entry", "Header", "Layout", "Path", "line_of", "load"]

Path: TypeAlias = tuple[str | int, ...]
Span: TypeAlias = tuple[int, int]

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*(?:("(?:[^"\\]|\\.)*")|'([^']*)'|([A-Za-z0-9_-]+))[ \t]*""")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\]|\\.)*"|\'[^\']*\'', re.DOTALL
)
_SCALAR = re.compile(r"[^,\]}\n#]*")


class Entry(msgspec.Struct, frozen=True):
    """A line `key = value`, which a value may stretch over more than one."""

    path: Path
    home: Path
    """The table under whose header it stands."""
    span: Span
    """Whole lines, their ends included."""


class Header(msgspec.Struct, frozen=True):
    """A line `[table]` or `[[table]]`."""

    path: Path
    span: Span


class Layout:
    """The places of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.begins = [0, *(found.end() for found in re.finditer("\n", text))]
        self.lines: dict[str, int] = {}
        """The line of every table, key and item, by its path as people write it."""
        self.headers: list[Header] = []
        self.entries: list[Entry] = []
        self.values: dict[Path, Span] = {}
        """Where each value stands; a table that is not inline has none."""
        self.inner: dict[Path, list[tuple[Path, Span]]] = {}
        """What each inline table and each array holds: items with their keys, without commas."""
        self._at = 0
        self._arrays: dict[Path, int] = {}  # how many tables each [[array]] has so far
        table: Path = ()
        while self._skip(_SPACE) < len(text):
            if text.startswith("[", self._at):
                table = self._header()
            else:
                self._line(table)

    def line_at(self, place: int) -> int:
        """The number of the line that `place` lies in, from 1."""
        return bisect_right(self.begins, place)

    def line_begin(self, place: int) -> int:
        """Where the line begins that `place` lies in."""
        return self.begins[self.line_at(place) - 1]

    def line_end(self, place: int) -> int:
        """Where the line ends, its end included, that `place` lies in."""
        line = self.line_at(place)
        return self.begins[line] if line < len(self.begins) else len(self.text)

    # -- reading -------------------------------------------------------------------------

    def _skip(self, what: re.Pattern[str]) -> int:
        found = what.match(self.text, self._at)
        self._at = self._at if found is None else found.end()
        return self._at

    def _take(self, mark: str) -> bool:
        self._skip(_SPACE)
        here = self.text.startswith(mark, self._at)
        self._at += here
        return here

    def _note(self, path: Path, place: int) -> None:
        self.lines.setdefault(_written(path), self.line_at(place))

    def _header(self) -> Path:
        begin = self._at
        doubled = self.text.startswith("[[", begin)
        self._at += 1 + doubled
        path: Path = ()
        for name in self._keys():
            path = (*self._innermost(path), name)
        if doubled:
            self._note(path, begin)
            self._arrays[path] = self._arrays.get(path, 0) + 1
            path = self._innermost(path)
        self._note(path, begin)
        self._at = self.text.index("]", self._at) + 1 + doubled
        self.headers.append(Header(path, (self.line_begin(begin), self.line_end(self._at))))
        return path

    def _innermost(self, path: Path) -> Path:
        return (*path, self._arrays[path] - 1) if path in self._arrays else path

    def _keys(self) -> list[str]:
        names = []
        while True:
            found = _KEY.match(self.text, self._at)
            assert found is not None, "not TOML after all"
            quoted, literal, bare = found.groups()
            names.append(tomllib.loads(f"k = {quoted}")["k"] if quoted else literal or bare or "")
            self._at = found.end()
            if not self.text.startswith(".", self._at):
                return names
            self._at += 1

    def _entry(self, home: Path) -> Path:
        begin, path = self._at, home
        for name in self._keys():
            path = (*path, name)
            self._note(path, begin)
        self._at = self.text.index("=", self._at) + 1
        self._value(path)
        return path

    def _line(self, home: Path) -> None:
        begin = self._at
        path = self._entry(home)
        span = self.line_begin(begin), self.line_end(self.values[path][1])
        self.entries.append(Entry(path, home, span))

    def _value(self, path: Path) -> None:
        self._skip(_SPACE)
        begin = self._at
        if self._take("["):
            held = self.inner[path] = []
            while not self._take("]"):
                item = (*path, len(held))
                self._skip(_SPACE)
                self._note(item, self._at)
                self._value(item)
                held.append((item, self.values[item]))
                self._take(",")
        elif self._take("{"):
            held = self.inner[path] = []
            while not self._take("}"):
                key_begin = self._at
                item = self._entry(path)
                held.append((item, (key_begin, self.values[item][1])))
                self._take(",")
        elif _STRING.match(self.text, self._at):
            self._skip(_STRING)
        else:
            self._skip(_SCALAR)
            self._at = begin + len(self.text[begin : self._at].rstrip())
        self.values[path] = begin, self._at


def load(text: str) -> dict[str, Any]:
    """What a TOML text says. The standard library says where a fault is; tomlkit knows what newer
    editions of TOML allow."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        try:
            return dict(tomlkit.parse(text).unwrap())
        except TOMLKitError:
            raise error from None


def _written(path: Path) -> str:
    """`runner[1].rate`"""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)[1:]


def line_of(lines: dict[str, int], path: str) -> int | None:
    """The line of `path`, or of the nearest table or array around it."""
    while path:
        if path in lines:
            return lines[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return None

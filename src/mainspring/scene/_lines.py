"""Where in a TOML text each key stands, so that a fault can name its line.

The text is known to be TOML already; this reads it once more for the places alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right

__all__ = ["line_of", "locate"]

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))[ \t]*""")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\]|\\.)*"|\'[^\']*\'', re.DOTALL
)
_SCALAR = re.compile(r"[^,\]}\n#]*")


def locate(text: str) -> dict[str, int]:
    """The line of every table, key and item, by path: `runner[1].rate`."""
    return _Places(text).lines


def line_of(lines: dict[str, int], path: str) -> int | None:
    """The line of `path`, or of the nearest table or array around it."""
    while path:
        if path in lines:
            return lines[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return None


class _Places:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.begins = [0, *(found.end() for found in re.finditer("\n", text))]
        self.lines: dict[str, int] = {}
        self.arrays: dict[str, int] = {}  # how many tables each [[array]] has so far
        table = ""
        while self.skip(_SPACE) < len(text):
            if text.startswith("[", self.at):
                table = self.header()
            else:
                self.entry(table)

    def skip(self, what: re.Pattern[str]) -> int:
        found = what.match(self.text, self.at)
        self.at = self.at if found is None else found.end()
        return self.at

    def take(self, mark: str) -> bool:
        self.skip(_SPACE)
        here = self.text.startswith(mark, self.at)
        self.at += here
        return here

    def note(self, path: str) -> str:
        self.lines.setdefault(path, bisect_right(self.begins, self.at))
        return path

    def header(self) -> str:
        doubled = self.text.startswith("[[", self.at)
        self.at += 1 + doubled
        path = ""
        for name in self.keys():
            path = f"{self.inner(path)}.{name}" if path else name
        if doubled:
            self.note(path)
            self.arrays[path] = self.arrays.get(path, 0) + 1
            path = self.inner(path)
        self.note(path)
        self.at = self.text.index("]", self.at) + 1 + doubled
        return path

    def inner(self, path: str) -> str:
        return f"{path}[{self.arrays[path] - 1}]" if path in self.arrays else path

    def keys(self) -> list[str]:
        names = []
        while True:
            found = _KEY.match(self.text, self.at)
            assert found is not None, "not TOML after all"
            names.append(next(group for group in found.groups() if group is not None))
            self.at = found.end()
            if not self.text.startswith(".", self.at):
                return names
            self.at += 1

    def entry(self, path: str) -> None:
        line = bisect_right(self.begins, self.at)
        for name in self.keys():
            path = f"{path}.{name}" if path else name
            self.lines.setdefault(path, line)
        self.at = self.text.index("=", self.at) + 1
        self.value(path)

    def value(self, path: str) -> None:
        self.skip(_SPACE)
        if self.take("["):
            index = 0
            while not self.take("]"):
                self.value(self.note(f"{path}[{index}]"))
                self.take(",")
                index += 1
        elif self.take("{"):
            while not self.take("}"):
                self.entry(path)
                self.take(",")
        elif _STRING.match(self.text, self.at):
            self.skip(_STRING)
        else:
            self.skip(_SCALAR)

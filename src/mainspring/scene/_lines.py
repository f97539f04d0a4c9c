"""Where in a TOML text each key stands, so that a fault can name its line."""

from __future__ import annotations

import re

__all__ = ["line_of", "locate"]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]#]+?)\s*\]\]?")
_KEY = re.compile(r"^\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_-]+)*)\s*=")


def locate(text: str) -> dict[str, int]:
    """The line of every table and key, by path: `runner[1].rate`."""
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    quote = ""  # inside a multi-line string of this kind
    for number, line in enumerate(text.splitlines(), 1):
        if quote:
            if line.count(quote) % 2:
                quote = ""
            continue
        if header := _HEADER.match(line):
            name = header.group(2).replace('"', "").replace(" ", "")
            if header.group(1) == "[[":
                index = counts.get(name, 0)
                counts[name] = index + 1
                name = f"{name}[{index}]"
            table = name
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            name = re.sub(r"[\s\"']", "", key.group(1))
            lines.setdefault(f"{table}.{name}" if table else name, number)
        for kind in ('"""', "'''"):
            if line.count(kind) % 2:
                quote = kind
    return lines


def line_of(lines: dict[str, int], path: str) -> int | None:
    """The line of `path`, or of the nearest table around it."""
    while path:
        if path in lines:
            return lines[path]
        path = path.rpartition(".")[0]
    return None

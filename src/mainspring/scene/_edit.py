"""Writing into a TOML text: it says something else, and what it said already stays as it was typed.

One change at a time: the first place where the text and what it shall say differ is mended, then the
text is read anew, until none differs. Comments stay where they are; those that stand beside an entry,
or directly above the table of an array, go and move with it. Tables of an array are told apart by
their names (or types), so that one taken out of the middle takes its own comments with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import tomlkit

from mainspring.scene._layout import Layout, Path, load

__all__ = ["edited"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BESIDE = re.compile(r"[ \t]*(,?)(?:[ \t]*#[^\n]*)?")  # what stands after an item in its line
_INLINE = "args"  # a table by this name is written in one line
_MOST_CHANGES = 10_000


def edited(text: str, wanted: dict[str, Any]) -> str:
    """`text`, changed so that it says what `wanted` does and nothing else."""
    ends = "\r\n" if "\r\n" in text else "\n"
    text = text.replace("\r\n", "\n")
    for _ in range(_MOST_CHANGES):
        mended = _Editor(text).mended((), load(text), wanted)
        if mended is None:
            return text.replace("\n", ends)
        text = mended
    # A table of an array whose parts stand far from it. What is said counts more than how.
    return edited("", wanted)


class _Editor:
    """One change of one text; each method gives the whole text after it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.layout = Layout(text)

    # -- finding the first difference ----------------------------------------------------

    def mended(self, path: Path, have: dict[str, Any], want: dict[str, Any]) -> str | None:
        """The text after the first change at or below `path`; None when nothing differs."""
        for key in have:
            if key not in want:
                return self.without((*path, key))
        for key, value in want.items():
            place = (*path, key)
            if key not in have:
                return self.with_new(path, key, value)
            old = have[key]
            found: str | None = None
            if isinstance(old, dict) and isinstance(value, dict):
                found = self.mended(place, old, value)
            elif _are_tables(old) and _are_tables(value):
                found = self.mended_rows(place, old, value)
            elif not _same(old, value):
                known = place in self.layout.values
                found = self.replaced(place, value) if known else self.without(place)
            if found is not None:
                return found
        return None

    def mended_rows(
        self, path: Path, have: list[dict[str, Any]], want: list[dict[str, Any]]
    ) -> str | None:
        """The same for the tables of an array: first each to its place, then what is in them."""
        matched = _matched(have, want)
        if matched != list(range(len(have))):
            if path in self.layout.values:
                return self.items_arranged(path, matched, want)
            return self.tables_arranged(path, matched, want)
        for i, (old, new) in enumerate(zip(have, want, strict=True)):
            if (found := self.mended((*path, i), old, new)) is not None:
                return found
        return None

    # -- changing ------------------------------------------------------------------------

    def replaced(self, path: Path, value: Any) -> str:
        """Another value where one stands."""
        return self.spliced([(*self.layout.values[path], _rendered(value))])

    def without(self, path: Path) -> str:
        """Everything at and below `path` taken out, with the comments beside it."""
        around = path[:-1]
        if around in self.layout.inner:
            keep = [span for item, span in self.layout.inner[around] if not _below(item, path)]
            texts = [self.text[begin:end] for begin, end in keep]
            return self.replaced_text(around, f"{{ {', '.join(texts)} }}" if texts else "{}")
        gone = [e.span for e in self.layout.entries if _below(e.path, path)]
        for i, header in enumerate(self.layout.headers):
            if _below(header.path, path):
                gone.append(self.with_blank(self.block(i)))
        return self.spliced((begin, end, "") for begin, end in _joined(gone))

    def with_new(self, path: Path, key: str, value: Any) -> str:
        """`key` added to the table at `path`, after what the table holds."""
        layout = self.layout
        if path in layout.inner:
            held = layout.inner[path]
            entry = f"{_key(key)} = {_rendered(value)}"
            if not held:
                return self.replaced_text(path, f"{{ {entry} }}")
            return self.spliced([(held[-1][1][1], held[-1][1][1], f", {entry}")])
        in_row = any(isinstance(part, int) for part in path)
        if not path or (isinstance(value, dict) and key != _INLINE and not in_row):
            name = _name((*path, key))
            if isinstance(value, dict):
                return self.appended((*path, key), [_table(name, value)])
            return self.appended((*path, key), [_table(name, row, 2) for row in value])
        entries = [e for e in layout.entries if e.home == path]
        header_of = next((h for h in layout.headers if h.path == path), None)
        dotted = [e for e in layout.entries if _below(e.path, path) and len(e.home) < len(path)]
        if entries or header_of is not None:
            before = entries[-1].span if entries else header_of.span if header_of else (0, 0)
            line = f"{_key(key)} = {_rendered(value)}"
        elif dotted:
            before, home = dotted[-1].span, dotted[-1].home
            line = f"{_name((*path[len(home) :], key))} = {_rendered(value)}"
        else:  # only the tables inside it have headers
            inside = next(h for h in layout.headers if _below(h.path, path))
            place = self.above(inside.span[0])
            return self.spliced([(place, place, _table(_name(path), {key: value}) + "\n")])
        begin, end = before
        indent = re.match(r"[ \t]*", self.text[begin:end])
        start = "" if self.text[:end].endswith("\n") else "\n"
        return self.spliced([(end, end, f"{start}{indent[0] if indent else ''}{line}\n")])

    def items_arranged(
        self, path: Path, matched: list[int | None], want: list[dict[str, Any]]
    ) -> str:
        """The items of an array in one value, in another order, with new ones and without old."""
        spans = [span for _, span in self.layout.inner[path]]
        texts = [
            _rendered(row) if old is None else self.text[slice(*spans[old])]
            for row, old in zip(want, matched, strict=True)
        ]
        changes = [(*span, new) for span, new in zip(spans, texts, strict=False)]
        if len(texts) < len(spans):
            changes += [(*span, "") for span in self.items_gone(spans, len(texts))]
        elif len(texts) > len(spans):
            changes += self.items_after(spans[-1], texts[len(spans) :])
        return self.spliced(changes)

    def items_gone(self, spans: list[tuple[int, int]], kept: int) -> list[tuple[int, int]]:
        """What is taken out with all items after the first `kept`: their whole lines, where each
        has its own."""
        begin = spans[kept][0]
        if self.text[self.layout.line_begin(begin) : begin].strip():
            return [(spans[kept - 1][1], spans[-1][1])]
        beside = _BESIDE.match(self.text, spans[-1][1])
        end = beside.end() if beside else spans[-1][1]
        begin = self.layout.line_begin(begin)
        return [(begin, self.layout.line_end(end) if not self.text[end : end + 1].strip() else end)]

    def items_after(self, last: tuple[int, int], texts: list[str]) -> list[tuple[int, int, str]]:
        """New items after the last: each in a line of its own where the last has one."""
        begin, end = last
        indent = self.text[self.layout.line_begin(begin) : begin]
        if indent.strip():
            return [(end, end, "".join(f", {text}" for text in texts))]
        beside = _BESIDE.match(self.text, end)
        comma, place = (beside[1], beside.end()) if beside else ("", end)
        lines = ",".join(f"\n{indent}{text}" for text in texts) + comma
        return [(end, end, "" if comma else ","), (place, place, lines)]

    def tables_arranged(
        self, path: Path, matched: list[int | None], want: list[dict[str, Any]]
    ) -> str:
        """The tables of an array, each under its header, moved, added and taken out."""
        spans = []
        for i, header in enumerate(self.layout.headers):
            if header.path[: len(path)] == path and len(header.path) == len(path) + 1:
                spans.append(self.block(i))
        texts = [
            _table(_name(path), row, 2)
            if old is None
            else self.ended(self.text[slice(*spans[old])])
            for row, old in zip(want, matched, strict=True)
        ]
        changes = [(*span, new) for span, new in zip(spans, texts, strict=False)]
        gone = _joined(self.with_blank(span) for span in spans[len(texts) :])
        changes += [(*span, "") for span in gone]
        if len(texts) > len(spans):
            begin, end, last = changes[-1]
            follows = "\n" if self.text[end : self.layout.line_end(end)].strip() else ""
            changes[-1] = (begin, end, "\n".join([last, *texts[len(spans) :]]) + follows)
        return self.spliced(changes)

    def appended(self, path: Path, tables: list[str]) -> str:
        """New tables, each after an empty line: behind those of the same family, or at the end."""
        family = [i for i, h in enumerate(self.layout.headers) if h.path[0] == path[0]]
        end = self.block(family[-1])[1] if family else len(self.text.rstrip("\n"))
        before, after = self.text[:end], self.text[end:]
        if not before.strip():
            return before + "\n".join(tables)
        after = after if family else ""
        gap = "\n" if after.strip() and not after.startswith("\n") else ""
        return "\n".join([self.ended(before), *tables]) + gap + after

    def replaced_text(self, path: Path, new: str) -> str:
        return self.spliced([(*self.layout.values[path], new)])

    def spliced(self, changes: Iterable[tuple[int, int, str]]) -> str:
        """The text with each span replaced."""
        text = self.text
        for begin, end, new in sorted(changes, reverse=True):
            text = text[:begin] + new + text[end:]
        return text

    @staticmethod
    def ended(text: str) -> str:
        return text if text.endswith("\n") else f"{text}\n"

    # -- what belongs to a table ---------------------------------------------------------

    def block(self, index: int) -> tuple[int, int]:
        """A table from the comments directly above its header to the comments directly below its
        last entry, the tables inside it included."""
        layout, header = self.layout, self.layout.headers[index]
        last = index
        while last + 1 < len(layout.headers) and _below(layout.headers[last + 1].path, header.path):
            last += 1
        held = [e.span[1] for e in layout.entries if _below(e.home, header.path)]
        end = max([layout.headers[last].span[1], *held])
        following = last + 1 < len(layout.headers)
        limit = self.above(layout.headers[last + 1].span[0]) if following else len(self.text)
        while end < limit and self.text[end : layout.line_end(end)].strip():
            end = layout.line_end(end)
        return self.above(header.span[0]), end

    def above(self, begin: int) -> int:
        """Where the comments begin that stand directly above a line."""
        while begin > 0:
            line = self.layout.line_begin(begin - 1)
            if not self.text[line:begin].lstrip().startswith("#"):
                break
            begin = line
        return begin

    def with_blank(self, span: tuple[int, int]) -> tuple[int, int]:
        """The span with the empty lines after it, or at the end of the text before it."""
        begin, end = span
        while end < len(self.text) and not self.text[end : self.layout.line_end(end)].strip():
            end = self.layout.line_end(end)
        if end == len(self.text):
            begin = len(self.text[:begin].rstrip("\n")) + (1 if self.text[:begin].strip() else 0)
        return begin, end


def _matched(have: list[dict[str, Any]], want: list[dict[str, Any]]) -> list[int | None]:
    """For each wanted table the one there is that becomes it: an equal one, one of the same name
    or type, or the one in its place."""
    found: list[int | None] = [None] * len(want)
    left = set(range(len(have)))

    def match(alike: Callable[[Any, Any], bool], anywhere: bool) -> None:
        for i, row in enumerate(want):
            if found[i] is not None:
                continue
            places = sorted(left) if anywhere else [i] if i in left else []
            place = next((k for k in places if alike(have[k], row)), None)
            if place is not None:
                found[i] = place
                left.remove(place)

    # order: nearest first, so that what stands where it belongs stays there
    for alike in (_same, _alike("name"), _alike("type")):
        match(alike, anywhere=False)
        match(alike, anywhere=True)
    match(lambda a, b: True, anywhere=False)
    return found


def _alike(key: str) -> Callable[[dict[str, Any], dict[str, Any]], bool]:
    return lambda a, b: key in a and key in b and _same(a[key], b[key])


def _same(a: Any, b: Any) -> bool:
    """Whether both are written alike: 1, 1.0 and true are not."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _below(path: Path, other: Path) -> bool:
    """Whether `path` is `other` or lies inside it."""
    return path[: len(other)] == other


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def _name(path: Path) -> str:
    """The name of a table as a header has it; where an index stands the last one is meant."""
    return ".".join(_key(part) for part in path if isinstance(part, str))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else str(tomlkit.item(key).as_string())


def _rendered(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, dict):
        held = ", ".join(f"{_key(key)} = {_rendered(v)}" for key, v in value.items())
        return f"{{ {held} }}" if held else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_rendered, value))}]"
    return str(tomlkit.item(value).as_string())


def _table(name: str, values: dict[str, Any], brackets: int = 1) -> str:
    """A table under its own header, those inside it under theirs."""
    lines = [
        f"{_key(key)} = {_rendered(value)}"
        for key, value in values.items()
        if brackets == 2 or key == _INLINE or not isinstance(value, dict)
    ]
    inner = [
        _table(f"{name}.{_key(key)}", value)
        for key, value in values.items()
        if brackets == 1 and key != _INLINE and isinstance(value, dict)
    ]
    own = "\n".join(["[" * brackets + name + "]" * brackets, *lines]) + "\n"
    return "\n".join([own, *inner] if lines or not inner else inner)

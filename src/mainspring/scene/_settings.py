"""Scene files: a scene as one TOML file, read whole or not at all, written with its comments kept.

A wrong file is refused with every fault at once, each with its line, what was found, what is
allowed and the nearest valid name. docs/reference/scene-file.md lists the keys.
"""

from __future__ import annotations

import inspect
import os
import re
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from mainspring._kernel.clock import MAX_RUNNERS
from mainspring.clock import DEFAULT_RUNNERS, Phase, Rate, RateLike, TimeMode
from mainspring.errors import did_you_mean
from mainspring.scene._edit import edited
from mainspring.scene._entry import import_class
from mainspring.scene._layout import Layout, line_of, load
from mainspring.scene._scene import Scene
from mainspring.scene._schema import BINDING, RUNNER, SCENE, SCRIPT, SUBSYSTEM, Key
from mainspring.scene._script import LIFECYCLE, Script
from mainspring.scene._subsystem import Subsystem
from mainspring.scene.errors import EntryError, Fault, SceneError, SettingsError

__all__ = ["SceneSettings", "load_scene", "read_settings", "write_settings"]

_TOP = ("scene", "runner", "bindings", "script", "subsystem")


class SceneSettings(msgspec.Struct):
    """What a scene file says, as plain data. Only what stands in the file is there."""

    scene: dict[str, Any] = {}
    runner: list[dict[str, Any]] = []
    bindings: dict[str, dict[str, Any]] = {}
    script: list[dict[str, Any]] = []
    subsystem: list[dict[str, Any]] = []
    source: str = "settings"
    lines: dict[str, int] = {}


def load_scene(path: str | os.PathLike[str]) -> Scene:
    """Builds the scene a file describes."""
    settings, faults = _examine(_read(Path(path)), str(path))
    return build(settings, path=Path(path).resolve(), faults=faults)


def read_settings(path: str | os.PathLike[str]) -> SceneSettings:
    """Reads and checks a scene file without importing or building anything."""
    return parse_settings(_read(Path(path)), source=str(path))


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")  # line ends as they are, and no mark of order
    except FileNotFoundError:
        raise SceneError(
            f"there is no scene file {str(path)!r}",
            hint="`mainspring new` makes a project with one",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SceneError(f"scene file {str(path)!r} cannot be read: {error}") from error


def parse_settings(text: str, source: str = "settings") -> SceneSettings:
    """Checks the text of a scene file and gives what it says."""
    settings, faults = _examine(text, source)
    _refuse(source, faults)
    return settings


def _refuse(source: str, faults: list[Fault], causes: Iterable[BaseException | None] = ()) -> None:
    if faults:
        cause = next((c for c in causes if c is not None), None)
        raise SettingsError(source, sorted(faults, key=lambda f: f.line or 0)) from cause


def _examine(text: str, source: str) -> tuple[SceneSettings, list[Fault]]:
    """What the text says, and what is wrong with it; the first is whole when the second is empty."""
    document = _parsed(text, source)
    check = _Check(Layout(text).lines)
    check.document(document)
    known = {key: document[key] for key in _TOP if key in document}
    return SceneSettings(**known, source=source, lines=check.lines), check.faults


def _parsed(text: str, source: str) -> dict[str, Any]:
    try:
        return load(text)
    except tomllib.TOMLDecodeError as error:
        found, _, place = str(error).partition(" (at ")
        told = re.match(r"line (\d+)", place)
        line = int(told[1]) if told else text.count("\n") + 1  # where it ends too soon
        raise SettingsError(source, [Fault("the file", found, "TOML", line)]) from None


class _Check:
    """Collects the faults of a document."""

    def __init__(self, lines: dict[str, int]) -> None:
        self.lines = lines
        self.faults: list[Fault] = []

    def fault(
        self, path: str, found: Any, allowed: str, hint: str | None = None, *, words: str = ""
    ) -> None:
        """`words` say what was found where no value was."""
        line = line_of(self.lines, path)
        self.faults.append(Fault(path, words or repr(found), allowed, line, hint or None))

    def document(self, document: dict[str, Any]) -> None:
        for key in document:
            if key not in _TOP:
                self.fault(key, key, "one of " + ", ".join(_TOP), did_you_mean(key, _TOP))
        self.keys("scene", document.get("scene", {}), SCENE)
        names = self.runners(document.get("runner"))
        self.bindings(document.get("bindings", {}), names)
        self.array("script", document.get("script", []), SCRIPT)
        for i, row in enumerate(self.array("subsystem", document.get("subsystem", []), SUBSYSTEM)):
            self.known_runner(f"subsystem[{i}].runner", row, names)

    def keys(self, path: str, table: Any, keys: dict[str, Key]) -> bool:
        if not isinstance(table, dict):
            self.fault(path, table, "a table")
            return False
        for name, value in table.items():
            place = f"{path}.{name}"
            if name not in keys:
                self.fault(place, name, "one of " + ", ".join(keys), did_you_mean(name, keys))
            elif (hint := keys[name].fault(value)) is not None:
                self.fault(place, value, keys[name].allowed, hint)
        for name, key in keys.items():
            if key.required and name not in table:
                self.fault(f"{path}.{name}", None, key.allowed, words=f"no {name}")
        return True

    def array(self, path: str, rows: Any, keys: dict[str, Key]) -> list[dict[str, Any]]:
        if not isinstance(rows, list):
            self.fault(path, rows, f"an array of tables, [[{path}]]")
            return []
        good = [row for i, row in enumerate(rows) if self.keys(f"{path}[{i}]", row, keys)]
        seen: dict[str, int] = {}
        for i, row in enumerate(rows):
            name = row.get("name") if isinstance(row, dict) else None
            if isinstance(name, str) and seen.setdefault(name, i) != i:
                self.fault(f"{path}[{i}].name", name, "a name of its own")
        return good

    def runners(self, rows: Any) -> list[str]:
        if rows is None:
            return [name for name, _ in DEFAULT_RUNNERS]
        good = self.array("runner", rows, RUNNER)
        if isinstance(rows, list) and not 1 <= len(rows) <= MAX_RUNNERS:
            self.fault("runner", None, f"1 to {MAX_RUNNERS} runners", words=f"{len(rows)} runners")
        names = (row.get("name") for row in good)
        return list(dict.fromkeys(n for n in names if isinstance(n, str) and n.strip()))

    def bindings(self, table: Any, runners: list[str]) -> None:
        if not isinstance(table, dict):
            self.fault("bindings", table, "a table")
            return
        for name, binding in table.items():
            path = f"bindings.{name}"
            if name not in LIFECYCLE:
                self.fault(
                    path, name, "one of " + ", ".join(LIFECYCLE), did_you_mean(name, LIFECYCLE)
                )
            elif self.keys(path, binding, BINDING):
                self.known_runner(f"{path}.runner", binding, runners)
                if not isinstance(LIFECYCLE[name].phase, Phase):
                    for key in ("runner", "phase"):
                        if key in binding:
                            self.fault(
                                f"{path}.{key}",
                                binding[key],
                                f"no {key}: {name} runs once a frame",
                            )

    def known_runner(self, path: str, row: dict[str, Any], runners: list[str]) -> None:
        name = row.get("runner")
        if isinstance(name, str) and name.strip() and name not in runners:
            self.fault(path, name, "one of " + ", ".join(runners), did_you_mean(name, runners))


def build(
    settings: SceneSettings, *, path: Path | None = None, faults: Iterable[Fault] = ()
) -> Scene:
    """Builds a scene from the settings in the file `path`. Nothing is built before every class was
    found and fits its arguments; what is wrong with them is told with the `faults` known already."""
    told = list(faults)
    causes: list[BaseException | None] = []
    parts = _find_parts(settings, None if path is None else path.parent, told, causes)
    _refuse(settings.source, told, causes)
    about = settings.scene
    runners: list[tuple[str, RateLike]] = [(r["name"], r["rate"]) for r in settings.runner]
    scene = Scene(
        about.get("name", "scene"),
        seed=about.get("seed", 0),
        runners=runners or DEFAULT_RUNNERS,
        mode=TimeMode.parse(about.get("mode", TimeMode.SIM_REALTIME)),
    )
    scene.source = None if path is None else str(path)
    if "frame_budget_ms" in about:
        scene.time.frame_budget_ns = max(1, round(about["frame_budget_ms"] * 1e6))
    if "max_frame_delta_ms" in about:
        scene.time.max_frame_delta_ns = max(1, round(about["max_frame_delta_ms"] * 1e6))
    if "frame_rate" in about:
        scene.time.frame_rate = Rate(about["frame_rate"])
    scene.seconds = about.get("seconds")
    for name, binding in settings.bindings.items():
        for key, value in binding.items():
            setattr(scene.bindings[name], key, value)
    for place, row, found in parts:
        where = {key: row[key] for key in ("runner", "phase", "priority") if key in row}
        try:
            scene.add(found(**row.get("args", {})), name=row.get("name"), **where)
        except Exception as error:
            causes.append(error)
            what = f"{type(error).__name__}: {error}".replace("\n", "; ")
            line = line_of(settings.lines, f"{place}.type")
            told.append(
                Fault(f"{place}.type", repr(row["type"]), "what can be made and added", line, what)
            )
    _refuse(settings.source, told, causes)
    scene.settings = settings
    return scene


def _find_parts(
    settings: SceneSettings,
    folder: Path | None,
    faults: list[Fault],
    causes: list[BaseException | None],
) -> list[tuple[str, dict[str, Any], type[Any]]]:
    """The class of every subsystem and script, with its place and its row; what is wrong goes into
    `faults`, and what the user's own modules raised into `causes`."""
    parts = []
    kinds: tuple[tuple[str, Any, type[Any]], ...] = (
        ("subsystem", settings.subsystem, Subsystem),
        ("script", settings.script, Script),
    )
    for kind, rows, base in kinds:
        for i, row in enumerate(rows if isinstance(rows, list) else ()):
            place = f"{kind}[{i}]"
            if not isinstance(row, dict) or not isinstance(row.get("type"), str):
                continue  # told already
            try:
                found = import_class(row["type"], base, folder)
            except EntryError as error:
                line = line_of(settings.lines, f"{place}.type")
                why = str(error).replace("\n", "; ")
                allowed = f"module:Class of a {kind}"
                faults.append(Fault(f"{place}.type", repr(row["type"]), allowed, line, why))
                causes.append(error.__cause__)
                continue
            args = row.get("args", {})
            if isinstance(args, dict) and (wrong := _misfit(found, args)) is not None:
                line = line_of(settings.lines, f"{place}.args")
                faults.append(Fault(f"{place}.args", repr(args), wrong[0], line, wrong[1]))
                continue
            parts.append((place, row, found))
    return parts


def _misfit(found: type[Any], args: dict[str, Any]) -> tuple[str, str] | None:
    """What a class takes and why `args` are not that; None when they fit."""
    try:
        signature = inspect.signature(found)
    except ValueError:
        return None  # one of C, which does not tell
    try:
        signature.bind(**args)
    except TypeError as error:
        names = list(signature.parameters)
        unknown = [name for name in args if name not in names]
        guess = did_you_mean(unknown[0], names) if unknown else ""
        return (
            f"what {found.__name__} takes: {', '.join(names) or 'nothing'}",
            f"{error}; {guess}" if guess else str(error),
        )
    return None


def write_settings(settings: SceneSettings, path: str | os.PathLike[str]) -> None:
    """Writes settings to a file, whole or not at all; what stands there keeps its comments."""
    path = Path(path)
    before = _read(path) if path.exists() else ""
    have = _parsed(before, str(path))
    # What stands there empty is nothing to write, and nothing to take out.
    wanted = {
        key: value for key in _TOP if (value := getattr(settings, key)) or not have.get(key, True)
    }
    text = edited(before, wanted)
    parse_settings(text, source=str(path))  # never write what could not be read back
    _replace(path, text)


def _replace(path: Path, text: str) -> None:
    """Replaces a file's content atomically: a reader sees the old text or the new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            os.chmod(temporary, path.stat().st_mode)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

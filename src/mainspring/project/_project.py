"""A project on disk: where a user's scenes, scripts, assets and runs live.

    robot_cell/
      mainspring.toml     name, id, format, the scene to open first
      scenes/             one TOML file a scene
      scripts/            Python modules the scenes name
      assets/             files and their registry (see `AssetRegistry`)
      runs/               one folder a run: its log, its report

The promise: `create` and `save` are atomic, `open` loads all of it or names every fault with its
line, and a file of a newer format is refused, not guessed at.
"""

from __future__ import annotations

import os
import re
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError

from mainspring._version import __version__
from mainspring.errors import nearest
from mainspring.project._assets import AssetRegistry
from mainspring.project._files import StagedFolder, write_atomically
from mainspring.project.errors import ProjectError, ProjectSettingsError
from mainspring.threads import assert_owner

__all__ = [
    "FOLDERS",
    "SETTINGS_FILE",
    "Identity",
    "Project",
    "check_free",
    "check_name",
    "decode_settings",
    "find_root",
    "parse_settings",
    "patch_settings",
]

SETTINGS_FILE = "mainspring.toml"
FOLDERS = ("scenes", "scripts", "assets", "runs")
FORMAT = 1

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,99}")
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(1, 10))]
)


class Identity(msgspec.Struct, frozen=True):
    """What `[project]` in a settings file says."""

    name: str
    id: str
    format: int = FORMAT
    mainspring: str = ""
    """The version that wrote it."""
    scene: str = "scenes/main.toml"
    """What is opened first, relative to the project."""
    origin: str = ""
    """The id of the project it was copied, imported or made from."""

    @classmethod
    def new(cls, name: str, *, origin: str = "", scene: str = "scenes/main.toml") -> Identity:
        """A fresh identity."""
        return cls(check_name(name), f"prj_{uuid.uuid4().hex}", FORMAT, __version__, scene, origin)


class Project:
    """A project that is open. It belongs to the thread that opened it."""

    def __init__(self, root: Path, settings: tomlkit.TOMLDocument, identity: Identity) -> None:
        self.root = root
        self.settings = settings
        """The settings file as it was written, comments and all; change it, then `save`."""
        self._identity = identity
        self._owner = threading.get_ident()
        self._assets: AssetRegistry | None = None

    @classmethod
    def create(cls, root: str | os.PathLike[str], *, name: str | None = None) -> Project:
        """A new, empty project in a folder that does not exist yet."""
        root = Path(root).absolute()
        check_free(root)
        identity = Identity.new(name or root.name)
        with StagedFolder(root) as staged:
            for folder in FOLDERS:
                (staged.path / folder).mkdir()
            write_atomically(staged.path / SETTINGS_FILE, new_settings(identity).encode())
            staged.publish()
        return cls.open(root)

    @classmethod
    def open(cls, root: str | os.PathLike[str]) -> Project:
        """The project in `root`, or in the nearest folder above it that is one."""
        found = find_root(root)
        if found is None:
            raise ProjectError(
                f"{Path(root).absolute()} is not a mainspring project: there is no {SETTINGS_FILE} "
                "in it or above it",
                hint="mainspring new <name> makes one",
            )
        source = found / SETTINGS_FILE
        text = decode_settings(source.read_bytes(), str(source))
        return cls(found, *parse_settings(text, str(source)))

    @property
    def name(self) -> str:
        """What it is called."""
        return self._identity.name

    @property
    def id(self) -> str:
        """What it is, whatever it is called."""
        return self._identity.id

    @property
    def identity(self) -> Identity:
        """All of `[project]`."""
        return self._identity

    @property
    def assets(self) -> AssetRegistry:
        """The asset registry, for reading; `assets.writing()` makes this the one writer."""
        if self._assets is None:
            self._assets = AssetRegistry(self.root / "assets")
        return self._assets

    def save(self) -> None:
        """Write the settings; the file is the old one or the new one, never half of it."""
        assert_owner(self._owner, "Project.save", what="project")
        text = tomlkit.dumps(self.settings)
        self.settings, self._identity = parse_settings(text, str(self.root / SETTINGS_FILE))
        write_atomically(self.root / SETTINGS_FILE, text.encode())

    def rename(self, name: str) -> None:
        """Another name, the same identity."""
        assert_owner(self._owner, "Project.rename", what="project")
        check_name(name)
        self.settings["project"]["name"] = name
        self.save()

    def scenes(self) -> list[Path]:
        """The scene files, by name."""
        return sorted((self.root / "scenes").glob("*.toml"))

    def scene(self, name: str | None = None) -> Path:
        """The file of the scene `name`, or of the one that is opened first."""
        if name is None:
            path = self.root / self._identity.scene
        else:
            path = self.root / "scenes" / f"{name.removesuffix('.toml')}.toml"
        if not path.is_file():
            known = [found.stem for found in self.scenes()]
            raise ProjectError(
                f"project {self.name!r} has no scene {path.relative_to(self.root)}",
                hint=nearest(path.stem, known),
            )
        return path

    def load_scene(self, name: str | None = None) -> Any:
        """The scene, built; its modules are looked for in `scripts/`."""
        from mainspring.scene import load_scene

        return load_scene(self.scene(name))

    def new_run(self) -> Path:
        """A new folder in `runs/`, numbered after the last."""
        assert_owner(self._owner, "Project.new_run", what="project")
        runs = self.root / "runs"
        runs.mkdir(exist_ok=True)
        number = max((int(run.name.split("-")[1]) for run in self.runs()), default=0) + 1
        while True:
            run = runs / f"run-{number:06d}"
            try:
                run.mkdir()  # another process may number the same run: the folder decides
                return run
            except FileExistsError:
                number += 1

    def runs(self) -> list[Path]:
        """The runs' folders, oldest first."""
        return sorted(p for p in self._run_folders() if p.is_dir())

    def _run_folders(self) -> Iterator[Path]:
        return (p for p in (self.root / "runs").glob("run-*") if p.name[4:].isdigit())

    def __repr__(self) -> str:
        return f"<Project {self.name!r} at {self.root}>"


def find_root(place: str | os.PathLike[str]) -> Path | None:
    """The folder of the project that `place` is, or lies in; None where there is none."""
    start = Path(place).absolute()
    return next((f for f in (start, *start.parents) if (f / SETTINGS_FILE).is_file()), None)


def check_name(name: str) -> str:
    """`name`, when it can be a folder's name everywhere."""
    stem = name.split(".")[0].strip().lower()
    if _NAME.fullmatch(name) is None or name[-1] in " ." or stem in _RESERVED:
        raise ProjectError(
            f"{name!r} cannot be a project's name",
            hint="up to 100 letters, digits, spaces, '_', '-' and '.', beginning with a letter or "
            "a digit, and no name that Windows keeps for itself",
        )
    return name


def check_free(root: Path) -> None:
    """Raise unless a project can be made at `root`."""
    if os.path.lexists(root):
        raise ProjectError(f"{root} exists already", hint="choose another folder or name")
    if not root.parent.is_dir():
        raise ProjectError(f"{root.parent} is not a folder", hint="make the folder first")


def new_settings(identity: Identity) -> str:
    """The text of a new settings file."""
    document = tomlkit.document()
    document.add(
        tomlkit.comment("A mainspring project. `id` is what it is, `name` what it is called.")
    )
    table = tomlkit.table()
    for key, value in msgspec.to_builtins(identity).items():
        table.add(key, value)
    document.add("project", table)
    return tomlkit.dumps(document)


def decode_settings(data: bytes, source: str) -> str:
    """The text of a settings file; some editors begin it with a mark of its encoding."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ProjectSettingsError(
            f"{source}:{line}: this is no UTF-8 text", hint="save it again as UTF-8"
        ) from None


def patch_settings(text: str, identity: Identity) -> str:
    """The same settings, of another project; comments and everything else stay."""
    document = tomlkit.parse(text)
    for key, value in msgspec.to_builtins(identity).items():
        document["project"][key] = value
    return tomlkit.dumps(document)


def parse_settings(text: str, source: str) -> tuple[tomlkit.TOMLDocument, Identity]:
    """The settings and what they say the project is; every fault at once, with its line."""
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ProjectSettingsError(
            f"{source}: {error}", hint="see https://toml.io for the syntax"
        ) from None
    plain = document.unwrap()
    table = plain.get("project")
    if not isinstance(table, dict):
        raise ProjectSettingsError(
            f"{source}: there is no [project] table", hint="it names the project"
        )
    faults = []
    known = {field.name: field.type for field in msgspec.structs.fields(Identity)}
    for key, value in table.items():
        if key not in known:
            faults.append(f"{_line(text, key)}: unknown key {key!r}; {nearest(key, known)}")
        elif type(value) is not known[key]:
            wanted = "a whole number" if known[key] is int else "a string"
            faults.append(f"{_line(text, key)}: {key} is {value!r}, and should be {wanted}")
    faults += [f"1: {key} is missing" for key in ("name", "id") if key not in table]
    if not faults:
        if not table["id"]:
            faults.append(f"{_line(text, 'id')}: id is empty")
        try:
            check_name(table["name"])
        except ProjectError as error:
            faults.append(f"{_line(text, 'name')}: {error.message}; {error.hint}")
        if table.get("format", FORMAT) < 1:
            faults.append(f"{_line(text, 'format')}: format {table['format']} does not exist")
        if table.get("format", FORMAT) > FORMAT:
            faults.append(
                f"{_line(text, 'format')}: format {table['format']} is newer than this mainspring "
                f"({__version__}) reads, which is {FORMAT}"
            )
        scene = Path(table.get("scene", "scenes/main.toml"))
        if scene.is_absolute() or ".." in scene.parts:
            faults.append(f"{_line(text, 'scene')}: scene {str(scene)!r} leads out of the project")
    if faults:
        raise ProjectSettingsError("\n".join(f"{source}:{fault}" for fault in faults))
    return document, msgspec.convert(table, Identity)


def _line(text: str, key: str) -> int:
    """The line of `key` below `[project]`; 1 where it cannot be found."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            inside = stripped.startswith("[project]")
        elif inside and re.match(rf"""["']?{re.escape(key)}["']?\s*=""", stripped):
            return number
    return 1

"""How a run is built again: what its log says about the scene it belongs to.

A scene comes from a settings file, whose text is kept in the log, or from an entry point,
`"package.module:function"` or `"folder/script.py:function"`, with plain arguments. Beside it
stand digests of everything that made the scene, so that a replay can say that the code has
changed since, instead of leaving its reader to wonder.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import inspect
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np

from mainspring import state
from mainspring._version import __version__
from mainspring.errors import MainspringError
from mainspring.scene import Scene, load_scene
from mainspring.scene._entry import import_entry
from mainspring.world.log._errors import LogBuildError, RunRecordingError
from mainspring.world.log._recorded_code import recorded_modules

__all__ = ["Entry", "Recipe", "machine", "versions"]

#: What `record(entry=...)` takes: a settings file, "module:function", or the function itself.
Entry: TypeAlias = "str | Path | Callable[..., Any]"


class Recipe(msgspec.Struct, frozen=True):
    """How to build a scene again."""

    kind: str
    """"file", "entry", or "none" when only the caller can build it."""
    path: str = ""
    """The settings file; of an entry point in a module, the folder the module was found in."""
    text: str = ""
    """The settings file's text."""
    entry: str = ""
    """"module:function" or "file.py:function"."""
    args: Any = ()
    kwargs: Any = {}
    digest: str = ""
    """SHA-256 of the settings file or of the entry point's source file."""
    code: dict[str, str] = {}
    """SHA-256 of the source of every module the scene's own code comes from."""
    sources: list[dict[str, str]] = []
    """The text of the modules that may change while the scene runs, as it was at the beginning."""

    @classmethod
    def of(
        cls,
        scene: Any,
        entry: Entry | None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Recipe:
        """The recipe for `scene`, which `entry(*args, **kwargs)` has built."""
        code, sources = code_digests(scene), _sources(scene)
        if entry is None:
            source = getattr(scene, "source", None)
            if source is None:
                return cls("none", code=code, sources=sources)
            entry = Path(source)
        keywords = dict(kwargs or {})
        _check_arguments(args, keywords)
        if callable(entry):
            entry = _name_of(entry)
        if isinstance(entry, str) and (named := _entry_point(entry)):
            where, name = named
            file = _source_of(where)
            folder = ""
            if where.endswith(".py"):
                where = str(Path(where).resolve())
            elif file is not None:
                folder = str(_import_root(where, file))
            return cls(
                "entry",
                folder,
                entry=f"{where}:{name}",
                args=list(args),
                kwargs=keywords,
                digest=_file_digest(file) if file else "",
                code=code,
                sources=sources,
            )
        file = Path(entry).resolve()
        try:
            data = file.read_bytes()
            text = data.decode()
        except (OSError, UnicodeDecodeError) as error:
            raise RunRecordingError(
                f"the scene file {entry} cannot be read: {error}",
                hint='give entry="settings.toml" or entry="module:function"',
            ) from error
        return cls(
            "file",
            str(file),
            text,
            digest=hashlib.sha256(data).hexdigest(),
            code=code,
            sources=sources,
        )

    def build(self) -> Any:
        """The scene, built the way it was."""
        try:
            with recorded_modules(self.sources):
                if self.kind == "file":
                    return self._from_file()
                if self.kind == "entry":
                    return self._from_entry()
        except MainspringError:
            raise
        except Exception as error:
            raise LogBuildError(
                f"building the scene from {self} failed: {type(error).__name__}: {error}"
            ) from error
        raise LogBuildError(
            "the log does not say how its scene is built",
            hint="pass build=function, or record with entry='module:function'",
        )

    def _from_file(self) -> Any:
        path = Path(self.path)
        if _file_digest(path) == self.digest:
            return load_scene(path)
        # The file has changed or is gone: the text that counts is the one in the log. It is
        # read from the same folder where that exists, for the sake of relative paths in it.
        folder = path.parent if os.access(path.parent, os.W_OK) else None
        with tempfile.NamedTemporaryFile(
            "w", prefix=f".{path.stem}-", suffix=".toml", dir=folder, encoding="utf-8"
        ) as file:
            file.write(self.text)
            file.flush()
            return load_scene(Path(file.name))

    def _from_entry(self) -> Any:
        top = self.entry.partition(":")[0].partition(".")[0]
        if self.path and importlib.util.find_spec(top) is None:
            sys.path.append(self.path)  # where it was when the run was recorded
        # The same way `mainspring run` finds it, so that classes have the module names they had.
        found = import_entry(self.entry)
        if isinstance(found, Scene):
            if found.started or found.time.instants:
                raise LogBuildError(
                    f"{self.entry} is a scene that has run in this process already",
                    hint="make it a function that returns a new scene",
                )
            return found
        return found(*self.args, **self.kwargs)

    def changes(self, scene: Any) -> list[str]:
        """What is different about the code or the settings since the run was recorded."""
        found = []
        if self.kind == "file" and _file_digest(Path(self.path)) != self.digest:
            found.append(f"the settings file {self.path} has changed or is gone")
        now = code_digests(scene)
        for module, digest in self.code.items():
            if now.get(module, digest) != digest:
                found.append(f"the code of {module} has changed")
        return found

    def __str__(self) -> str:
        if self.kind == "file":
            return self.path
        return self.entry if self.kind == "entry" else "nothing the log knows"


def _sources(scene: Any) -> list[dict[str, str]]:
    parts = getattr(scene, "parts", {}).values()
    return [each for part in parts if hasattr(part, "sources") for each in part.sources()]


def code_digests(scene: Any) -> dict[str, str]:
    """SHA-256 by module of the sources that the scene's scripts and parts are written in."""
    owners = list(getattr(scene, "parts", {}).values()) + list(getattr(scene, "scripts", ()))
    for registration in scene.time.registrations:
        owners.append(getattr(registration.callback, "__self__", registration.callback))
    digests: dict[str, str] = {}
    for owner in owners:
        module = getattr(owner, "__module__", None) or type(owner).__module__
        if module in digests or module == "mainspring" or module.startswith("mainspring."):
            continue
        file = getattr(sys.modules.get(module), "__file__", None)
        if file is not None and (digest := _file_digest(Path(file))):
            digests[module] = digest
    return digests


# Distributions that compute a part of the state, by the module that shows they are in use.
_SOLVERS = {"mujoco": "mujoco", "rapier3d": "rapier3d", "culverin": "culverin", "Box2D": "box2d"}


def versions() -> dict[str, str]:
    """The versions of everything whose arithmetic a run depends on, the solvers in use included."""
    found = {
        "mainspring": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "msgspec": msgspec.__version__,
    }
    for module, distribution in _SOLVERS.items():
        if module in sys.modules:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                found[distribution] = importlib.metadata.version(distribution)
    return found


def machine() -> dict[str, Any]:
    """Where the run took place."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "byteorder": sys.byteorder,
        "cpus": os.cpu_count() or 0,
        "hash_seed": os.environ.get("PYTHONHASHSEED", "random"),
    }


def _check_arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    try:
        state.encode([list(args), dict(kwargs)], "the entry point's arguments")
    except MainspringError as error:
        raise RunRecordingError(error.message, hint="an entry point takes plain data") from error


def _entry_point(text: str) -> tuple[str, str] | None:
    """Where and what `text` names, when it is an entry point; None when it is a settings file."""
    where, colon, name = text.rpartition(":")
    if colon and where and all(part.isidentifier() for part in name.split(".")):
        return where, name
    # A script alone means its function `build`, as on the command line.
    return (text, "build") if text.endswith(".py") else None


def _name_of(function: Callable[..., Any]) -> str:
    name, module = function.__qualname__, function.__module__
    if "<" in name:
        raise RunRecordingError(
            f"the entry point {name} cannot be found again by its name",
            hint="use a function at the top of a module",
        )
    spec = getattr(sys.modules[module], "__spec__", None)
    if module == "__main__" and spec is None:
        return f"{Path(inspect.getfile(function)).resolve()}:{name}"
    return f"{module if spec is None else spec.name}:{name}"


def _source_of(where: str) -> Path | None:
    if where.endswith(".py"):
        return Path(where).resolve()
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(where)
        if spec is not None and spec.origin is not None:
            return Path(spec.origin)
    raise RunRecordingError(
        f"there is no module {where!r} to build the scene from", hint='entry is "module:function"'
    )


def _import_root(module: str, file: Path) -> Path:
    """The folder that has to be on `sys.path` for `module`, whose source is `file`."""
    inside = module.count(".") + (file.name == "__init__.py")
    return file.resolve().parents[inside]


def _file_digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""

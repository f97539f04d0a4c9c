"""Finding what a user names: `module:Class`, `module:function`, `file.py:function`, a scene file."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any, TypeVar

from mainspring.errors import nearest
from mainspring.scene._scene import Scene
from mainspring.scene._subsystem import Subsystem
from mainspring.scene.errors import EntryError

_DOTTED = re.compile(r"\w+(\.\w+)*")

__all__ = ["import_class", "import_entry", "open_scene"]

_T = TypeVar("_T")


def open_scene(target: str) -> Scene:
    """The scene that `target` names: a TOML file, `file.py:function` or `module:function`, whose
    function takes nothing and returns a scene."""
    if target.endswith(".toml"):
        from mainspring.scene._settings import load_scene

        return load_scene(target)
    found = import_entry(target, default="build")
    scene = found() if callable(found) and not isinstance(found, Scene) else found
    if not isinstance(scene, Scene):
        raise EntryError(
            f"{target} gave a {type(scene).__name__}, not a Scene",
            hint="name a function that takes nothing and returns the scene it built",
        )
    return scene


def import_class(entry: str, base: type[_T], folder: Path | None = None) -> type[_T]:
    """The class at `module:Class`, which must derive from `base`."""
    found = import_entry(entry, folder=folder)
    if isinstance(found, type) and (
        issubclass(found, base) or (base is Subsystem and _is_subsystem(found))
    ):
        return found
    raise EntryError(f"{entry} is not a subclass of {base.__name__}")


def _is_subsystem(found: type[Any]) -> bool:
    """Whether a class that does not derive from `Subsystem` has all of its methods."""
    wanted = ("attach", "start", "stop", "step", "save", "restore")
    return all(callable(getattr(found, name, None)) for name in wanted)


def import_entry(entry: str, *, default: str | None = None, folder: Path | None = None) -> Any:
    """What stands at `module:name` or `file.py:name`; modules beside `folder` are found too."""
    module_name, _, name = entry.partition(":")
    name = name or (default or "")
    if not name or not (module_name.endswith(".py") or _DOTTED.fullmatch(module_name)):
        raise EntryError(f"{entry!r} names nothing", hint="write module:name, or file.py:name")
    if module_name.endswith(".py"):
        module = _import_file(Path(module_name))
    else:
        # A scene's own modules lie beside it, or in the project's folder above.
        for place in [] if folder is None else [folder.parent / "scripts", folder.parent, folder]:
            if place.is_dir() and str(place) not in sys.path:
                sys.path.insert(0, str(place))
        try:
            module = importlib.import_module(module_name)
        except Exception as error:
            file = Path(f"{module_name}.toml")
            hint = f"did you mean {str(file)!r}?" if name == default and file.is_file() else None
            raise EntryError(
                f"module {module_name!r} cannot be imported: {type(error).__name__}: {error}",
                hint=hint,
            ) from error
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            names = [n for n in vars(found) if not n.startswith("_")]
            raise EntryError(f"{module_name} has no {part!r}", hint=nearest(part, names)) from None
    return found


def _import_file(path: Path) -> Any:
    if not path.is_file():
        raise EntryError(f"there is no file {str(path)!r}")
    name = path.stem
    if name in sys.modules and getattr(sys.modules[name], "__file__", None) == str(path.resolve()):
        return sys.modules[name]
    if str(path.resolve().parent) not in sys.path:
        sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise EntryError(f"{str(path)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise EntryError(
            f"{str(path)!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    return module

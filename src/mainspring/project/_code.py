"""Running changed source as the module it belongs to, so that failing changes nothing."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import msgspec

from mainspring.project.errors import ReloadError

__all__ = ["ModuleSource", "dependents", "modules_below", "run_sources"]


class ModuleSource(msgspec.Struct, frozen=True):
    """A module's text, and where it came from. What a reload consists of."""

    module: str
    path: str
    source: str


def run_sources(sources: Sequence[ModuleSource]) -> dict[str, ModuleType]:
    """The modules that the sources make, in order; `sys.modules` has them only if all ran.

    Raises `ReloadError` with file and line of what is wrong.
    """
    before = {each.module: sys.modules.get(each.module) for each in sources}
    made: dict[str, ModuleType] = {}
    try:
        for each in sources:
            made[each.module] = _run_source(each)
    except BaseException:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
        raise
    return made


def _run_source(each: ModuleSource) -> ModuleType:
    module = ModuleType(each.module)
    module.__file__ = each.path
    # Tracebacks quote this text, not what the file holds by then; a module's own loader is asked
    # for nothing.
    lines = each.source.splitlines(keepends=True)
    linecache.cache[each.path] = (len(each.source), None, lines, each.path)
    try:
        code = compile(each.source, each.path, "exec")
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise ReloadError(
            f"{each.path}:{line}: {type(error).__name__}: {getattr(error, 'msg', error)}",
            hint="what ran before goes on; correct the file and save it again",
        ) from error
    sys.modules[each.module] = module
    try:
        exec(code, module.__dict__)
    except Exception as error:
        raise ReloadError(
            f"{place_of(error, each.path)}: {type(error).__name__}: {error}",
            hint="what ran before goes on; correct the file and save it again",
        ) from error
    return module


def place_of(error: BaseException, path: str) -> str:
    """`file:line` of an error: the last line of `path` in its traceback, or its end."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame for frame in frames if frame.filename == path] or frames
    return f"{mine[-1].filename}:{mine[-1].lineno}" if mine else path


def modules_below(folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """The imported modules whose files lie below one of the folders, in order of import."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or name == "__main__":
            continue
        path = Path(file).absolute()
        if any(path.is_relative_to(folder) for folder in folders):
            yield name, path


def dependents(changed: set[str], among: Sequence[str]) -> list[str]:
    """`changed` and the modules among `among` that use them, used ones before their users."""
    affected = [name for name in among if name in changed]
    grew = True
    while grew:
        grew = False
        for name in among:
            if name not in affected and _uses(name, set(affected)):
                affected.append(name)
                grew = True
    return affected


def _uses(name: str, used: set[str]) -> bool:
    for value in vars(sys.modules[name]).values():
        if isinstance(value, ModuleType):
            if value.__name__ in used:
                return True
        elif getattr(value, "__module__", None) in used:
            return True
    return False

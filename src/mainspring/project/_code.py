"""Running changed source as the module it belongs to, so that failing changes nothing."""

from __future__ import annotations

import ast
import linecache
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import msgspec

from mainspring.project.errors import ReloadError

__all__ = [
    "ModuleSource",
    "dependents",
    "in_order",
    "install",
    "modules_below",
    "newly_imported",
    "run_sources",
]


class ModuleSource(msgspec.Struct, frozen=True):
    """A module's text, and where it came from. What a reload consists of."""

    module: str
    path: str
    source: str

    @property
    def is_package(self) -> bool:
        """Whether other modules lie in it."""
        return Path(self.path).name == "__init__.py"


def run_sources(sources: Sequence[ModuleSource]) -> dict[str, ModuleType]:
    """The modules that the sources make, in order; `sys.modules` has them only if all ran.

    Raises `ReloadError` with file and line of what is wrong.
    """
    before = {each.module: sys.modules.get(each.module) for each in sources}
    made: dict[str, ModuleType] = {}
    try:
        for each in sources:
            made[each.module] = _run_source(each)
            install({each.module: made[each.module]})
    except BaseException:
        install(before)
        raise
    return made


def install(modules: Mapping[str, ModuleType | None]) -> None:
    """Let `import` give these modules, and their packages too; None takes one away."""
    for name, module in modules.items():
        package, _, child = name.rpartition(".")
        parent = sys.modules.get(package)
        if module is None:
            sys.modules.pop(name, None)
            if parent is not None:
                vars(parent).pop(child, None)
        else:
            sys.modules[name] = module
            if parent is not None:
                setattr(parent, child, module)


def _run_source(each: ModuleSource) -> ModuleType:
    module = ModuleType(each.module)
    module.__file__ = each.path
    module.__spec__ = ModuleSpec(each.module, None, origin=each.path, is_package=each.is_package)
    module.__package__ = module.__spec__.parent
    if each.is_package:
        module.__path__ = [str(Path(each.path).parent)]
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


def newly_imported(
    sources: Iterable[ModuleSource], folders: Sequence[Path]
) -> dict[str, ModuleSource]:
    """The modules below the folders that these sources, or what they import, import for the first
    time: they are part of the change, whatever their files say later."""
    found: dict[str, ModuleSource] = {}
    waiting = list(sources)
    while waiting:
        each = waiting.pop(0)
        roots = dict.fromkeys([_root_of(each), *folders])
        for name in _imported_names(each):
            if name in sys.modules or name in found:
                continue
            new = next((s for root in roots if (s := _read_module(name, root, folders))), None)
            if new is not None:
                found[name] = new
                waiting.append(new)
    return found


def _root_of(each: ModuleSource) -> Path:
    """The folder from which its name leads to its file."""
    levels = each.module.count(".") + (1 if each.is_package else 0)
    return Path(each.path).parents[levels]


def _read_module(name: str, root: Path, folders: Sequence[Path]) -> ModuleSource | None:
    stem = root.joinpath(*name.split("."))
    for path in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")):
        if path.is_file() and any(path.resolve().is_relative_to(folder) for folder in folders):
            try:
                return ModuleSource(name, str(path), path.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError):
                return None  # the import itself says what is wrong with it
    return None


def _imported_names(each: ModuleSource) -> list[str]:
    """Every module that the text may import, by its full name, packages before what is in them."""
    try:
        tree = ast.parse(each.source)
    except (SyntaxError, ValueError, RecursionError):
        return []  # it does not run either
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(each, node)
            wanted = [base, *(f"{base}.{alias.name}" for alias in node.names)] if base else []
        else:
            continue
        for name in wanted:
            parts = name.split(".")
            names.update(dict.fromkeys(".".join(parts[: n + 1]) for n in range(len(parts))))
    return list(names)


def _absolute(each: ModuleSource, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = each.module.split(".") if each.is_package else each.module.split(".")[:-1]
    kept = package[: len(package) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def in_order(sources: Mapping[str, ModuleSource]) -> list[ModuleSource]:
    """The sources with what they import before them; else, and in a circle, as they are given."""
    ordered: dict[str, ModuleSource] = {}
    begun: set[str] = set()

    def add(name: str) -> None:
        if name in begun:
            return
        begun.add(name)
        for used in _imported_names(sources[name]):
            if used in sources:
                add(used)
        ordered[name] = sources[name]

    for name in sources:
        add(name)
    return list(ordered.values())

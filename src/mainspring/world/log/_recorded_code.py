"""Importing modules as a log has them.

The promise: while the block runs, a module whose file was changed, broken or removed since is
imported from its recorded text, under its file's name, so that tracebacks quote what runs. What
is as it was, and what was imported before, is left alone.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import ExecutionLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

__all__ = ["recorded_modules"]


@contextlib.contextmanager
def recorded_modules(sources: Sequence[Mapping[str, str]]) -> Iterator[None]:
    """Each source is a `module`, its `path` and its text, the `source`."""
    finder = _Recorded({each["module"]: each for each in sources if _differs(each)})
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _differs(each: Mapping[str, str]) -> bool:
    try:
        return Path(each["path"]).read_text(encoding="utf-8") != each["source"]
    except (OSError, UnicodeDecodeError):
        return True


class _Recorded(MetaPathFinder, ExecutionLoader):
    def __init__(self, sources: Mapping[str, Mapping[str, str]]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._sources:
            return None
        file = self.get_filename(fullname)
        inside = [str(Path(file).parent)] if self.is_package(fullname) else None
        return importlib.util.spec_from_file_location(
            fullname, file, loader=self, submodule_search_locations=inside
        )

    def get_source(self, fullname: str) -> str:
        return self._sources[fullname]["source"]

    def get_filename(self, fullname: str) -> str:
        return self._sources[fullname]["path"]

    def is_package(self, fullname: str) -> bool:
        return Path(self.get_filename(fullname)).name == "__init__.py"

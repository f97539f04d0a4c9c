"""Files that appear under their names whole, or not at all.

The promise: everything is written beside its name, as `name.partial`, and takes the name when
all of it is there. Where the work ends in an error or a Ctrl-C, nothing of it is left: no file,
and no folder that was made for it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType

from mainspring.capture._errors import CaptureError

__all__ = ["Outputs"]


class Outputs:
    """The files of one piece of work; use it in a `with` statement."""

    def __init__(self) -> None:
        self._partials: dict[Path, Path] = {}
        self._folders: list[Path] = []

    @property
    def files(self) -> list[Path]:
        """The names that were added, in that order."""
        return list(self._partials)

    def add(self, target: Path) -> Path:
        """Where to write what is to be called `target`; its folder is made."""
        self.folder(target.parent)
        return self._partials.setdefault(target, target.with_name(target.name + ".partial"))

    def folder(self, folder: Path) -> None:
        """Make a folder and those above it, where they are missing."""
        missing = []
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for each in reversed(missing):
            each.mkdir()
            self._folders.append(each)

    def __enter__(self) -> Outputs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            try:
                for target, partial in self._partials.items():
                    os.replace(partial, target)
                return
            except OSError as failed:
                error = failed
        for partial in self._partials.values():
            with contextlib.suppress(OSError):
                partial.unlink()
        for folder in reversed(self._folders):
            if not any(folder.iterdir()):
                folder.rmdir()
        if isinstance(error, OSError):
            what = next(iter(self._partials), None) or error.filename or "the output"
            raise CaptureError(
                f"{what} was not written: {error.strerror or error}",
                hint="choose a place that can be written to and has room",
            ) from error

"""The templates that come along: small projects, complete as they are."""

from __future__ import annotations

import os
from pathlib import Path

from mainspring.errors import nearest
from mainspring.project.errors import ProjectError

__all__ = ["TEMPLATES", "template_folder"]

_FOLDER = Path(__file__).parent / "templates"

TEMPLATES: dict[str, str] = {
    "empty": "nothing but the folders and a scene with the two default runners",
    "first_scene": "a script that runs on Robot at 50 Hz, and its scene",
}


def template_folder(template: str | os.PathLike[str], *, in_vault: bool = False) -> Path | None:
    """Where the template is: one that comes along, by name, or a project's folder or archive.

    With `in_vault`, None for any other plain name: it is a package's, whatever lies here under it.
    """
    name = os.fspath(template)
    if name in TEMPLATES:
        return _FOLDER / name
    if in_vault and isinstance(template, str) and os.sep not in name:
        return None
    path = Path(name).absolute()
    if path.is_file() or (path / "mainspring.toml").is_file():
        return path
    raise ProjectError(
        f"there is no template {name!r}, nor a project or an archive of that path",
        hint=nearest(name, TEMPLATES),
    )

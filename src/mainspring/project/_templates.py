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


def template_folder(
    template: str | os.PathLike[str], *, allow_missing: bool = False
) -> Path | None:
    """Where the template is: one that comes along, by name, or a project's folder or archive.

    With `allow_missing`, None for a name that is neither: it may be a package of a vault.
    """
    name = os.fspath(template)
    if name in TEMPLATES:
        return _FOLDER / name
    path = Path(name).absolute()
    if path.is_file() or (path / "mainspring.toml").is_file():
        return path
    if allow_missing:
        return None
    raise ProjectError(
        f"there is no template {name!r}, nor a project or an archive of that path",
        hint=nearest(name, TEMPLATES),
    )

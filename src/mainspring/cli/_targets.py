"""What a SCENE on the command line may be: whatever `open_scene` takes, or a project's folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainspring.project import Project

__all__ = ["project_at", "scene_target"]


def project_at(target: str) -> Project | None:
    """The project whose folder `target` is; None for anything else, a package of Python too."""
    folder = Path(target)
    if not folder.is_dir() or (folder / "__init__.py").exists():
        return None
    from mainspring.project import Project

    return Project.open(folder)


def scene_target(target: str) -> str:
    """`target`, or the scene of it that is opened first."""
    project = project_at(target)
    return target if project is None else str(project.scene())

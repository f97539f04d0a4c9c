"""The long work of projects, as jobs: export, import, create from a template, save as.

The promise of each: inputs are checked by `start`; nothing is at the destination until all of
it is; after a failure or a cancellation nothing is left, and it can be tried again.
"""

from __future__ import annotations

import os
from pathlib import Path

from mainspring.project._archive import Selection, copy_tree, pack, read_settings, unpack
from mainspring.project._archive_checks import ArchiveLimits
from mainspring.project._files import StagedFile, StagedFolder, write_atomically
from mainspring.project._project import (
    FOLDERS,
    SETTINGS_FILE,
    Identity,
    Project,
    check_free,
    check_name,
    decode_settings,
    parse_settings,
    patch_settings,
)
from mainspring.project._templates import template_folder
from mainspring.project._vault import Vault, fetch_into, parse_wanted
from mainspring.project.errors import ProjectError, VaultError
from mainspring.threads import Job, Progress, StopToken

__all__ = [
    "CreateProjectFromTemplateJob",
    "ExportProjectJob",
    "ImportProjectJob",
    "SaveProjectAsJob",
]

PathLike = str | os.PathLike[str]


class ExportProjectJob(Job[Path]):
    """Writes a project's archive; the result is its path."""

    def __init__(
        self,
        project: Project | PathLike,
        destination: PathLike,
        *,
        include: tuple[str, ...] = ("*",),
        exclude: tuple[str, ...] = (),
        runs: bool = False,
        overwrite: bool = False,
    ) -> None:
        opened = project if isinstance(project, Project) else Project.open(project)
        self.root = opened.root
        self.destination = Path(destination).absolute()
        super().__init__(f"export {opened.name} to {self.destination.name}")
        self.selection = Selection(tuple(include), tuple(exclude), runs)
        self.overwrite = overwrite
        if os.path.lexists(self.destination) and not overwrite:
            raise ProjectError(
                f"{self.destination} exists already",
                hint="give another name, or overwrite it (overwrite=True, --overwrite)",
            )
        if self.destination.is_relative_to(self.root):
            raise ProjectError(
                f"{self.destination} lies in the project it would hold",
                hint="put the archive beside the project",
            )
        if self.destination.is_dir() or not self.destination.parent.is_dir():
            raise ProjectError(f"{self.destination} cannot be a file", hint="name a file to write")

    def run(self, stop: StopToken, progress: Progress) -> Path:
        with StagedFile(self.destination) as staged:
            pack(self.root, self.selection, staged.file, stop, progress)
            progress.set("writing to the disk")
            staged.publish(stop, replace=self.overwrite)
        progress.set("done", 1.0)
        return self.destination


class ImportProjectJob(Job[Path]):
    """Makes a project of an archive, under a name and an identity of its own."""

    def __init__(
        self,
        archive: PathLike,
        into: PathLike = ".",
        *,
        name: str | None = None,
        limits: ArchiveLimits | None = None,
    ) -> None:
        self.archive = Path(archive).absolute()
        if not self.archive.is_file():
            raise ProjectError(f"{self.archive} is not a file", hint="name an exported archive")
        self.limits = limits or ArchiveLimits()
        source = f"{archive}!{SETTINGS_FILE}"
        settings = decode_settings(read_settings(self.archive, self.limits), source)
        _, identity = parse_settings(settings, source)
        self.name = check_name(name or identity.name)
        self.destination = Path(into).absolute() / self.name
        super().__init__(f"import {self.archive.name} as {self.name}")
        check_free(self.destination)

    def run(self, stop: StopToken, progress: Progress) -> Path:
        with StagedFolder(self.destination) as staged:
            unpack(self.archive, staged.path, stop, progress, self.limits)
            _settle(staged, self.name, stop, progress)
        progress.set("done", 1.0)
        return self.destination


class SaveProjectAsJob(Job[Path]):
    """Copies a project to another place, under a name and an identity of its own."""

    def __init__(
        self,
        project: Project | PathLike,
        destination: PathLike,
        *,
        name: str | None = None,
        runs: bool = False,
    ) -> None:
        opened = project if isinstance(project, Project) else Project.open(project)
        self.root = opened.root
        self.destination = Path(destination).absolute()
        self.name = check_name(name or self.destination.name)
        self.selection = Selection(runs=runs)
        super().__init__(f"save {opened.name} as {self.name}")
        check_free(self.destination)
        if self.destination.is_relative_to(self.root):
            raise ProjectError(
                f"{self.destination} lies in the project it would copy",
                hint="choose a folder outside it",
            )

    def run(self, stop: StopToken, progress: Progress) -> Path:
        with StagedFolder(self.destination) as staged:
            copy_tree(self.root, self.selection, staged.path, stop, progress)
            _settle(staged, self.name, stop, progress)
        progress.set("done", 1.0)
        return self.destination


class CreateProjectFromTemplateJob(Job[Path]):
    """Makes a project of a template: one that comes along, a project's folder or archive, or,
    with a vault, a package of it. With a vault a plain name is a package's, and `./name` is what
    lies here."""

    def __init__(
        self,
        destination: PathLike,
        *,
        template: PathLike = "first_scene",
        name: str | None = None,
        vault: Vault | None = None,
        limits: ArchiveLimits | None = None,
    ) -> None:
        self.destination = Path(destination).absolute()
        self.name = check_name(name or self.destination.name)
        self.limits = limits or ArchiveLimits()
        self.vault = vault
        self.template = template
        super().__init__(f"create {self.name} from {template}")
        check_free(self.destination)
        self.source = template_folder(template, in_vault=vault is not None)
        if self.source is None:
            parse_wanted(str(template))
        elif self.source.is_file():
            read_settings(self.source, self.limits)

    def run(self, stop: StopToken, progress: Progress) -> Path:
        with StagedFolder(self.destination) as staged:
            if self.source is None:
                assert self.vault is not None
                self._unpack_package(self.vault, staged, stop, progress)
            elif self.source.is_file():
                unpack(self.source, staged.path, stop, progress, self.limits)
            else:
                copy_tree(self.source, Selection(), staged.path, stop, progress)
            _settle(staged, self.name, stop, progress)
        progress.set("done", 1.0)
        return self.destination

    def _unpack_package(
        self, vault: Vault, staged: StagedFolder, stop: StopToken, progress: Progress
    ) -> None:
        # Fetched into the staging folder, so that whatever happens it goes when that goes.
        package = staged.path / ".package"
        with vault.heavy_operation(f"fetch {self.template}"):
            try:
                fetch_into(vault, str(self.template), package, stop, progress.part(0.0, 0.5))
            except VaultError as error:
                if os.path.lexists(self.template):
                    error.add_note(f"what lies here is meant by ./{self.template}")
                raise
        unpack(package, staged.path, stop, progress.part(0.5, 1.0), self.limits)
        package.unlink()


def _settle(staged: StagedFolder, name: str, stop: StopToken, progress: Progress) -> None:
    """The copy gets its own identity and what a project has, then becomes the destination."""
    settings = staged.path / SETTINGS_FILE
    text = decode_settings(settings.read_bytes(), SETTINGS_FILE)
    _, old = parse_settings(text, SETTINGS_FILE)
    identity = Identity.new(name, origin=old.id, scene=old.scene)
    write_atomically(settings, patch_settings(text, identity).encode())
    for folder in FOLDERS:
        (staged.path / folder).mkdir(exist_ok=True)
    progress.set("writing to the disk")
    staged.publish(stop)

"""`new`, `save-as`, `assets`, `reports` and `vault`: projects and what they are made of.

Each does one job, shows its progress, can be cancelled with Ctrl-C, and leaves nothing behind
when it fails.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from mainspring.project import Vault
    from mainspring.threads import Job

__all__ = ["disk_errors", "register"]

T = TypeVar("T")

VaultOption = Annotated[
    str,
    typer.Option("--vault", envvar="MAINSPRING_VAULT", help="A folder, or an http(s) address."),
]
ProjectOption = Annotated[Path, typer.Option("--project", help="The project's folder.")]
NameOption = Annotated[str | None, typer.Option(help="What it shall be called.")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("new")(new)
    app.command("save-as")(save_as)
    assets = typer.Typer(help="The assets of a project.", no_args_is_help=True)
    assets.command("add")(assets_add)
    assets.command("list")(assets_list)
    assets.command("remove")(assets_remove)
    app.add_typer(assets, name="assets")
    reports = typer.Typer(help="Reports of finished runs.", no_args_is_help=True)
    reports.command("send")(reports_send)
    app.add_typer(reports, name="reports")
    vault = typer.Typer(help="A vault of packages, by checksum.", no_args_is_help=True)
    vault.command("list")(vault_list)
    vault.command("get")(vault_get)
    vault.command("put")(vault_put)
    app.add_typer(vault, name="vault")


def new(
    path: Annotated[Path, typer.Argument(help="The folder to make.")],
    template: Annotated[
        str,
        typer.Option(help="empty, first_scene, a project, an archive; with --vault, a package."),
    ] = "first_scene",
    name: NameOption = None,
    vault: VaultOption = "",
) -> None:
    """Make a project from a template."""
    from mainspring.project import CreateProjectFromTemplateJob, Project

    where = _vault(vault) if vault else None
    made = _run(
        lambda: CreateProjectFromTemplateJob.start(path, template=template, name=name, vault=where)
    )
    typer.echo(f"made {made}")
    scene = shlex.quote(Project.open(made).identity.scene)
    typer.echo(f"next: cd {shlex.quote(str(path))} && mainspring run {scene}")


def import_project(archive: Path, into: Path, name: str | None) -> None:
    """Makes a project of an archive."""
    from mainspring.project import ImportProjectJob

    typer.echo(f"imported {_run(lambda: ImportProjectJob.start(archive, into, name=name))}")


def export_project(
    project: Path,
    archive: Path | None,
    include: list[str],
    exclude: list[str],
    runs: bool,
    overwrite: bool,
) -> None:
    """Writes a project into an archive."""
    from mainspring.project import ExportProjectJob, Project

    def start() -> ExportProjectJob:
        opened = Project.open(project)
        return ExportProjectJob.start(
            opened,
            archive or Path(f"{opened.name}.zip"),
            include=tuple(include),
            exclude=tuple(exclude),
            runs=runs,
            overwrite=overwrite,
        )

    done = _run(start)
    typer.echo(f"exported {done} ({done.stat().st_size} bytes)")


def save_as(
    project: Annotated[Path, typer.Argument(help="The project's folder.")],
    path: Annotated[Path, typer.Argument(help="The folder to make.")],
    name: NameOption = None,
    runs: Annotated[bool, typer.Option("--runs", help="Take the runs along.")] = False,
) -> None:
    """Copy a project to another place, under an identity of its own."""
    from mainspring.project import SaveProjectAsJob

    done = _run(lambda: SaveProjectAsJob.start(project, path, name=name, runs=runs))
    typer.echo(f"saved {done}")


def assets_add(
    files: Annotated[list[Path], typer.Argument(help="MJCF, URDF, OBJ, STL, PNG or JPEG.")],
    project: ProjectOption = Path(),
) -> None:
    """Check files and take them into a project."""
    from mainspring.project import ImportAssetsJob, Project

    for asset in _run(lambda: ImportAssetsJob.start(Project.open(project).assets, *files)):
        typer.echo(f"added {asset.name}: {asset.kind}, {len(asset.files)} files")


def assets_list(
    project: ProjectOption = Path(),
    verify: Annotated[bool, typer.Option("--verify", help="Compare with the disk.")] = False,
) -> None:
    """Show a project's assets."""
    from mainspring.project import Project

    with disk_errors():
        registry = Project.open(project).assets
        for asset in registry:
            typer.echo(f"{asset.name}\t{asset.kind}\t{asset.path}\t{len(asset.files)} files")
        if verify and (wrong := registry.verify()):
            typer.echo("\n".join(wrong), err=True)
            raise typer.Exit(1)


def assets_remove(
    name: Annotated[str, typer.Argument(help="The asset's name.")],
    project: ProjectOption = Path(),
) -> None:
    """Take an asset and its files out of a project."""
    from mainspring.project import Project

    with disk_errors(), Project.open(project).assets.writing() as registry:
        registry.remove(name)


def reports_send(
    url: Annotated[str, typer.Argument(help="Where to, by POST.")],
    outbox: Annotated[
        Path,
        typer.Option(exists=True, file_okay=False, help="The folder the reports wait in."),
    ] = Path("outbox"),
    header: Annotated[
        list[str] | None, typer.Option(help="As 'Name: value', such as an Authorization.")
    ] = None,
    attempts: Annotated[
        int, typer.Option(min=0, help="How often to try one report; 0 for until it works.")
    ] = 8,
) -> None:
    """Send what waits in an outbox."""
    from mainspring.project import Retry, StreamReportsJob

    headers = dict(_header(text) for text in header or [])
    retry = Retry(attempts or None)
    done = _run(lambda: StreamReportsJob.start(outbox, url, headers=headers, retry=retry))
    typer.echo(f"sent {done.sent}, refused {done.rejected}")


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not (name.strip() and colon):
        raise typer.BadParameter(f"{text!r} is not 'Name: value'", param_hint="--header")
    return name.strip(), value.strip()


def vault_list(vault: VaultOption) -> None:
    """Show what a vault holds."""
    from rich.console import Console
    from rich.table import Table

    from mainspring.project import VaultListJob

    table = Table("package", "version", "kind", "bytes", "sha256", "description", box=None)
    for package in _run(lambda: VaultListJob.start(_vault(vault))):
        table.add_row(
            package.name,
            package.version,
            package.kind,
            str(package.size),
            package.sha256[:12],
            package.description,
        )
    Console().print(table)


def vault_get(
    package: Annotated[str, typer.Argument(help="name, or name==version.")],
    vault: VaultOption,
    out: Annotated[Path, typer.Option(help="The file to write, or the folder.")] = Path(),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Fetch a package, checked."""
    from mainspring.project import VaultGetJob

    done = _run(lambda: VaultGetJob.start(_vault(vault), package, out, overwrite=overwrite))
    typer.echo(f"got {done}")


def vault_put(
    file: Annotated[Path, typer.Argument(help="What to store.")],
    name: Annotated[str, typer.Option(help="The package's name.")],
    version: Annotated[str, typer.Option(help="Its version; a version never changes.")],
    vault: VaultOption,
    kind: Annotated[str, typer.Option(help="`project` for an archive of one.")] = "file",
    description: Annotated[str, typer.Option(help="A line about it.")] = "",
) -> None:
    """Store a file as a package."""
    from mainspring.project import VaultPutJob

    done = _run(
        lambda: VaultPutJob.start(
            _vault(vault), file, name, version, kind=kind, description=description
        )
    )
    typer.echo(f"put {done}, {done.size} bytes, sha256 {done.sha256}")


def _vault(location: str) -> Vault:
    from mainspring.project import Vault

    return Vault(location)


def _run(start: Callable[[], Job[T]]) -> T:
    """Start a job and see it through, with a bar and with everything that may end it."""
    from mainspring.threads import record_main_thread, run_in_terminal, terminable

    record_main_thread()
    job = None
    with terminable(), disk_errors():
        try:
            job = start()
            return run_in_terminal(job)
        except KeyboardInterrupt:
            if job is not None:
                late = job.is_done() and job.failure is None
                said = "too late to cancel, it is done" if late else "cancelled"
                typer.echo(f"{said}: {job.title}", err=True)
            raise


@contextmanager
def disk_errors() -> Iterator[None]:
    """A full disk is not our bug: say it without our traceback."""
    from mainspring.project import ProjectError

    try:
        yield
    except OSError as error:
        notes: list[Any] = getattr(error, "__notes__", [])
        where = f" {error.filename}" if error.filename else ""
        raise ProjectError(
            f"{error.strerror or error}{where}" + "".join(f"\n{note}" for note in notes),
            hint="nothing was left behind; mend that and try again",
        ) from None

"""`import` and `export`: a project as an archive, a run's log as text.

What a path holds decides which: a folder is a project and a file a log; a zip file is an archive
and anything else the text of a log.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(export)
    app.command("import")(import_)


def export(
    source: Annotated[Path, typer.Argument(help="A project's folder, or a run's log.")],
    target: Annotated[
        Path | None,
        typer.Argument(help="The file to write: NAME.zip, or NAME.jsonl (.gz compresses it)."),
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Of a project, only files like this.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Of a project, no files like this.")
    ] = None,
    runs: Annotated[bool, typer.Option("--runs", help="Take a project's runs along.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Writes a project into an archive, or a log as text, one JSON object a line."""
    if source.is_dir():
        from mainspring.cli.project import export_project

        export_project(source, target, include or ["*"], exclude or [], runs, overwrite)
        return
    if not source.is_file():
        raise typer.BadParameter(
            f"there is neither a project nor a log at {source}", param_hint="SOURCE"
        )
    from mainspring.world import export_log

    wanted = target or source.with_suffix(".jsonl")
    if wanted.exists() and not overwrite:
        raise typer.BadParameter(f"{wanted} is there already; --overwrite replaces it")
    typer.echo(f"{wanted}: {export_log(source, wanted)} records")


def import_(
    source: Annotated[Path, typer.Argument(help="What `mainspring export` wrote.")],
    target: Annotated[
        Path | None,
        typer.Argument(help="The folder to put the project in, or the log to make."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the project shall be called.")] = None,
) -> None:
    """Makes a project of an archive, or a log of its text, every record checked."""
    if not source.is_file():
        raise typer.BadParameter(f"there is no file {source}", param_hint="SOURCE")
    if zipfile.is_zipfile(source) or source.suffix == ".zip":
        from mainspring.cli.project import import_project

        import_project(source, target or Path(), name)
        return
    from mainspring.world import import_log

    wanted = target or source.with_suffix("").with_suffix(".world")
    typer.echo(f"{wanted}: {import_log(source, wanted)} records")

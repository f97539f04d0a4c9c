"""`mainspring graph show`: what a graph looks like, without running it."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["register"]


class Format(enum.StrEnum):
    """How a graph is shown."""

    text = "text"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"
    svg = "svg"


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    commands = typer.Typer(help="Reactive graphs: show one.", no_args_is_help=True)
    commands.callback()(_graphs)
    commands.command()(show)
    app.add_typer(commands, name="graph")


def _graphs() -> None:
    """Reactive graphs: show one without running it."""


def show(
    target: Annotated[
        str,
        typer.Argument(
            help="module:function, file.py:function, or a description saved as .json.",
            metavar="GRAPH",
        ),
    ],
    form: Annotated[
        Format, typer.Option("--format", "-f", help="text, json, mermaid, dot or svg.")
    ] = Format.text,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write into this file instead.")
    ] = None,
) -> None:
    """Wires a graph and shows it."""
    description = _describe(target)
    text = {
        Format.text: lambda: f"{description}\n",
        Format.json: lambda: description.to_json() + "\n",
        Format.mermaid: description.to_mermaid,
        Format.dot: description.to_dot,
        Format.svg: description.to_svg,
    }[form]()
    if out is None:
        typer.echo(text, nl=False)
    else:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            typer.echo(f"error: {out} cannot be written: {error.strerror}", err=True)
            raise typer.Exit(2) from None


def _describe(target: str) -> Any:
    from mainspring.graph import GraphDescription, WiringError, wire_graph
    from mainspring.scene import import_entry

    path = Path(target)
    if path.suffix == ".json" and path.is_file():
        return GraphDescription.from_json(path.read_bytes())
    found = import_entry(target, default="main", folder=Path.cwd())
    if isinstance(found, GraphDescription):
        return found
    if not callable(found):
        raise WiringError(
            f"{target} is a {type(found).__name__}, not a graph",
            hint="name a function decorated with @graph that takes no arguments, or all with defaults",
        )
    return wire_graph(found)

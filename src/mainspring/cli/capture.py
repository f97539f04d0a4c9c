"""`mainspring plot`, `trace`, `convert`: recordings and schedules from the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


class Format(StrEnum):
    mcap = "mcap"
    parquet = "parquet"
    csv = "csv"


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(plot)
    app.command()(trace)
    app.command()(convert)


def plot(
    recording: Annotated[Path, typer.Argument(help="An .mcap file.", metavar="RECORDING")],
    channel: Annotated[
        list[str] | None,
        typer.Option(
            "--channel", "-c", help="/arm/q, or one field: /arm/q.value[2]. Repeat for more."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .png, .svg or .pdf file.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="Sim time to begin at: 2, 250ms.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Sim time to end at.")] = None,
    title: Annotated[
        str | None, typer.Option(help="The heading; the file's name if not given.")
    ] = None,
    progress: Annotated[bool, typer.Option(help="Show a progress bar in a terminal.")] = True,
) -> None:
    """Draws channels of a recording over sim time; all numeric ones if none is named."""
    from mainspring.capture import plot as draw

    target = recording.parent / f"{recording.stem}.png" if out is None else out
    with _bar("plotting", progress) as tell:
        labels = draw(
            recording,
            target,
            channels=channel or (),
            title=title,
            start_seconds=_seconds(start),
            end_seconds=_seconds(end),
            progress=tell,
        )
    typer.echo(f"{target}: {len(labels)} line{'' if len(labels) == 1 else 's'}")


def trace(
    scene: Annotated[
        str,
        typer.Argument(help="A scene file, file.py:function or module:function.", metavar="SCENE"),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where the trace goes; for ui.perfetto.dev.")
    ] = Path("trace.json"),
    seconds: Annotated[
        str, typer.Option("--seconds", "-s", help="Sim time to run: 10, 250ms, 3m.")
    ] = "2",
    mode: Annotated[str | None, typer.Option(help="The time mode, instead of the scene's.")] = None,
    svg: Annotated[bool, typer.Option("--svg", help="Draw a picture beside it, too.")] = False,
    png: Annotated[bool, typer.Option("--png", help="Draw a picture beside it, too.")] = False,
    limit: Annotated[int, typer.Option(help="How many spans are kept at most.")] = 1_000_000,
    progress: Annotated[bool, typer.Option(help="Show a progress bar in a terminal.")] = True,
) -> None:
    """Runs a scene and writes what its schedule did: every frame, instant, phase and callback."""
    from rich.console import Console

    from mainspring.capture import Trace
    from mainspring.capture._trace import check_target
    from mainspring.cli._targets import scene_target
    from mainspring.clock import duration
    from mainspring.scene import open_scene

    targets = [check_target(out)]
    targets += [out.with_suffix(suffix) for suffix, on in ((".svg", svg), (".png", png)) if on]
    opened = open_scene(scene_target(scene))
    console = Console(stderr=True)
    watched = Trace(opened, limit=limit)
    opened.start()
    try:
        with watched:
            report = opened.run(seconds, mode=mode, progress=progress and console.is_terminal)
    finally:
        # What was seen up to an error is what one wants to look at.
        for target in dict.fromkeys(targets):
            watched.save(target)
        if opened.time.failure is None:
            opened.stop()
    late = watched.late()
    word = "late" if watched.paced else "longer than real time allows"
    worst = f", the worst by {duration(max(by for _, by in late))}" if late else ""
    typer.echo(
        f"{report.sim_seconds:.9g} s simulated in {report.wall_seconds:.3g} s, "
        f"{report.instants} instants, {len(late)} {word}{worst}"
    )
    for target in dict.fromkeys(targets):
        typer.echo(str(target))


def convert(
    source: Annotated[
        Path, typer.Argument(help="An .mcap, .parquet or .csv file, or a folder of tables.")
    ],
    target: Annotated[
        Path,
        typer.Argument(help="What it becomes: an .mcap, .parquet or .csv file, or a folder."),
    ],
    channel: Annotated[
        list[str] | None,
        typer.Option("--channel", "-c", help="Only this channel. Repeat for more."),
    ] = None,
    to: Annotated[Format | None, typer.Option(help="The kind of the tables in a folder.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    progress: Annotated[bool, typer.Option(help="Show a progress bar in a terminal.")] = True,
) -> None:
    """Converts recordings: MCAP to Parquet or CSV, and back.

    A target named .parquet or .csv is one table with a row for each moment; any other name is
    a folder with a table for each channel.
    """
    from mainspring.capture import convert as change

    with _bar("converting", progress) as tell:
        report = change(
            source,
            target,
            channels=channel or (),
            to=None if to is None else to.value,
            overwrite=overwrite,
            progress=tell,
        )
    files = f"{len(report.files)} file{'' if len(report.files) == 1 else 's'}"
    typer.echo(f"{target}: {report.messages} messages in {files}")
    if report.truncated:
        typer.echo(
            f"the source is cut off; what is there was converted ({report.truncated})", err=True
        )


def _seconds(text: str | None) -> float | None:
    from mainspring.clock import time_ns

    return None if text is None else time_ns(text) / 1e9


@contextmanager
def _bar(what: str, wanted: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar for something that says how much of its work is done; None when not wanted."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not wanted or not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=max(total, 1))

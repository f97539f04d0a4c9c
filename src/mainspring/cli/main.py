"""The command line. Each module of this folder adds the commands of one layer.

Exit codes: 0 done; 1 the run, or a check, failed; 2 a wrong command line or file; 130 Ctrl-C.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import sys
import sysconfig
import warnings
from pathlib import Path
from types import TracebackType
from typing import Annotated, TextIO

import typer

from mainspring._version import __version__
from mainspring.errors import MainspringError

__all__ = ["app", "main"]

# Which module adds which commands, in the order `mainspring --help` shows them.
_MODULES = ("scene", "project", "log", "exchange", "graph", "capture")

app = typer.Typer(
    name="mainspring",
    help="One clock, one inbox and one log under robot simulations, agent worlds and dataflow.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mainspring {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


for _name in _MODULES:
    if importlib.util.find_spec(f"mainspring.cli.{_name}") is not None:
        importlib.import_module(f"mainspring.cli.{_name}").register(app)


def main() -> None:
    """Runs the command line; an error of ours is shown without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no such letter
    warnings.showwarning = _show_warning
    # `yard:build` means the yard.py that lies here, as it does for `python -m`.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        app()
    except MainspringError as error:
        show_error(error)
        sys.exit(exit_code(error))
    except OSError as error:
        if error.filename is None:
            raise
        typer.echo(f"error: {error.filename}: {error.strerror}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning of ours in one line; others with the place they come from."""
    from mainspring.scene import SceneWarning

    place = "" if issubclass(category, SceneWarning) else f"{filename}:{lineno}: "
    typer.secho(f"warning: {place}{message}", err=True, fg="yellow")


def show_error(error: MainspringError) -> None:
    """An error as people read it: the user's own traceback, what was wrong, then the hint."""
    from rich.console import Console
    from rich.traceback import Traceback

    console = Console(stderr=True, highlight=False)
    cause = error.__cause__
    if cause is not None and not isinstance(cause, MainspringError):
        trace = _from_users_code(cause.__traceback__)
        if trace is not None:
            console.print(Traceback.from_exception(type(cause), cause, trace))
    console.print(f"error: {error.message}", style="bold red", markup=False, soft_wrap=True)
    for note in getattr(error, "__notes__", ()):
        console.print(f"then: {note}", markup=False, soft_wrap=True)
    if error.hint:
        console.print(f"hint: {error.hint}", markup=False, soft_wrap=True)


def _from_users_code(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame that is the user's; None where it is all ours or a library's."""
    own = str(Path(__file__).parents[1])
    libraries = tuple(sysconfig.get_paths()[kind] for kind in ("stdlib", "purelib", "platlib"))
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(
        ("<frozen", own, *libraries)
    ):
        trace = trace.tb_next
    return trace


def exit_code(error: MainspringError) -> int:
    """2 for what the user wrote wrongly, 1 for what went wrong while running."""
    from mainspring.clock import CallbackError
    from mainspring.scene import LifeCycleError

    return 1 if isinstance(error, (CallbackError, LifeCycleError)) else 2

"""`mainspring run`, `check`, `order`, `timeline`: scenes from the command line."""

from __future__ import annotations

import contextlib
import enum
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from mainspring.errors import MainspringError

__all__ = ["register"]

Target = Annotated[
    str,
    typer.Argument(
        help="A scene file, file.py:function, module:function, or a project's folder.",
        metavar="SCENE",
    ),
]


Every = Annotated[
    str,
    typer.Option(help="With --log, how often: a time such as 0.5 or 80ms, instant, auto, none."),
]


class Durability(enum.StrEnum):
    """When a recorded run waits for the disk."""

    instant = "instant"
    group = "group"
    none = "none"


def _modes() -> list[str]:
    """The names a shell completes."""
    from mainspring.clock import TimeMode

    return [mode.value for mode in TimeMode]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(run)
    app.command()(check)
    app.command()(order)
    app.command()(timeline)


def run(
    scene: Target,
    seconds: Annotated[
        str | None,
        typer.Option(
            "--seconds", "-s", help="Sim time to run: 10, 250ms, 3m; the scene's own if it has one."
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(help="The time mode, instead of the scene's.", autocompletion=_modes),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    progress: Annotated[bool, typer.Option(help="Show a progress bar in a terminal.")] = True,
    log: Annotated[
        Path | None, typer.Option(help="Record the run into this file, for replay.")
    ] = None,
    durability: Annotated[
        Durability,
        typer.Option(help="With --log, when a run waits for the disk: instant, group, none."),
    ] = Durability.group,
    hash_every: Every = "auto",
    snapshot_every: Every = "auto",
    outbox: Annotated[
        Path | None,
        typer.Option(help="Keep the report in this folder, for `mainspring reports send`."),
    ] = None,
) -> None:
    """Runs a scene for the time given, for its own, or until Ctrl-C.

    Of a project's folder it runs the first scene, and keeps log and report in its runs/.
    """
    import msgspec
    from rich.console import Console

    from mainspring.cli._targets import project_at
    from mainspring.cli.project import disk_errors
    from mainspring.clock import RunEnd, TimeMode
    from mainspring.scene import open_scene

    with disk_errors():
        if outbox is not None:  # a bad one is told now, not at the end of a long run
            outbox.mkdir(parents=True, exist_ok=True)
    project = project_at(scene)
    if project is not None:
        scene = str(project.scene())
    opened = open_scene(scene)
    if mode is not None:
        opened.time.mode = TimeMode.parse(mode)
    kept = None
    if project is not None and log is None:
        with disk_errors():
            kept = project.new_run()
        log = kept / "run.world"
    recorder = None
    if log is not None:
        from fractions import Fraction

        from mainspring.clock import time_ns
        from mainspring.world import record
        from mainspring.world.log import parse_every

        entry = None if scene.endswith(".toml") else scene if ":" in scene else f"{scene}:build"
        try:
            wanted = opened.seconds if seconds is None else seconds
            ahead_ns = None if wanted is None else opened.time.now + time_ns(wanted)
            recorder = record(
                opened,
                log,
                durability=durability.value,
                hash_every=parse_every(hash_every),
                snapshot_every=parse_every(snapshot_every),
                entry=entry,
                until=None if ahead_ns is None else Fraction(ahead_ns, 10**9),
            )
        except BaseException:
            if kept is not None:
                with contextlib.suppress(OSError):
                    kept.rmdir()  # nothing ran, so there is no run
            raise
    bar = progress and not as_json and Console(stderr=True).is_terminal
    try:
        report = opened.run(seconds, progress=bar)
    except BaseException as error:
        if recorder is not None:
            recorder.close("failed", error)
        try:
            opened.stop()
        except MainspringError as another:
            error.add_note(str(another))
        raise
    if recorder is not None:
        recorder.close(str(report.reason))
    opened.stop()
    if as_json:
        statistics = opened.time.statistics()
        shown = {"report": report, "statistics": statistics}
        sys.stdout.write(msgspec.json.encode(shown, enc_hook=str).decode() + "\n")
    else:
        _print_summary(opened, report)
    if kept is not None:
        from mainspring.project import write_atomically

        data = msgspec.json.encode(report, enc_hook=str)
        with disk_errors():
            write_atomically(kept / "report.json", msgspec.json.format(data, indent=2) + b"\n")
        if not as_json:
            typer.echo(f"kept in {kept}")
    if outbox is not None:
        from mainspring.project import Outbox

        told = msgspec.to_builtins(report, enc_hook=str)
        with disk_errors():
            Outbox(outbox).put({"scene": opened.name, **told})
    if report.reason is RunEnd.INTERRUPTED:
        raise typer.Exit(130)


def _print_summary(scene: Any, report: Any) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from mainspring.clock import duration

    console = Console()
    statistics = scene.time.statistics()
    console.print(
        f"[bold]{escape(scene.name)}[/bold] {report.reason}: {report.sim_seconds:.9g} s simulated in "
        f"{report.wall_seconds:.3g} s (×{report.real_time_factor:.3g}), "
        f"{report.instants} instants, {report.shared} shared",
        soft_wrap=True,
    )
    if report.forgiven_ns or report.skipped_ns:
        console.print(
            f"forgiven {duration(report.forgiven_ns)}, skipped {duration(report.skipped_ns)}"
        )
    table = Table("runner", "rate", *_right("steps", "shared", "late", "skipped", "late p99"))
    for r in statistics.runners.values():
        late = duration(r.lateness.p99_ns) if r.lateness.samples else "-"
        counts = [str(n) for n in (r.steps, r.shared, r.late, r.skipped)]
        table.add_row(escape(r.name), str(r.rate), *counts, late)
    console.print(table)
    if statistics.callbacks:
        console.print(_callback_table(statistics))
    for part in scene.subsystems.values():  # what was recorded
        for file in getattr(part, "files", ()):
            console.print(f"wrote {escape(str(file))}, {file.stat().st_size / 1e3:.0f} kB")


def _callback_table(statistics: Any) -> Any:
    from rich.markup import escape
    from rich.table import Table

    from mainspring.clock import duration

    table = Table("callback", "runner", "phase", *_right("steps", "mean", "p99", "max"))
    for c in statistics.callbacks.values():
        costs = [duration(n) for n in (c.cost.mean_ns, c.cost.p99_ns, c.cost.max_ns)]
        table.add_row(escape(c.name), escape(c.runner), str(c.phase), str(c.steps), *costs)
    return table


def _right(*names: str) -> list[Any]:
    from rich.table import Column

    return [Column(name, justify="right") for name in names]


def check(
    scene: Annotated[
        str | None, typer.Argument(help="A scene file.", metavar="SCENE", show_default=False)
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of scene files instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Checks a scene file and everything it names, and says every fault at once."""
    import json

    import msgspec

    from mainspring.cli._targets import scene_target
    from mainspring.scene import SettingsError, json_schema, open_scene

    if schema:
        typer.echo(json.dumps(json_schema(), indent=2))
        return
    if scene is None:
        raise typer.BadParameter("name a scene file", param_hint="SCENE")
    try:
        opened = open_scene(scene_target(scene))
    except SettingsError as error:
        if not as_json:
            raise
        typer.echo(json.dumps({"scene": scene, "faults": msgspec.to_builtins(error.faults)}))
        raise typer.Exit(2) from None
    counts = {
        "runner": len(opened.time.runners),
        "callback": len(opened.time.registrations),
        "subsystem": len(opened.subsystems),
    }
    if as_json:
        many = {f"{what}s": n for what, n in counts.items()}
        typer.echo(json.dumps({"scene": scene, "faults": [], **many}))
        return
    said = (f"{n} {what}" if n == 1 else f"{n} {what}s" for what, n in counts.items())
    typer.echo(f"{scene} is fine: {', '.join(said)}")


def order(
    scene: Target,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Shows everything a scene runs, in its resolved order."""
    import msgspec
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from mainspring.cli._targets import scene_target
    from mainspring.scene import open_scene

    rows = open_scene(scene_target(scene)).time.execution_order()
    if as_json:
        typer.echo(msgspec.json.encode(rows, enc_hook=str).decode())
        return
    table = Table("phase", *_right("priority"), "callback", "runner", "rate", "enabled")
    for row in rows:
        state = "yes" if row.enabled else "no"
        name, runner = escape(row.name), escape(row.runner)
        table.add_row(str(row.phase), str(row.priority), name, runner, str(row.rate), state)
    Console().print(table)


def timeline(
    scene: Annotated[
        str | None,
        typer.Argument(help="A scene; the default scene when left out.", metavar="SCENE"),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="How far: 250ms, 1s; one cycle when left out.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="Draw it into this SVG file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Shows when each runner steps, and where they meet."""
    import msgspec

    from mainspring.cli._targets import scene_target
    from mainspring.cli.project import disk_errors
    from mainspring.clock import time_ns
    from mainspring.scene import Scene, open_scene
    from mainspring.scene.timeline import draw_svg, draw_text, one_cycle_ns

    opened = Scene() if scene is None else open_scene(scene_target(scene))
    span = one_cycle_ns(opened.time) if until is None else time_ns(until)
    if span <= 0:
        raise typer.BadParameter(f"{until} is no span above zero", param_hint="--until")
    if svg is not None:
        with disk_errors():
            svg.write_text(draw_svg(opened.time, span), encoding="utf-8")
        typer.echo(f"wrote {svg}")
    elif as_json:
        runners = [{"id": r.id, "name": r.name, "rate": str(r.rate)} for r in opened.time.runners]
        instants = list(opened.time.boundaries(opened.time.now + span))
        typer.echo(msgspec.json.encode({"runners": runners, "instants": instants}).decode())
    else:
        typer.echo(draw_text(opened.time, span))

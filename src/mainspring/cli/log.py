"""`mainspring replay`, `resume`, `open`, `diff`, `bisect`, `verify`, `log`, `compact`:
recorded runs from the command line.

Exit codes as everywhere: 0 the same, whole, done; 1 different or damaged; 2 a wrong command line
or file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, cast

import typer

__all__ = ["register"]

Log = Annotated[Path, typer.Argument(help="A log, as `run --log` writes it.", metavar="LOG")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
Quiet = Annotated[bool, typer.Option(help="Show a progress bar in a terminal.")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(replay)
    app.command()(resume)
    app.command("open")(open_)
    app.command()(diff)
    app.command()(bisect)
    app.command()(verify)
    app.command("log")(log_)
    app.command()(compact)


def replay(
    log: Log,
    until: Annotated[str | None, typer.Option(help="Stop before this time: 12.5s, 80ms.")] = None,
    from_snapshot: Annotated[
        str | None, typer.Option(help="Begin at the last snapshot before this time.")
    ] = None,
    as_json: AsJson = False,
    progress: Quiet = True,
) -> None:
    """Runs a log again and says `identical`, or where it differs."""
    from mainspring.world import replay as run_again

    with _bar("replaying", progress and not as_json) as tell:
        report = run_again(log, until=until, from_snapshot=from_snapshot, progress=tell)
    _tell(report, as_json)
    _notes(report.changes, as_json)
    if not report.identical:
        raise typer.Exit(1)


def resume(
    log: Log,
    seconds: Annotated[
        str | None,
        typer.Option(
            "--seconds", "-s", help="Sim time to go on for; up to its end when not given."
        ),
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="The time mode; as before when not given.")
    ] = None,
    durability: Annotated[
        str | None, typer.Option(help="instant, group or none; as before when not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Goes on with a run that was cut off, from its last durable instant."""
    from fractions import Fraction

    from mainspring.clock import RunEnd, format_ns, time_ns
    from mainspring.world import open_run
    from mainspring.world import resume as bring_back

    ahead_ns = None if seconds is None else time_ns(seconds)
    with open_run(log) as run:
        until_ns = run.header.until_ns
        if ahead_ns is None and until_ns is not None and run.end_ns >= until_ns:
            typer.echo(f"{log}: the run has come to its end; --seconds goes on from there")
            return
    recorder = bring_back(log, durability=cast("Any", durability))
    _notes(recorder.changes, as_json)
    scene = recorder.scene
    if ahead_ns is None and until_ns is not None:
        ahead_ns = until_ns - scene.time.now
    span = None if ahead_ns is None else Fraction(ahead_ns, 10**9)
    typer.echo(f"{log}: going on at {format_ns(scene.time.now)}", err=True)
    try:
        with recorder:
            report = scene.run(span, mode=mode)
            if report.reason is RunEnd.INTERRUPTED:
                recorder.close("interrupted")
    finally:
        if scene.time.failure is None:
            scene.stop()
    if as_json:
        _print_json(report)
    else:
        typer.echo(f"{log}: {report.reason} at {format_ns(report.end_ns)}")
    if report.reason is RunEnd.INTERRUPTED:
        raise typer.Exit(130)


def open_(
    log: Log,
    at: Annotated[str, typer.Option(help="The time: 12.5s, 80ms, 1:02:03.")],
    after: Annotated[
        bool, typer.Option("--after", help="The state after the instant at that time.")
    ] = False,
    fork: Annotated[
        Path | None, typer.Option(help="Go on from there as a new run, logged in this file.")
    ] = None,
    seconds: Annotated[
        str, typer.Option("--seconds", "-s", help="With --fork: how long to run.")
    ] = "0",
    inputs: Annotated[
        Path | None,
        typer.Option(help="With --fork: inputs to give it, as `log --format jsonl` writes them."),
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="A Python prompt with `moment`, `scene`.")
    ] = False,
    part: Annotated[
        list[str] | None, typer.Option(help="Show only these parts of the state.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Shows the whole state at any instant of a run."""
    from mainspring.clock import format_ns, time_ns
    from mainspring.world import open_run, play_inputs

    if fork is None and inputs is not None:
        raise typer.BadParameter("inputs are for a fork", param_hint="--inputs")
    with open_run(log) as run:
        if fork is not None:
            end_ns = time_ns(at) + time_ns(seconds)
            own = {seq for _, seq in run.reader.own()}
            given = [] if inputs is None else _read_inputs(inputs, time_ns(at), end_ns, own)
            with run.at(at, after=after).fork(fork) as recorder:
                play_inputs(recorder.scene, given)
                recorder.scene.advance(ns=end_ns - recorder.scene.time.now)
            typer.echo(f"{fork}: forked at {format_ns(time_ns(at))}, ended at {format_ns(end_ns)}")
            return
        moment = run.at(at, after=after)
        if interactive:
            import code

            banner = f"{run!r}\nmoment: {format_ns(moment.time_ns)}; names: run, moment, scene"
            code.interact(banner, local={"run": run, "moment": moment, "scene": moment.scene})
            return
        state = {
            name: _explained(moment.scene, name, value)
            for name, value in moment.state().items()
            if not part or name in part
        }
        if as_json:
            _print_json({"time_ns": moment.time_ns, "hash": moment.hash().hex(), "state": state})
            return
        from rich.console import Console
        from rich.pretty import Pretty

        console = Console()
        console.print(f"[bold]{log}[/bold] at {format_ns(moment.time_ns)}, {moment.hash().hex()}")
        for name, value in state.items():
            console.print(f"[bold]{name}[/bold]")
            console.print(Pretty(value, max_length=40, max_string=200))


def diff(
    a: Annotated[Path, typer.Argument(help="One log.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="The other.", metavar="B")],
    as_json: AsJson = False,
) -> None:
    """Names the first instant at which two runs differ, in what, and by how much."""
    from mainspring.world import diff as compare

    report = compare(a, b)
    _tell(report, as_json)
    if not report.identical:
        raise typer.Exit(1)


def bisect(
    log: Log,
    good: Annotated[
        str | None, typer.Option(help="A git commit with which the log still replays.")
    ] = None,
    bad: Annotated[
        str, typer.Option(help="With --good: a commit with which it does not.")
    ] = "HEAD",
    as_json: AsJson = False,
    progress: Quiet = True,
) -> None:
    """Finds where the code as it is leaves a recorded run, or with --good which commit did it."""
    from mainspring.world import bisect_commits, bisect_log

    if good is not None:
        tell = None if as_json else (lambda line: typer.echo(line, err=True))
        _tell(bisect_commits(log, good, bad, progress=tell), as_json)
        return
    with _bar("bisecting", progress and not as_json) as bar:
        report = bisect_log(log, progress=bar)
    _tell(report, as_json)
    if not report.identical:
        raise typer.Exit(1)


def verify(log: Log, as_json: AsJson = False) -> None:
    """Checks chain, checksums and gaps, and names the first bad record."""
    from mainspring.world import verify as check

    report = check(log)
    _tell(report, as_json)
    _notes(report.warnings, as_json)
    if not report.ok:
        raise typer.Exit(1)


def log_(
    log: Log,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="start, input, outcome, skip, error, snapshot, hash, end, resumed."),
    ] = None,
    start: Annotated[str | None, typer.Option("--from", help="From this time on.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Before this time.")] = None,
    source: Annotated[str | None, typer.Option(help="Only from this source.")] = None,
    name: Annotated[str | None, typer.Option(help="Only this kind of input or skill.")] = None,
    form: Annotated[str, typer.Option("--format", help="table, jsonl or parquet.")] = "table",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to a file; needed for parquet.")
    ] = None,
) -> None:
    """Shows what happened in a run."""
    from mainspring.world import LogReader, history

    if form not in ("table", "jsonl", "parquet"):
        raise typer.BadParameter(f"{form!r} is not table, jsonl or parquet", param_hint="--format")
    chosen: dict[str, Any] = {} if not kind else {"kinds": kind}
    with LogReader(log) as reader:
        entries = history(reader, start=start, end=end, source=source, name=name, **chosen)
        if form == "parquet":
            _write_parquet(entries, output)
        elif form == "jsonl":
            _write_lines(entries, output)
        else:
            _print_table(entries, output)


def compact(
    log: Log,
    before: Annotated[
        str | None, typer.Option(help="Move what lies before this time; default: all it can.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Moves the older part of a log into an archive beside it; the chain stays verifiable."""
    from mainspring.world import compact as move

    report = move(log, before=before)
    if as_json:
        _print_json(report)
    elif report.archive is None:
        typer.echo(f"{log}: nothing to move")
    else:
        typer.echo(
            f"{log}: records {report.first} to {report.last} moved to {report.archive}; "
            f"{report.bytes_before} bytes are now {report.bytes_after} and {report.bytes_archive}"
        )


# ---------------------------------------------------------------- showing


def _tell(report: Any, as_json: bool) -> None:
    if as_json:
        _print_json(report)
    else:
        typer.echo(str(report))


def _notes(notes: tuple[str, ...], as_json: bool) -> None:
    if not as_json:
        for note in notes:
            typer.echo(f"note: {note}", err=True)


def _print_json(value: Any) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.encode(value, enc_hook=_jsonable).decode() + "\n")


def _jsonable(value: Any) -> Any:
    """What JSON has no word for: arrays as lists, the rest as text."""
    tolist = getattr(value, "tolist", None)
    if tolist is not None:
        return tolist()
    if isinstance(value, complex):
        return [value.real, value.imag]
    return str(value)


def _explained(scene: Any, name: str, value: Any) -> Any:
    explain = getattr(type(scene.parts.get(name)), "explain", None)
    return value if explain is None else explain(value)


@contextmanager
def _bar(what: str, shown: bool) -> Iterator[Callable[[int, int], None] | None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn(what),
        BarColumn(),
        TextColumn("{task.fields[sim]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=1, sim="")

        def tell(done_ns: int, total_ns: int) -> None:
            sim = f"{done_ns / 1e9:.1f} of {total_ns / 1e9:.1f} s"
            bar.update(task, completed=done_ns, total=max(total_ns, 1), sim=sim)

        yield tell


def _read_inputs(path: Path, from_ns: int, to_ns: int, own: set[int]) -> list[Any]:
    """The inputs in a file of JSON lines at instants in [`from_ns`, `to_ns`), by instant. Those
    that the simulation put itself (`own`) are left out: it puts them again."""
    import msgspec

    from mainspring.world import InputGroup, LogFormatError, LoggedInput

    groups: dict[int, list[LoggedInput]] = {}
    last_ns = from_ns
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                row = msgspec.json.decode(line, type=dict[str, Any])
                if row.get("what", "input") != "input":
                    continue
                time_ns, name = int(row["time_ns"]), str(row["name"])
            except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
                raise LogFormatError(
                    f"{path}, line {number}: this is no input: {error!r}",
                    hint='write {"time_ns": ..., "name": ..., "source": ..., "detail": ...}',
                ) from error
            if not from_ns <= time_ns < to_ns or row.get("seq") in own:
                continue
            if time_ns < last_ns:
                raise LogFormatError(f"{path}, line {number}: inputs come in the order of time")
            last_ns = time_ns
            item = LoggedInput(time_ns, 0, name, row.get("detail"), str(row.get("source", "")))
            groups.setdefault(time_ns, []).append(item)
    return [InputGroup(time_ns, items) for time_ns, items in groups.items()]


def _row(entry: Any) -> dict[str, Any]:
    return {
        "time_ns": entry.time_ns,
        "what": entry.what,
        "seq": entry.seq,
        "name": entry.name,
        "source": entry.source,
        "detail": entry.detail,
    }


def _said(entry: Any) -> str:
    """An entry's detail as people say it; all of it is in the JSON lines."""
    detail = entry.detail
    if not isinstance(detail, dict):
        return "" if detail is None else str(detail)
    if entry.what == "outcome" and "status" in detail:
        if detail["status"] == "refused":
            return f"refused ({detail['code']}): {detail['reason']}"
        more = detail["request"] if detail["status"] == "pending" else detail["value"]
        return f"{detail['status']}{'' if more is None else f': {more}'}"
    if entry.what == "input" and entry.name == "intent" and "skill" in detail:
        arguments = detail.get("arguments")
        given = _named(arguments) if isinstance(arguments, dict) else repr(arguments)
        return f"{detail['skill']}({given})"
    return _named(detail)


def _named(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items() if value is not None)


def _print_table(entries: Iterator[Any], output: Path | None) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    from mainspring.clock import format_ns

    table = Table(
        Column("time", justify="right", no_wrap=True), "what", "seq", "name", "source", "detail"
    )
    for entry in entries:
        seq = "" if entry.seq is None else str(entry.seq)
        cells = (format_ns(entry.time_ns), entry.what, seq, entry.name, entry.source, _said(entry))
        table.add_row(*(escape(cell) for cell in cells))
    if output is None:
        Console().print(table)
        return
    with output.open("w", encoding="utf-8") as file:
        Console(file=file, width=160).print(table)


def _write_lines(entries: Iterator[Any], output: Path | None) -> None:
    import msgspec

    encode = msgspec.json.Encoder(enc_hook=_jsonable).encode
    file = sys.stdout.buffer if output is None else output.open("wb")
    try:
        for entry in entries:
            file.write(encode(_row(entry)) + b"\n")
    finally:
        if output is not None:
            file.close()


def _write_parquet(entries: Iterator[Any], output: Path | None) -> None:
    if output is None:
        raise typer.BadParameter("parquet needs a file", param_hint="--output")
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        from mainspring.errors import MissingExtraError

        raise MissingExtraError("writing Parquet", "capture") from error
    import msgspec

    encode = msgspec.json.Encoder(enc_hook=_jsonable).encode
    rows = [{**_row(e), "detail": encode(e.detail).decode()} for e in entries]
    schema = pyarrow.schema(
        [
            ("time_ns", pyarrow.int64()),
            ("what", pyarrow.string()),
            ("seq", pyarrow.int64()),
            ("name", pyarrow.string()),
            ("source", pyarrow.string()),
            ("detail", pyarrow.string()),
        ]
    )
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), output)

"""Every code block of the documentation runs, and prints what it says it prints.

A page's ```python blocks share one namespace and run in an empty folder; a ```text block right
after one is its exact output. In a ```console block each line after `$ ` is run, and `...` in
the output below it stands for anything. ```toml file=NAME and ```python file=NAME blocks are
written to that file first.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's blocks run in order and print what the page says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    text = page.read_text()
    namespace: dict[str, object] = {"__name__": "page"}
    printed: str | None = None
    for block in FENCE.finditer(text):
        language, options, body = block.groups()
        place = f"{page.relative_to(ROOT)}:{text[: block.start()].count(chr(10)) + 1}"
        if (name := re.search(r"file=(\S+)", options)) is not None:
            target = tmp_path / name.group(1)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(body)
        elif language == "python":
            printed = run_python(
                body, place, page, text[: block.start()].count("\n") + 1, namespace
            )
            continue
        elif language == "console":
            run_console(body, place)
        elif language == "text" and printed is not None:
            assert printed == body, f"{place}: the block above prints something else"
        printed = None
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and file.startswith(str(tmp_path)):
            del sys.modules[name]


def run_python(body: str, place: str, page: Path, line: int, namespace: dict[str, object]) -> str:
    code = compile("\n" * line + body, str(page), "exec")
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(code, namespace)
    except Exception as error:
        raise AssertionError(f"{place}: {type(error).__name__}: {error}") from error
    return out.getvalue()


def run_console(body: str, place: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    commands = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    for command in commands:
        line, _, wanted = command.partition("\n")
        done = subprocess.run(
            line, shell=True, capture_output=True, text=True, env=environment, check=False
        )
        got = done.stdout + done.stderr
        pattern = ".*".join(re.escape(part) for part in wanted.rstrip("\n").split("..."))
        assert re.fullmatch(pattern, got.rstrip("\n"), re.DOTALL), f"{place}: $ {line}\n{got}"

"""Servers that stall, lie, send elsewhere or answer rubbish: an error with the address, or an end."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mainspring.project import (
    Outbox,
    OutboxError,
    ProjectError,
    Retry,
    StreamReportsJob,
    Vault,
    VaultError,
    VaultGetJob,
    VaultListJob,
    VaultPutJob,
)
from mainspring.threads import Job, JobCancelledError

from .conftest import finish, tree
from .servers import raw_server

FINE = b"HTTP/1.1 200 OK\r\n"


def answer(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    told = len(body) if length is None else length
    head = [f"HTTP/1.1 {status}", f"Content-Length: {told}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def patient(url: str) -> Vault:
    """A vault that would wait for an hour."""
    vault = Vault(url)
    vault.store.timeout_s = 3600.0  # type: ignore[attr-defined]
    return vault


def start_list(url: str, folder: Path) -> Job[Any]:
    return VaultListJob.start(patient(url))


def start_get(url: str, folder: Path) -> Job[Any]:
    return VaultGetJob.start(patient(url), "x", folder / "got")


def start_put(url: str, folder: Path) -> Job[Any]:
    return VaultPutJob.start(patient(url), folder / "robot", "robot", "1")


def start_reports(url: str, folder: Path) -> Job[Any]:
    return StreamReportsJob.start(folder / "outbox", url, timeout_s=3600.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "robot").write_bytes(b"robot")
    Outbox(tmp_path / "outbox").put({"run": 1}, id="run-1")
    return tmp_path


@pytest.mark.parametrize("begins_with", [b"", b"HTTP/1.1 200 OK\r\nX: ", answer(b"[", length=99)])
@pytest.mark.parametrize("start", [start_list, start_get, start_put, start_reports])
def test_a_stalled_server_does_not_hold_up_a_cancellation(
    start: Callable[[str, Path], Job[Any]], begins_with: bytes, folder: Path
) -> None:
    """The connection is cut, at whatever place the server stopped talking."""
    asked, ended = threading.Event(), threading.Event()

    def stall(line: socket.socket) -> None:
        line.sendall(begins_with)
        asked.set()
        ended.wait()

    before = tree(folder)
    with raw_server(stall) as url:
        job = start(url, folder)
        assert asked.wait(30)
        heard = job.cancel()
        over = job.join(30)
        ended.set()
        assert over, "it still waits for the server"
        if start is start_reports and begins_with:
            return  # the endpoint said that it has it, and that is kept
        assert heard
        with pytest.raises(JobCancelledError):
            job.take_result()
    assert tree(folder) == before


def test_a_connection_that_is_never_made_does_not_either(folder: Path) -> None:
    """A listener whose queue is full drops what comes: the packet is sent again and again."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        callers = [socket.socket() for _ in range(4)]
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(full.getsockname())
        job = start_get(f"http://127.0.0.1:{full.getsockname()[1]}", folder)
        assert not job.join(0.05)
        job.cancel()
        assert job.join(30)
        for caller in callers:
            caller.close()
        with pytest.raises(JobCancelledError):
            job.take_result()


INDEX = json.dumps({"format": 1, "packages": []}).encode()
HUGE = f'{{"name": "x", "version": "1", "size": {10**20}, "sha256": "{"0" * 64}"}}'

RUBBISH: dict[str, tuple[bytes, str]] = {
    "no http": (b"\x00\x1b[2Jgarbage\r\n\r\n", "GET http"),
    "a long header": (FINE + b"X: " + b"a" * 100_000 + b"\r\n\r\n", "65536"),
    "many headers": (FINE + b"X: a\r\n" * 1000 + b"\r\n", "100 headers"),
    "a cut": (answer(INDEX, length=1000), "broke off"),
    "a wrong chunk": (FINE + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n", "IncompleteRead"),
    "no json": (answer(b"<html>"), "is damaged"),
    "deep json": (answer(b'{"format": 1, "x": ' + b"[" * 200_000), "is damaged"),
    "a newline in a name": (
        answer(
            json.dumps({"format": 1, "packages": [{**json.loads(HUGE), "name": "x\n"}]}).encode()
        ),
        "is damaged",
    ),
    "a package of a size it has not": (
        answer(f'{{"format": 1, "packages": [{HUGE}]}}'.encode()),
        "is damaged",
    ),
    "continue for ever": (b"HTTP/1.1 100 Continue\r\n\r\n" * 50, "closed"),
    "to a file": (answer(b"", "Location: file:///etc/passwd", status="302 Found"), "go to file:"),
    "in a circle": (answer(b"", "Location: /index.json", status="302 Found"), "302"),
    "to no address": (answer(b"", "Location: http://[::1", status="302 Found"), "GET http"),
    "forbidden": (answer(b"", status="403 No"), "403"),
}


@pytest.mark.parametrize("kind", RUBBISH)
def test_rubbish_is_an_error_with_the_address_and_a_cure(kind: str, folder: Path) -> None:
    data, why = RUBBISH[kind]
    before = tree(folder)
    with raw_server(data) as url:
        with pytest.raises(ProjectError, match=why) as caught:
            finish(VaultGetJob.start(Vault(url), "x", folder / "got"))
        assert url in str(caught.value)
    assert caught.value.hint
    assert "\x1b" not in str(caught.value)
    assert tree(folder) == before


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http://h:99999/",
        "http://a b/",
        "http://[::1",
        "http://h\r\nX: y/",
        "file:///etc",
    ],
)
def test_what_is_no_address_is_refused_at_once(url: str, folder: Path) -> None:
    with pytest.raises(ProjectError, match="no http or https address"):
        StreamReportsJob.start(folder / "outbox", url)


@pytest.mark.parametrize("url", ["http://" + "a" * 300 + "/", "http://\u2603.invalid/"])
def test_an_address_that_cannot_be_asked_for_is_an_error(url: str, folder: Path) -> None:
    with pytest.raises(ProjectError, match="GET http"):
        finish(VaultGetJob.start(Vault(url), "x", folder / "got"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 401, 403, 404, 410])
def test_an_answer_that_is_not_about_the_report_costs_no_report(status: int, folder: Path) -> None:
    """A redirect above all: followed as a GET it would look like a delivery."""
    outbox = Outbox(folder / "outbox")
    elsewhere: list[bytes] = []
    with (
        raw_server(lambda line: elsewhere.append(b"asked")) as other,
        raw_server(answer(b"", f"Location: {other}", status=f"{status} X")) as url,
        pytest.raises(OutboxError, match=str(status)),
    ):
        finish(StreamReportsJob.start(outbox, url, retry=Retry(attempts=1)))
    assert elsewhere == []
    assert (len(outbox), outbox.rejected()) == (1, [])


def test_a_put_goes_nowhere_else(folder: Path) -> None:
    def answered(line: socket.socket) -> None:
        line.sendall(answer(b"", "Location: /there", status="302 Found"))

    with raw_server(answered) as url, pytest.raises(VaultError, match="302"):
        finish(VaultPutJob.start(Vault(url), folder / "robot", "robot", "1"))

"""Real HTTP servers for the tests: a vault's folder, and an endpoint for reports."""

from __future__ import annotations

import hashlib
import http.server
import json
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


class VaultHandler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder; takes PUT with `If-Match`, and DELETE."""

    protocol_version = "HTTP/1.1"
    broken_puts = 0

    def log_message(self, *args: Any) -> None:
        pass

    def _path(self) -> Path:
        return Path(self.translate_path(self.path))

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        path = self._path()
        if not path.is_file():
            self._answer(404)
            return
        data = path.read_bytes()
        self._answer(200, data, ETag=hashlib.md5(data).hexdigest())

    def do_HEAD(self) -> None:
        self._answer(200 if self._path().is_file() else 404)

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        path = self._path()
        tag = hashlib.md5(path.read_bytes()).hexdigest() if path.is_file() else None
        if self.headers.get("If-Match", tag) != tag or (
            self.headers.get("If-None-Match") == "*" and tag is not None
        ):
            self._answer(412)
            return
        if path.name == "index.json" and type(self).broken_puts > 0:
            type(self).broken_puts -= 1
            self._answer(507)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self._answer(201)

    def do_DELETE(self) -> None:
        self._path().unlink(missing_ok=True)
        self._answer(204)


class Endpoint:
    """Takes reports; answers what the test asks for, then 200."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.url = ""
        self.asked = threading.Event()
        """Set when a report came, whatever the answer."""


@contextmanager
def serving(handler: Any) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def vault_server(folder: Path) -> Iterator[str]:
    class Handler(VaultHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(folder))

    VaultHandler.broken_puts = 0
    with serving(Handler) as url:
        yield url


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    told = Endpoint()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers = told.answers.pop(0) if told.answers else (200, {})
            told.asked.set()
            if status == 0:  # the line breaks
                self.close_connection = True
                return
            if 200 <= status < 300:
                told.received.append(json.loads(data))
                told.keys.append(self.headers["Idempotency-Key"])
            self.send_response(status)
            self.send_header("Content-Length", "2")
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"no")

    with serving(Handler) as url:
        told.url = f"{url}/reports"
        yield told


@contextmanager
def raw_server(answer: bytes | Callable[[socket.socket], object]) -> Iterator[str]:
    """Reads a request and answers with these bytes, or lets the test do it by hand."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(ConnectionError):
                self.request.recv(1 << 16)
                if callable(answer):
                    answer(self.request)
                else:
                    self.request.sendall(answer)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
